//! Addresses in the shared memory of a cluster's CTAs (PTX manual 9.7.9.24, 9.7.9.25), with the format of
//! `engine/cluster.rs`.

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use crate::bind::{BindError, Binder};
use crate::engine::cluster::{in_cta, rank_and_offset};
use crate::engine::lane::{Bits, WARP};
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::memory::WINDOW_SIZE;
use crate::ops::Bound;

/// Last window of an address type, always invalid: the result for a CTA outside of the cluster.
fn nowhere<B>() -> u64 {
    let last = if size_of::<B>() == 4 { u64::from(u32::MAX) } else { u64::MAX };
    last - (WINDOW_SIZE - 1)
}

/// d = address `a` moved to the CTA of rank `b`; the cluster's window starts at the immediate.
unsafe fn map<B: Bits + Into<u64> + TryFrom<u64>>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `a` and `d` are rows of addresses, `b` is a 32-bit row.
    unsafe {
        let (addresses, ranks) = (w.read_row::<B>(op.a), w.read_row::<u32>(op.b));
        let mapped: [B; WARP] = std::array::from_fn(|lane| {
            let address = addresses[lane].into().wrapping_sub(op.immediate);
            let mapped = match ranks[lane] {
                rank if rank < w.cluster.ctas => op.immediate.wrapping_add(in_cta(address, rank, w.cta.rank)),
                _ => nowhere::<B>() + address % WINDOW_SIZE,
            };
            B::try_from(mapped).unwrap_or_default()
        });
        w.write_row(op.d, &mapped);
    }
    Flow::Next
}

/// d = rank of the CTA that owns address `a`; the cluster's window starts at the immediate.
unsafe fn rank<B: Bits + Into<u64>>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `a` is a row of addresses, `d` a 32-bit row.
    unsafe {
        let addresses = w.read_row::<B>(op.a);
        let ranks = addresses
            .map(|address| rank_and_offset(address.into().wrapping_sub(op.immediate), w.cta.rank).0 as u32);
        w.write_row(op.d, &ranks);
    }
    Flow::Next
}

/// Start of the cluster's window in the instruction's addresses, and whether they have 64 bits.
fn window(b: &Binder<'_, '_>, i: &Instruction) -> Result<(u64, bool), BindError> {
    let wide = i.types().next().is_some_and(|ty| ty.bits() == 64);
    if i.has(Modifier::SharedCluster) {
        return Ok((0, wide));
    }
    if !wide {
        return Err(b.error("a generic address must have 64 bits"));
    }
    Ok((b.linker_addresses().shared_window(), wide))
}

fn address_type(wide: bool) -> ScalarType {
    if wide { ScalarType::U64 } else { ScalarType::U32 }
}

/// `mapa`.
pub fn mapa(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let (immediate, wide) = window(b, i)?;
    let a = b.source(&i.operands[1], address_type(wide))?;
    let rank = b.source(&i.operands[2], ScalarType::U32)?;
    let d = b.result(&i.operands[0], address_type(wide))?;
    let run = if wide { map::<u64> } else { map::<u32> };
    let op = Op { d, a, b: rank, immediate, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// `getctarank`.
pub fn getctarank(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let (immediate, wide) = window(b, i)?;
    let a = b.source(&i.operands[1], address_type(wide))?;
    let d = b.result(&i.operands[0], ScalarType::U32)?;
    let run = if wide { rank::<u64> } else { rank::<u32> };
    let op = Op { d, a, immediate, ..b.op(run) };
    b.push(op);
    Ok(())
}
