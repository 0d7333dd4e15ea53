//! Textures and surfaces (PTX manual 9.7.10, 9.7.11): conversion of a lane's operands to a location for
//! [`crate::texture`].
//!
//! These instructions have more operands than an op. The program therefore stores operands in tables
//! ([`Accesses`]), and an op holds the index of its entry. Lanes are processed one after another.

mod fetch;
mod query;
mod surface;

pub use fetch::{
    tex, tex_f16, tex_f16x2, tex_grad, tex_grad_f16, tex_grad_f16x2, tex_level, tex_level_f16,
    tex_level_f16x2, tld4,
};
pub use query::{istypep, suq, txq, txq_level, txq_sampler};
pub use surface::{suld_b, sured_b, sured_p, sust_b, sust_p};

use ptx_frontend::ir::{AddressBase, Instruction, Operand};
use ptx_frontend::isa::{Geometry, ScalarType};

use super::address_operand::wide_address;
use super::row_access::{As, load_parameter};
use crate::bind::{BindError, Binder, FramePlace};
use crate::engine::op::Op;
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;

/// Texture and surface accesses of a program.
#[derive(Debug, Default)]
pub struct Accesses {
    fetches: Vec<fetch::Fetch>,
    surfaces: Vec<surface::SurfaceAccess>,
}

/// Coordinates of a location: a row per element of the geometry.
#[derive(Debug)]
struct Coordinates {
    geometry: Geometry,
    rows: Vec<u32>,
}

impl Coordinates {
    /// A lane's layer, and the bits of its coordinates.
    ///
    /// # Safety
    /// The rows are 32-bit rows of the frame, and `lane` is below 32.
    unsafe fn of_lane(&self, w: &WarpContext<'_>, lane: usize) -> (u32, [u32; 3]) {
        let mut words = [0; 4];
        for (word, &row) in words.iter_mut().zip(&self.rows) {
            // SAFETY: guaranteed by the caller.
            *word = unsafe { w.read_lane(row, lane) };
        }
        match (self.geometry.layered, words) {
            (true, [layer, x, y, z]) => (layer, [x, y, z]),
            (false, [x, y, z, _]) => (0, [x, y, z]),
        }
    }
}

fn geometry(b: &Binder<'_, '_>, i: &Instruction) -> Result<Geometry, BindError> {
    let geometry = Geometry::among(&i.tokens).ok_or_else(|| b.error("the instruction has no geometry"))?;
    if geometry.multisample {
        return Err(b.error("multisample textures are not supported: only graphics APIs create them"));
    }
    Ok(geometry)
}

/// Row of an operand's handle: a variable's address, a register's value, or a kernel parameter.
fn handle(b: &mut Binder<'_, '_>, operand: &Operand) -> Result<u32, BindError> {
    if let Operand::Address { base: base @ AddressBase::Parameter(_), offset } = operand
        && let FramePlace::KernelParameter(at) = b.frame_place(*base)?
    {
        let d = b.scratch(true);
        let immediate = u64::from(at).wrapping_add_signed(*offset);
        let op = Op { d, immediate, ..b.op(load_parameter::<As<u64, u64>>) };
        b.push(op);
        return Ok(d);
    }
    wide_address(b, operand)
}

/// Rows of a vector's elements, or of a single value.
fn rows(b: &mut Binder<'_, '_>, operand: &Operand, ty: ScalarType) -> Result<Vec<u32>, BindError> {
    elements(operand).iter().map(|element| b.source(element, ty)).collect()
}

fn elements(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Absent => &[],
        Operand::Vector(elements) => elements,
        single => std::slice::from_ref(single),
    }
}

/// Rows of the coordinates of a location.
fn coordinates(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    given: &[Operand],
    ty: ScalarType,
) -> Result<Coordinates, BindError> {
    let geometry = geometry(b, i)?;
    let typed = given.iter().zip(geometry.types(ty));
    let rows = typed.map(|(element, ty)| b.source(element, ty)).collect::<Result<_, _>>()?;
    Ok(Coordinates { geometry, rows })
}

/// Cached lookup of handles, which are mostly equal in all lanes.
struct LookUp<H, T> {
    last: Option<(H, T)>,
}

impl<H: Copy + PartialEq, T> LookUp<H, T> {
    fn new() -> LookUp<H, T> {
        LookUp { last: None }
    }

    /// Objects of a lane's handles, looked up by `find` if not cached.
    fn get(&mut self, handles: H, find: impl FnOnce() -> Result<T, FaultKind>) -> Result<&T, FaultKind> {
        let found = match self.last.take() {
            Some((known, found)) if known == handles => found,
            _ => find()?,
        };
        Ok(&self.last.insert((handles, found)).1)
    }
}
