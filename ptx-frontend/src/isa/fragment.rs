//! Fragments: distribution of a matrix over the registers of a warp's lanes (PTX manual 9.7.14). The manual
//! gives number and type of the registers by shape, matrix and element type; the engine defines their
//! content.

use super::{Modifier, ScalarType, Token};

/// Sizes of a product: D (M rows, N columns) = A (M rows, K columns) * B (K rows, N columns) + C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixShape {
    /// Rows of A, C and D.
    pub m: u32,
    /// Columns of B, C and D.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
}

impl MatrixShape {
    /// Shape among an instruction's tokens, such as `.m16n8k16`.
    pub fn among(tokens: &[Option<Token>]) -> Option<MatrixShape> {
        modifiers(tokens).find_map(|modifier| {
            let (m, rest) = modifier.name().strip_prefix('m')?.split_once('n')?;
            let (n, k) = rest.split_once('k')?;
            Some(MatrixShape { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
        })
    }
}

/// Matrix of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixRole {
    /// Left factor.
    A,
    /// Right factor.
    B,
    /// Summand or result.
    Accumulator,
}

/// Registers of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Matrix of the fragment; `None` for `ldmatrix` and `stmatrix`.
    pub matrix: Option<MatrixRole>,
    /// Element type.
    pub element: ScalarType,
    /// Bits per element, including padding.
    pub bits: u32,
    /// Registers per lane.
    pub registers: u32,
}

fn modifiers(tokens: &[Option<Token>]) -> impl Iterator<Item = Modifier> + '_ {
    tokens.iter().filter_map(|token| match token {
        Some(Token::Modifier(modifier)) => Some(*modifier),
        _ => None,
    })
}

impl Fragment {
    /// Fragment of the operand called `place` in the manual (`d`, `a`, `b`, `c`).
    pub fn of(mnemonic: &str, place: &str, tokens: &[Option<Token>]) -> Option<Fragment> {
        let types: Vec<ScalarType> = tokens
            .iter()
            .filter_map(|token| match token {
                Some(Token::Type(ScalarType::Ue8m0 | ScalarType::Ue4m3)) => None,
                Some(Token::Type(ty)) => Some(*ty),
                _ => None,
            })
            .collect();
        let matrices = modifiers(tokens).find_map(|modifier| match modifier {
            Modifier::X1 => Some(1),
            Modifier::X2 => Some(2),
            Modifier::X4 => Some(4),
            _ => None,
        });
        if let Some(matrices) = matrices {
            // Narrow numbers become a byte each; floats have no type of their own.
            let element = types.first().copied().unwrap_or(ScalarType::B8);
            let is_square = modifiers(tokens).any(|modifier| modifier == Modifier::M16n16);
            let registers = if is_square { 2 * matrices } else { matrices };
            return Some(Fragment { matrix: None, element, bits: element.bits(), registers });
        }
        let shape = MatrixShape::among(tokens)?;
        // Each warp of a warpgroup holds a quarter of the rows.
        let shape = if shape.m == 64 { MatrixShape { m: 16, ..shape } } else { shape };
        let moved = modifiers(tokens).find_map(|modifier| match modifier {
            Modifier::A => Some(MatrixRole::A),
            Modifier::B => Some(MatrixRole::B),
            Modifier::C | Modifier::D => Some(MatrixRole::Accumulator),
            _ => None,
        });
        let of_place = match place {
            "a" => MatrixRole::A,
            "b" => MatrixRole::B,
            _ => MatrixRole::Accumulator,
        };
        let (matrix, element) = match (moved, types.as_slice(), place) {
            (Some(moved), [.., last], _) => (moved, *last),
            (None, [d, _] | [d, _, _] | [d, _, _, _], "d") => (of_place, *d),
            (None, [_, c] | [_, _, _, c], "c") => (of_place, *c),
            (None, [_, _], _) => (of_place, ScalarType::F16),
            (None, [_, a, _] | [_, a, _, _], "a") => (of_place, *a),
            (None, [_, _, b, _], _) => (of_place, *b),
            _ => return None,
        };
        let is_sparse = modifiers(tokens).any(|m| matches!(m, Modifier::Sp | Modifier::SpOrdered));
        let shape = match matrix {
            // Half of the elements are present.
            MatrixRole::A if is_sparse => MatrixShape { k: shape.k / 2, ..shape },
            _ => shape,
        };
        let is_packed = modifiers(tokens).any(|m| matches!(m, Modifier::KindMxf4 | Modifier::KindMxf4nvf4));
        // Mixed with wider floats, 4-bit floats take a byte each.
        let bits = if element == ScalarType::E2m1 && !is_packed { 8 } else { element.bits() };
        let registers = registers(mnemonic, shape, matrix, (element, bits));
        Some(Fragment { matrix: Some(matrix), element, bits, registers })
    }

    /// Type of the registers.
    pub fn register_type(&self) -> ScalarType {
        match self.element {
            ScalarType::F16 => ScalarType::F16x2,
            ScalarType::F32 | ScalarType::S32 | ScalarType::F64 => self.element,
            _ => ScalarType::B32,
        }
    }
}

/// Registers per lane.
fn registers(
    mnemonic: &str,
    shape: MatrixShape,
    matrix: MatrixRole,
    (element, bits): (ScalarType, u32),
) -> u32 {
    let MatrixShape { m, n, k } = shape;
    let elements = match matrix {
        MatrixRole::A => m * k,
        MatrixRole::B => k * n,
        MatrixRole::Accumulator => m * n,
    };
    let factor_of_halves = element == ScalarType::F16 && matrix != MatrixRole::Accumulator;
    if mnemonic == "wmma" && factor_of_halves {
        // Independent of the shape: smaller matrices are stored repeatedly.
        return 8;
    }
    let products = if element != ScalarType::F64 && (m, n, k) == (8, 8, 4) { 4 } else { 1 };
    let bits = bits.max(1);
    products * elements * bits / (32 * bits.max(32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms_of;

    /// Number of registers of d, a, b, c.
    fn counts(opcode: &str) -> Vec<u32> {
        let mut words = opcode.split('.');
        let mnemonic = words.next().unwrap_or("");
        let tokens: Vec<Token> = words.filter_map(Token::from_name).collect();
        let fitted = forms_of(mnemonic).iter().find_map(|form| form.parsed().fit(&tokens)).unwrap();
        let registers = |place| Fragment::of(mnemonic, place, &fitted).unwrap().registers;
        ["d", "a", "b", "c"].map(registers).to_vec()
    }

    #[test]
    fn registers_per_fragment_match_the_manual() {
        assert_eq!(counts("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16"), [8, 8, 8, 4]);
        assert_eq!(counts("wmma.mma.sync.aligned.row.col.m8n32k16.s32.u8.u8.s32"), [8, 1, 4, 8]);
        assert_eq!(counts("wmma.mma.sync.aligned.row.col.m32n8k16.f32.bf16.bf16.f32"), [8, 8, 2, 8]);
        assert_eq!(counts("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32"), [8, 4, 4, 8]);
        assert_eq!(counts("wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64"), [2, 1, 1, 2]);
        assert_eq!(counts("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16"), [8, 2, 2, 4]);
        assert_eq!(counts("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"), [2, 4, 2, 2]);
        assert_eq!(counts("mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32"), [4, 4, 2, 4]);
        assert_eq!(counts("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"), [4, 4, 2, 4]);
        assert_eq!(counts("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64"), [4, 8, 4, 4]);
        assert_eq!(counts("mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16"), [2, 4, 4, 2]);
        assert_eq!(counts("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e3m2.f32"), [4, 4, 2, 4]);
        assert_eq!(
            counts("mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
            [4, 2, 2, 4]
        );
        assert_eq!(counts("mma.sp.sync.aligned.m16n8k128.row.col.s32.u4.s4.s32"), [4, 4, 4, 4]);
        assert_eq!(counts("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"), [2, 1, 1, 2]);
    }
}
