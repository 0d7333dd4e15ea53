//! Address translation of warp-wide accesses to host pointers. One check covers the warp if one allocation
//! holds all addresses; otherwise each lane is checked.

use std::hint::black_box;

use super::cluster::rank_and_offset;
use super::isa::Isa;
use super::lane::{Bits, TILE, WARP, array_of};
use super::op::Op;
use super::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::memory::{CLUSTER_WINDOWS, WINDOW_SIZE};

/// Memory space of an access.
pub trait Space: 'static {
    /// Register word that holds an address.
    type Address: Bits + Into<u64>;

    /// Contiguous memory around `address`, which lies in the space.
    fn stretch(w: &mut WarpContext<'_>, slot: u32, address: u64) -> Option<Stretch>;

    /// Bytes between the lanes' private copies of the space; 0 if the lanes share it.
    #[inline(always)]
    fn pitch(_: &WarpContext<'_>) -> u64 {
        0
    }

    /// Host pointer to `bytes` bytes at `address` for one lane.
    #[inline(always)]
    fn resolve(w: &mut WarpContext<'_>, slot: u32, lane: u32, address: u64, bytes: u32) -> Option<*mut u8> {
        let end = address.checked_add(u64::from(bytes))?;
        let stretch = Self::stretch(w, slot, address).filter(|stretch| end <= stretch.end)?;
        let place = address.wrapping_add(stretch.origin).wrapping_add(Self::pitch(w) * u64::from(lane));
        Some(place as *mut u8)
    }
}

/// A range of accessible addresses of a space.
#[derive(Clone, Copy)]
pub struct Stretch {
    start: u64,
    end: u64,
    /// Host address of the space's address 0 for lane 0.
    origin: u64,
}

impl Stretch {
    /// Host pointer to `bytes` bytes at `address`, if they lie in the range.
    pub fn place(self, address: u64, bytes: u64) -> Option<*mut u8> {
        let end = address.checked_add(bytes)?;
        (address >= self.start && end <= self.end).then(|| address.wrapping_add(self.origin) as *mut u8)
    }
}

/// Global memory, which contains constant memory; addresses are host addresses.
pub struct Global;

impl Space for Global {
    type Address = u64;

    #[inline(always)]
    fn stretch(w: &mut WarpContext<'_>, slot: u32, address: u64) -> Option<Stretch> {
        let range = w.view.find(&w.grid.owner.memory, slot, address)?;
        Some(Stretch { start: range.start, end: range.end, origin: 0 })
    }
}

/// Global memory addressed by 32-bit registers. Such an address is never valid, but code may contain one.
pub struct GlobalNarrow;

impl Space for GlobalNarrow {
    type Address = u32;

    #[inline(always)]
    fn stretch(w: &mut WarpContext<'_>, slot: u32, address: u64) -> Option<Stretch> {
        Global::stretch(w, slot, address)
    }
}

/// Shared memory; addresses are offsets.
pub struct Shared<A>(std::marker::PhantomData<A>);

impl<A: Bits + Into<u64>> Space for Shared<A> {
    type Address = A;

    #[inline(always)]
    fn stretch(w: &mut WarpContext<'_>, _: u32, _: u64) -> Option<Stretch> {
        Some(Stretch { start: 0, end: u64::from(w.shared_bytes), origin: w.shared as u64 })
    }

    /// An address that carries the CTA's own cluster rank refers to the CTA's own memory.
    fn resolve(w: &mut WarpContext<'_>, slot: u32, lane: u32, address: u64, bytes: u32) -> Option<*mut u8> {
        let (rank, _) = rank_and_offset(address, w.cta.rank);
        if rank != u64::from(w.cta.rank) {
            return None;
        }
        ClusterShared::resolve(w, slot, lane, address, bytes)
    }
}

/// Shared memory of a cluster; addresses as in [`super::cluster`].
pub struct ClusterShared;

impl Space for ClusterShared {
    type Address = u64;

    fn stretch(w: &mut WarpContext<'_>, _: u32, address: u64) -> Option<Stretch> {
        let (rank, offset) = rank_and_offset(address, w.cta.rank);
        if rank >= u64::from(w.cluster.ctas) {
            return None;
        }
        let place = w.cluster_shared() as u64 + rank * w.cluster.pitch;
        let start = address - offset;
        Some(Stretch { start, end: start + u64::from(w.shared_bytes), origin: place.wrapping_sub(start) })
    }
}

/// Local memory; addresses are offsets in the lane's own memory.
pub struct Local<A>(std::marker::PhantomData<A>);

impl<A: Bits + Into<u64>> Space for Local<A> {
    type Address = A;

    #[inline(always)]
    fn stretch(w: &mut WarpContext<'_>, _: u32, _: u64) -> Option<Stretch> {
        Some(Stretch { start: 0, end: u64::from(w.local_bytes), origin: w.local as u64 })
    }

    #[inline(always)]
    fn pitch(w: &WarpContext<'_>) -> u64 {
        u64::from(w.local_bytes)
    }
}

/// Generic addresses: windows for the shared memory of the CTA and its cluster and for local memory, and
/// global memory elsewhere.
pub struct Generic;

impl Space for Generic {
    type Address = u64;

    /// Local memory has no range common to all lanes.
    #[inline(always)]
    fn stretch(w: &mut WarpContext<'_>, slot: u32, address: u64) -> Option<Stretch> {
        let range = w.view.remembered(slot);
        if address >= range.start && address < range.end {
            return Some(Stretch { start: range.start, end: range.end, origin: 0 });
        }
        let shared = w.grid.owner.memory.shared_window();
        if address.wrapping_sub(shared) < WINDOW_SIZE {
            return Some(Stretch {
                start: shared,
                end: shared + u64::from(w.shared_bytes),
                origin: (w.shared as u64).wrapping_sub(shared),
            });
        }
        if address.wrapping_sub(shared) < CLUSTER_WINDOWS * WINDOW_SIZE {
            let Stretch { start, end, origin } = ClusterShared::stretch(w, slot, address - shared)?;
            return Some(Stretch {
                start: start + shared,
                end: end + shared,
                origin: origin.wrapping_sub(shared),
            });
        }
        Global::stretch(w, slot, address)
    }

    fn resolve(w: &mut WarpContext<'_>, slot: u32, lane: u32, address: u64, bytes: u32) -> Option<*mut u8> {
        let offset = address.wrapping_sub(w.grid.owner.memory.local_window());
        if offset < WINDOW_SIZE {
            return Local::<u64>::resolve(w, slot, lane, offset, bytes);
        }
        let end = address.checked_add(u64::from(bytes))?;
        let stretch = Self::stretch(w, slot, address).filter(|stretch| end <= stretch.end)?;
        Some(address.wrapping_add(stretch.origin) as *mut u8)
    }
}

/// Regular address patterns of a full warp.
pub enum Regular {
    /// Lane i accesses `first + i * width`.
    Strided(*mut u8),
    /// All lanes access the same address.
    Uniform(*mut u8),
}

/// Address pattern of a full warp that is regular in each tile of lanes.
pub struct Tiled {
    /// Address of each tile's first lane.
    pub places: [*mut u8; WARP / TILE],
    /// True if a tile's lanes access consecutive elements; false if all access the first lane's element.
    pub strided: bool,
}

/// Address pattern of a warp.
pub enum Pattern {
    /// Arbitrary addresses in one checked range.
    Scattered(Scattered),
    /// Addresses outside of one range, which need a check per lane.
    Unchecked,
}

/// Translation of lane addresses to host addresses.
#[derive(Clone, Copy)]
pub struct Scattered {
    origin: u64,
    pitch: u64,
}

impl Scattered {
    /// Host address of a lane's address.
    #[inline(always)]
    pub fn place(self, lane: usize, address: u64) -> u64 {
        address.wrapping_add(self.origin).wrapping_add(self.pitch * lane as u64)
    }
}

/// Addresses of an op: operand `a` plus the immediate.
///
/// # Safety
/// The contract of [`super::op::Run`] holds: `op.a` is a row of `S::Address`.
#[inline(always)]
pub unsafe fn addresses<S: Space>(w: &WarpContext<'_>, op: &Op) -> [u64; WARP] {
    // SAFETY: guaranteed by the caller.
    let row = unsafe { w.read_row::<S::Address>(op.a) };
    let cut = address_bits::<S>();
    let mut sums = [0; WARP];
    for (sum, address) in sums.iter_mut().zip(row) {
        *sum = Into::<u64>::into(address).wrapping_add(op.immediate) & cut;
    }
    sums
}

/// Recognises a full warp's valid access to consecutive elements, or to one element, of `width` bytes (a
/// power of two). Any other access gives `None`.
///
/// # Safety
/// The contract of [`super::op::Run`] holds: `op.a` is a row of `S::Address`.
#[inline(always)]
pub unsafe fn regular<I: Isa, S: Space>(w: &mut WarpContext<'_>, op: &Op, width: u32) -> Option<Regular> {
    if w.mask != u32::MAX || S::pitch(w) != 0 {
        return None;
    }
    // SAFETY: guaranteed by the caller; nothing writes the row while the reference lives.
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
    let end = first.wrapping_add(31 * step + width);
    let stretch = S::stretch(w, op.slot, first).filter(|stretch| end > first && end <= stretch.end)?;
    let place = first.wrapping_add(stretch.origin) as *mut u8;
    Some(if step == 0 { Regular::Uniform(place) } else { Regular::Strided(place) })
}

/// Recognises a full warp whose tiles of [`TILE`] lanes each access consecutive elements, or one element,
/// of `width` bytes (a power of two). Rows of a two-dimensional CTA do so. Any other access, and any
/// invalid one, gives `None`.
///
/// # Safety
/// As for [`regular`].
#[inline(always)]
pub unsafe fn tiled<S: Space>(w: &mut WarpContext<'_>, op: &Op, width: u32) -> Option<Tiled> {
    if w.mask != u32::MAX || S::pitch(w) != 0 {
        return None;
    }
    // SAFETY: as in `regular`.
    let row = unsafe { &*w.row::<S::Address>(op.a).cast::<[S::Address; WARP]>() };
    let width = u64::from(width);
    let step = Into::<u64>::into(row[1]).wrapping_sub(row[0].into());
    let fits = match step {
        0 => S::Address::is_tiled(row, 0),
        step if step == width => S::Address::is_tiled(row, width),
        _ => false,
    };
    if !fits {
        return None;
    }
    let first =
        |tile: usize| Into::<u64>::into(row[tile * TILE]).wrapping_add(op.immediate) & address_bits::<S>();
    let starts: [u64; WARP / TILE] = array_of(first);
    let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
    for start in starts {
        (low, high, bits) = (low.min(start), high.max(start), bits | start);
    }
    let end = high.wrapping_add((TILE as u64 - 1) * step + width);
    if bits & (width - 1) != 0 {
        return None;
    }
    let stretch = S::stretch(w, op.slot, low).filter(|stretch| end > high && end <= stretch.end)?;
    Some(Tiled {
        places: starts.map(|start| start.wrapping_add(stretch.origin) as *mut u8),
        strided: step != 0,
    })
}

#[inline(always)]
fn address_bits<S: Space>() -> u64 {
    if size_of::<S::Address>() == 4 { 0xffff_ffff } else { u64::MAX }
}

/// Checks the addresses of the active lanes for accesses of `width` bytes (a power of two).
#[inline(always)]
pub fn pattern<I: Isa, S: Space>(
    w: &mut WarpContext<'_>,
    op: &Op,
    addresses: &[u64; WARP],
    width: u32,
) -> Pattern {
    let width = u64::from(width);
    let some = addresses[w.mask.trailing_zeros() as usize & 31];
    let Some(stretch) = S::stretch(w, op.slot, some) else { return Pattern::Unchecked };
    let last = stretch.end.wrapping_sub(width);
    // The top bit marks lanes before or after the range or misaligned: ranges are far shorter than 2^63.
    let mut wrong = [0; WARP];
    for (wrong, address) in wrong.iter_mut().zip(addresses) {
        let misaligned = (address & (width - 1)).wrapping_neg();
        *wrong = address.wrapping_sub(stretch.start) | last.wrapping_sub(*address) | misaligned;
    }
    if I::top_bits_64(&wrong) & w.mask != 0 {
        return Pattern::Unchecked;
    }
    Pattern::Scattered(Scattered { origin: stretch.origin, pitch: S::pitch(w) })
}

/// Host pointer of one lane's access, checked for alignment and range.
pub fn resolve_aligned<S: Space>(
    w: &mut WarpContext<'_>,
    slot: u32,
    lane: usize,
    address: u64,
    width: u32,
) -> Result<*mut u8, FaultKind> {
    if address & u64::from(width - 1) != 0 {
        return Err(FaultKind::MisalignedAddress { address, width, lane: lane as u32 });
    }
    S::resolve(w, slot, lane as u32, address, width).ok_or(FaultKind::IllegalAddress {
        address,
        width,
        lane: lane as u32,
    })
}

/// The addresses as a slice of opaque length. The compiler then emits a loop per lane instead of 32
/// unrolled bodies for each type and space.
#[inline(always)]
pub fn one_by_one(addresses: &[u64; WARP]) -> &[u64] {
    black_box(addresses.as_slice())
}

/// Lanes of a mask in ascending order.
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
