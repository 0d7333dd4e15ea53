//! Addresses of a warp-wide access: checked once for the warp where one allocation holds them all, lane by lane
//! otherwise, and turned into host pointers.

use super::isa::Isa;
use super::lane::{Bits, WARP};
use super::op::Op;
use super::running::Running;
use crate::fault::FaultKind;
use crate::memory::WINDOW_SIZE;

/// Where an access goes.
pub trait Space: 'static {
    /// Word in which a register holds an address.
    type Address: Bits + Into<u64>;

    /// The host address of the space's address 0, if all of `[start, end)` may be accessed.
    ///
    /// `start` and `end` are addresses within the space.
    fn window(w: &mut Running<'_>, slot: u32, start: u64, end: u64) -> Option<u64>;

    /// Host pointer to `bytes` bytes at `address` for one lane.
    fn resolve(
        w: &mut Running<'_>,
        slot: u32,
        lane: u32,
        address: u64,
        bytes: u32,
    ) -> Result<*mut u8, FaultKind>;
}

fn illegal(address: u64, width: u32, lane: u32) -> FaultKind {
    FaultKind::IllegalAddress { address, width, lane }
}

/// Global memory (and constant memory, which lies in it): addresses are host addresses.
pub struct Global;

impl Space for Global {
    type Address = u64;

    #[inline(always)]
    fn window(w: &mut Running<'_>, slot: u32, start: u64, end: u64) -> Option<u64> {
        if w.view.holds(slot, start, end) {
            return Some(0);
        }
        let memory = &w.grid.owner.memory;
        w.view.look_up(memory, slot, start, end.wrapping_sub(start)).ok().map(|()| 0)
    }

    fn resolve(
        w: &mut Running<'_>,
        slot: u32,
        lane: u32,
        address: u64,
        bytes: u32,
    ) -> Result<*mut u8, FaultKind> {
        let end = address.checked_add(u64::from(bytes)).ok_or_else(|| illegal(address, bytes, lane))?;
        if !w.view.holds(slot, address, end) {
            let memory = &w.grid.owner.memory;
            w.view
                .look_up(memory, slot, address, u64::from(bytes))
                .map_err(|_| illegal(address, bytes, lane))?;
        }
        Ok(address as *mut u8)
    }
}

/// Global memory addressed by 32-bit registers: such addresses are never valid here, but code may hold them.
pub struct GlobalNarrow;

impl Space for GlobalNarrow {
    type Address = u32;

    #[inline(always)]
    fn window(w: &mut Running<'_>, slot: u32, start: u64, end: u64) -> Option<u64> {
        Global::window(w, slot, start, end)
    }

    fn resolve(
        w: &mut Running<'_>,
        slot: u32,
        lane: u32,
        address: u64,
        bytes: u32,
    ) -> Result<*mut u8, FaultKind> {
        Global::resolve(w, slot, lane, address, bytes)
    }
}

/// Shared memory; addresses are offsets.
pub struct Shared<A>(std::marker::PhantomData<A>);

impl<A: Bits + Into<u64>> Space for Shared<A> {
    type Address = A;

    #[inline(always)]
    fn window(w: &mut Running<'_>, _: u32, _: u64, end: u64) -> Option<u64> {
        (end <= u64::from(w.shared_bytes)).then_some(w.shared as u64)
    }

    fn resolve(
        w: &mut Running<'_>,
        _: u32,
        lane: u32,
        address: u64,
        bytes: u32,
    ) -> Result<*mut u8, FaultKind> {
        match address.checked_add(u64::from(bytes)) {
            Some(end) if end <= u64::from(w.shared_bytes) => Ok(w.shared.wrapping_add(address as usize)),
            _ => Err(illegal(address, bytes, lane)),
        }
    }
}

/// Local memory; addresses are offsets into a lane's own stretch.
pub struct Local<A>(std::marker::PhantomData<A>);

impl<A: Bits + Into<u64>> Space for Local<A> {
    type Address = A;

    #[inline(always)]
    fn window(_: &mut Running<'_>, _: u32, _: u64, _: u64) -> Option<u64> {
        None
    }

    fn resolve(
        w: &mut Running<'_>,
        _: u32,
        lane: u32,
        address: u64,
        bytes: u32,
    ) -> Result<*mut u8, FaultKind> {
        match address.checked_add(u64::from(bytes)) {
            Some(end) if end <= u64::from(w.local_bytes) => {
                Ok(w.local.wrapping_add(lane as usize * w.local_bytes as usize + address as usize))
            }
            _ => Err(illegal(address, bytes, lane)),
        }
    }
}

/// Generic addresses: two windows for shared and local memory, global memory elsewhere.
pub struct Generic;

impl Space for Generic {
    type Address = u64;

    #[inline(always)]
    fn window(w: &mut Running<'_>, slot: u32, start: u64, end: u64) -> Option<u64> {
        if w.view.holds(slot, start, end) {
            return Some(0);
        }
        let shared = w.grid.owner.memory.shared_window();
        if start.wrapping_sub(shared) < WINDOW_SIZE {
            let inside = end.wrapping_sub(shared) <= u64::from(w.shared_bytes);
            return inside.then(|| (w.shared as u64).wrapping_sub(shared));
        }
        Global::window(w, slot, start, end)
    }

    fn resolve(
        w: &mut Running<'_>,
        slot: u32,
        lane: u32,
        address: u64,
        bytes: u32,
    ) -> Result<*mut u8, FaultKind> {
        let (shared, local) = (w.grid.owner.memory.shared_window(), w.grid.owner.memory.local_window());
        if address.wrapping_sub(shared) < WINDOW_SIZE {
            return Shared::<u64>::resolve(w, slot, lane, address - shared, bytes)
                .map_err(|_| illegal(address, bytes, lane));
        }
        if address.wrapping_sub(local) < WINDOW_SIZE {
            return Local::<u64>::resolve(w, slot, lane, address - local, bytes)
                .map_err(|_| illegal(address, bytes, lane));
        }
        Global::resolve(w, slot, lane, address, bytes)
    }
}

/// How the addresses of a full warp lie, in the cases worth telling apart.
pub enum Regular {
    /// Lane i accesses `first + i * width`.
    Strided(*mut u8),
    /// All lanes access the same place.
    Uniform(*mut u8),
}

/// How a warp's addresses lie.
pub enum Pattern {
    /// Anywhere within one stretch that was checked: lane addresses plus this are host addresses.
    Scattered(u64),
    /// Not in one stretch: check lane by lane.
    Unchecked,
}

/// The addresses of an op: operand `a` plus the immediate.
///
/// # Safety
/// As for [`super::op::Run`]: `op.a` is a row of `S::Address`.
#[inline(always)]
pub unsafe fn addresses<S: Space>(w: &Running<'_>, op: &Op) -> [u64; WARP] {
    // SAFETY: the caller's promise.
    let row = unsafe { w.read_row::<S::Address>(op.a) };
    let cut = address_bits::<S>();
    let mut sums = [0; WARP];
    for (sum, address) in sums.iter_mut().zip(row) {
        *sum = Into::<u64>::into(address).wrapping_add(op.immediate) & cut;
    }
    sums
}

/// Recognises a full warp's access to consecutive elements, or to one, of `width` bytes (a power of two); `None` is
/// any other, and any that is not allowed.
///
/// # Safety
/// As for [`super::op::Run`]: `op.a` is a row of `S::Address`.
#[inline(always)]
pub unsafe fn regular<I: Isa, S: Space>(w: &mut Running<'_>, op: &Op, width: u32) -> Option<Regular> {
    if w.mask != u32::MAX {
        return None;
    }
    // SAFETY: the caller's promise; nothing writes the row while the reference lives.
    let row = unsafe { &*w.row::<S::Address>(op.a).cast::<[S::Address; WARP]>() };
    let width = u64::from(width);
    let span = Into::<u64>::into(row[31]).wrapping_sub(row[0].into());
    let step = match span {
        0 => 0,
        span if span == 31 * width => width,
        _ => return None,
    };
    if !S::Address::is_strided::<I>(row, step) {
        return None;
    }
    let first = Into::<u64>::into(row[0]).wrapping_add(op.immediate) & address_bits::<S>();
    if first & (width - 1) != 0 {
        return None;
    }
    let origin = S::window(w, op.slot, first, first.wrapping_add(31 * step + width))?;
    let place = first.wrapping_add(origin) as *mut u8;
    Some(if step == 0 { Regular::Uniform(place) } else { Regular::Strided(place) })
}

#[inline(always)]
fn address_bits<S: Space>() -> u64 {
    if size_of::<S::Address>() == 4 { 0xffff_ffff } else { u64::MAX }
}

/// Checks the addresses of the active lanes for accesses of `width` bytes (a power of two).
#[inline(always)]
pub fn pattern<S: Space>(w: &mut Running<'_>, op: &Op, addresses: &[u64; WARP], width: u32) -> Pattern {
    let width = u64::from(width);
    let some = addresses[w.mask.trailing_zeros() as usize & 31];
    let (mut low, mut high, mut bits) = (i64::MAX, i64::MIN, 0);
    for (lane, &address) in addresses.iter().enumerate() {
        let active = 0u32.wrapping_sub((w.mask >> lane) & 1);
        let address = u64::choose(active, address, some) as i64;
        low = low.min(address);
        high = high.max(address);
        bits |= address;
    }
    let end = (high as u64).wrapping_add(width);
    if bits as u64 & (width - 1) == 0
        && low >= 0
        && let Some(origin) = S::window(w, op.slot, low as u64, end)
    {
        return Pattern::Scattered(origin);
    }
    Pattern::Unchecked
}

/// Host pointer of one lane's access, checked for alignment and range.
pub fn resolve_aligned<S: Space>(
    w: &mut Running<'_>,
    slot: u32,
    lane: usize,
    address: u64,
    width: u32,
) -> Result<*mut u8, FaultKind> {
    if address & u64::from(width - 1) != 0 {
        return Err(FaultKind::MisalignedAddress { address, width, lane: lane as u32 });
    }
    S::resolve(w, slot, lane as u32, address, width)
}

/// Lanes of a mask, lowest first.
pub fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}
