//! `cublasLtMatmul`: products with epilogues.

use std::ffi::{c_int, c_void};

use standin_driver::{Grid, Stream};

use crate::arguments::{Operation as Transposition, size};
use crate::element::{Compute, Scalar, Type};
use crate::handle::{Handle, PointerMode, Raw};
use crate::kernels::{addresses, launch};
use crate::lt::algorithm::Algorithm;
use crate::lt::descriptor::{Layout, Operation};
use crate::product::{Epilogue, Matrix, Precision, Product, has_kernel};
use crate::status::{Answer, Status, code, not_supported};

/// Bits of `cublasLtEpilogue_t`.
mod bits {
    pub(super) const DEFAULT: u32 = 1;
    pub(super) const RELU: u32 = 2;
    pub(super) const BIAS: u32 = 4;
    pub(super) const RELU_GRADIENT: u32 = 8;
    pub(super) const BIAS_GRADIENT: u32 = 16;
    pub(super) const GELU: u32 = 32;
    pub(super) const GELU_GRADIENT: u32 = 64;
    pub(super) const AUXILIARY: u32 = 128;
    pub(super) const BIAS_GRADIENT_A: u32 = 256;
    pub(super) const BIAS_GRADIENT_B: u32 = 512;
    pub(super) const BIAS_GRADIENTS: u32 = BIAS_GRADIENT | BIAS_GRADIENT_A | BIAS_GRADIENT_B;
    pub(super) const ALL: u32 = 1023;
}

const BIAS_PART: u32 = 1;
const RELU_PART: u32 = 2;

/// Parts of an epilogue in kernels (`kernels/blas/product.cuh`), for each bit that kernels of products
/// execute.
const PARTS: [(u32, u32); 6] = [
    (bits::BIAS, BIAS_PART),
    (bits::RELU, RELU_PART),
    (bits::GELU, 4),
    (bits::AUXILIARY, 8),
    (bits::RELU_GRADIENT, 16),
    (bits::GELU_GRADIENT, 32),
];

/// `CUBLASLT_ORDER_ROW`
const ROWS: i32 = 1;

/// A layout with its type, as kernels need it.
#[derive(Clone, Copy)]
struct Side {
    matrix: Matrix,
    kind: Type,
    rows: u32,
    columns: u32,
    batches: u32,
}

impl Side {
    fn of(layout: &Layout, base: u64, of: c_int) -> Answer<Side> {
        let Some(kind) = Type::of(layout.kind) else {
            return not_supported(&format!("cudaDataType {} of a layout", layout.kind));
        };
        let of = Transposition::of(of)?;
        let dimension = |value: u64| size(i64::try_from(value).unwrap_or(i64::MAX));
        let (rows, columns) = (dimension(layout.rows)?, dimension(layout.columns)?);
        let by_columns = match layout.order {
            0 => true,
            ROWS => false,
            order => return not_supported(&format!("cublasLtOrder_t {order}")),
        };
        let least = if by_columns { rows } else { columns };
        if layout.leading < i64::from(least) {
            return Err(Status::InvalidValue);
        }
        let (mut row, mut column) = if by_columns { (1, layout.leading) } else { (layout.leading, 1) };
        let (mut rows, mut columns) = (rows, columns);
        if of.is_transposed() {
            std::mem::swap(&mut row, &mut column);
            std::mem::swap(&mut rows, &mut columns);
        }
        let flags = if of == Transposition::Adjoint { Matrix::IS_CONJUGATED } else { 0 };
        let matrix = Matrix { base, row, column, batch: layout.batch_stride, kind: kind as u32, flags };
        Ok(Side { matrix, kind, rows, columns, batches: size(layout.batches)? })
    }
}

/// A call, without its scalars.
struct Call {
    sides: [Side; 4],
    compute: Compute,
    scale: Type,
    epilogue: Epilogue,
    bits: u32,
}

impl Call {
    fn of(operation: &Operation, layouts: [&Layout; 4], bases: [u64; 4]) -> Answer<Call> {
        let Some(compute) = Compute::of(operation.compute) else {
            return not_supported(&format!("cublasComputeType_t {}", operation.compute));
        };
        let Some(scale) = Type::of(operation.scale) else {
            return not_supported(&format!("cudaDataType {} of scalars", operation.scale));
        };
        let [a, b, c, d] = layouts;
        let [base_a, base_b, base_c, base_d] = bases;
        let sides = [
            Side::of(a, base_a, operation.of_a)?,
            Side::of(b, base_b, operation.of_b)?,
            Side::of(c, base_c, operation.of_c)?,
            Side::of(d, base_d, 0)?,
        ];
        let [a, b, c, d] = &sides;
        let fits = a.rows == d.rows
            && b.columns == d.columns
            && a.columns == b.rows
            && (c.rows, c.columns) == (d.rows, d.columns);
        let same_batches = |side: &Side| side.batches == d.batches || side.batches == 1;
        if !fits || !sides.iter().all(same_batches) {
            return Err(Status::InvalidValue);
        }
        if operation.unsupported != [0; 3] {
            return not_supported("the largest magnitude of a product");
        }
        if !has_kernel([a.kind, b.kind, d.kind]) || (c.kind != d.kind && !c.kind.is_mixed()) {
            let (a, b, c, d) = (a.kind, b.kind, c.kind, d.kind);
            return not_supported(&format!(
                "cublasLtMatmul of {a:?}, {b:?} and {c:?} with a result of {d:?}"
            ));
        }
        let epilogue = epilogue(operation, d.kind, layouts[3].order)?;
        let allowed = match d.kind {
            kind if kind.is_result() => u32::MAX,
            Type::F64 => BIAS_PART | RELU_PART,
            Type::C32 | Type::C64 => BIAS_PART,
            _ => 0,
        };
        let has_gradient = operation.epilogue & bits::BIAS_GRADIENTS != 0 && !d.kind.is_result();
        if epilogue.parts & !allowed != 0 || has_gradient {
            return not_supported(&format!("an epilogue for a result of {:?}", d.kind));
        }
        Ok(Call { sides, compute, scale, epilogue, bits: operation.epilogue })
    }

    /// Launches the product and the sums for gradients.
    ///
    /// # Safety
    /// The bases are memory of the device with the elements of the layouts.
    unsafe fn run(self, handle: &Handle, stream: Stream, [alpha, beta]: [Scalar; 2]) -> Answer {
        let [a, b, c, d] = self.sides;
        let product = Product {
            a: a.matrix,
            b: b.matrix,
            c: c.matrix,
            d: d.matrix,
            m: d.rows,
            n: d.columns,
            k: a.columns,
            batches: d.batches,
            alpha,
            beta,
            epilogue: self.epilogue,
        };
        let precision = if self.compute == Compute::Tf32 || handle.allows_tf32() {
            Precision::Tf32
        } else {
            Precision::Full
        };
        // SAFETY: the caller's promise.
        unsafe { product.launch(handle, stream, [a.kind, b.kind, d.kind], precision)? };
        let sums =
            [(bits::BIAS_GRADIENT, d), (bits::BIAS_GRADIENT_A, a), (bits::BIAS_GRADIENT_B, transposed(b))];
        for (_, side) in sums.into_iter().filter(|(bit, _)| self.bits & bit != 0) {
            let (mut matrix, mut rows, mut columns) = (side.matrix, side.rows, side.columns);
            let (mut bias, mut kind) = (self.epilogue.bias, self.epilogue.bias_type);
            let grid = Grid { ctas: [rows.max(1), 1, 1], threads: 128 };
            let arguments = addresses![matrix, rows, columns, bias, kind];
            // SAFETY: the kernel's parameters; addresses are the caller's promise.
            unsafe { launch(handle.context, stream, "voltsim_row_sums", grid, arguments)? };
        }
        Ok(())
    }
}

fn transposed(side: Side) -> Side {
    let matrix = Matrix { row: side.matrix.column, column: side.matrix.row, ..side.matrix };
    Side { matrix, rows: side.columns, columns: side.rows, ..side }
}

/// The epilogue of an operation with a result of `kind`, in columns or rows.
fn epilogue(operation: &Operation, kind: Type, order: i32) -> Answer<Epilogue> {
    let chosen = operation.epilogue;
    let is_known = chosen & !bits::ALL == 0 && chosen & (bits::RELU | bits::GELU) != bits::RELU | bits::GELU;
    if !is_known || chosen == 0 {
        return not_supported(&format!("cublasLtEpilogue_t {chosen}"));
    }
    let needs = |bits: u32, address: u64| {
        if chosen & bits != 0 && address == 0 { Err(Status::InvalidValue) } else { Ok(()) }
    };
    needs(bits::BIAS | bits::BIAS_GRADIENTS, operation.bias)?;
    needs(bits::AUXILIARY, operation.auxiliary)?;
    let known = |code: i32| -> Answer<Type> {
        match Type::of(code) {
            Some(known) if known.is_result() || known == kind => Ok(known),
            _ => not_supported(&format!("cudaDataType {code} of a bias or auxiliary matrix")),
        }
    };
    let of = |code: i32| if code < 0 { Ok(kind) } else { known(code) };
    let parts = PARTS.iter().filter(|(bit, _)| chosen & bit != 0).fold(0, |all, (_, part)| all | part);
    if order == ROWS && chosen & bits::AUXILIARY != 0 {
        return not_supported("an auxiliary matrix with a result by rows");
    }
    let plain = chosen == bits::DEFAULT;
    Ok(Epilogue {
        bias: operation.bias,
        bias_batch: operation.bias_batch,
        auxiliary: operation.auxiliary,
        auxiliary_column: operation.auxiliary_leading,
        auxiliary_batch: operation.auxiliary_batch,
        bias_type: if plain { 0 } else { of(operation.bias_kind)? as u32 },
        auxiliary_type: if plain { 0 } else { of(operation.auxiliary_kind)? as u32 },
        parts: if plain { 0 } else { parts },
        padding: 0,
        scales: operation.scales,
    })
}

/// The descriptors of pointers.
///
/// # Safety
/// Pointers are null or live.
unsafe fn described<'a>(
    operation: *const Operation,
    layouts: [*const Layout; 4],
) -> Answer<(&'a Operation, [&'a Layout; 4])> {
    // SAFETY: the caller's promise.
    let layout = |layout: *const Layout| unsafe { layout.as_ref() }.ok_or(Status::InvalidValue);
    let [a, b, c, d] = layouts;
    // SAFETY: the caller's promise.
    let operation = unsafe { operation.as_ref() }.ok_or(Status::InvalidValue)?;
    Ok((operation, [layout(a)?, layout(b)?, layout(c)?, layout(d)?]))
}

/// Checks that a product can be computed.
///
/// # Safety
/// Pointers are null or live.
pub(crate) unsafe fn check(operation: *const Operation, layouts: [*const Layout; 4]) -> Answer {
    // SAFETY: the caller's promise.
    let (operation, layouts) = unsafe { described(operation, layouts) }?;
    // Programs ask for algorithms before they set the addresses of an epilogue.
    let some = |address: u64| if address == 0 { 1 } else { address };
    let mut operation = *operation;
    operation.bias = some(operation.bias);
    operation.auxiliary = some(operation.auxiliary);
    Call::of(&operation, layouts, [0; 4]).map(drop)
}

/// `cublasLtMatmul`
///
/// # Safety
/// Descriptors and the handle are null or live; addresses have the elements that the descriptors say.
pub(crate) unsafe extern "C" fn matmul(
    handle: Raw,
    operation: *const Operation,
    alpha: *const c_void,
    a: *const c_void,
    a_layout: *const Layout,
    b: *const c_void,
    b_layout: *const Layout,
    beta: *const c_void,
    c: *const c_void,
    c_layout: *const Layout,
    d: *mut c_void,
    d_layout: *const Layout,
    _algorithm: *const Algorithm,
    _workspace: *mut c_void,
    _bytes: usize,
    stream: Stream,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promises.
        unsafe {
            let handle = Handle::of(handle)?;
            let (operation, layouts) = described(operation, [a_layout, b_layout, c_layout, d_layout])?;
            let call = Call::of(operation, layouts, [a as u64, b as u64, c as u64, d as u64])?;
            let mode = match operation.pointers {
                0 => PointerMode::Host,
                1 => PointerMode::Device,
                mode => return not_supported(&format!("cublasLtPointerMode_t {mode}")),
            };
            let alpha = Scalar::read(alpha, call.scale, mode)?;
            let beta = Scalar::read(beta, call.scale, mode)?;
            call.run(handle, stream, [alpha, beta])
        }
    })
}
