//! Addresses of a warp-wide access: checked once for the warp where one allocation holds them all, lane by lane
//! otherwise, and turned into host pointers.

use std::hint::black_box;

use super::cluster::rank_and_offset;
use super::isa::Isa;
use super::lane::{Bits, TILE, WARP, array_of};
use super::op::Op;
use super::running::Running;
use crate::fault::FaultKind;
use crate::memory::{CLUSTER_WINDOWS, WINDOW_SIZE};

/// Where an access goes.
pub trait Space: 'static {
    /// Word in which a register holds an address.
    type Address: Bits + Into<u64>;

    /// The stretch of memory that holds the address, which is within the space.
    fn stretch(w: &mut Running<'_>, slot: u32, address: u64) -> Option<Stretch>;

    /// Bytes from a lane's copy of the space to the next lane's; 0 if all lanes share the space.
    #[inline(always)]
    fn pitch(_: &Running<'_>) -> u64 {
        0
    }

    /// Host pointer to `bytes` bytes at `address` for one lane.
    #[inline(always)]
    fn resolve(w: &mut Running<'_>, slot: u32, lane: u32, address: u64, bytes: u32) -> Option<*mut u8> {
        let end = address.checked_add(u64::from(bytes))?;
        let stretch = Self::stretch(w, slot, address).filter(|stretch| end <= stretch.end)?;
        let place = address.wrapping_add(stretch.origin).wrapping_add(Self::pitch(w) * u64::from(lane));
        Some(place as *mut u8)
    }
}

/// Consecutive addresses of a space that may be accessed.
#[derive(Clone, Copy)]
pub struct Stretch {
    start: u64,
    end: u64,
    /// The host address of the space's address 0, for lane 0.
    origin: u64,
}

impl Stretch {
    /// Host pointer to `bytes` bytes at `address`, if they lie in the stretch.
    pub fn place(self, address: u64, bytes: u64) -> Option<*mut u8> {
        let end = address.checked_add(bytes)?;
        (address >= self.start && end <= self.end).then(|| address.wrapping_add(self.origin) as *mut u8)
    }
}

/// Global memory (and constant memory, which lies in it): addresses are host addresses.
pub struct Global;

impl Space for Global {
    type Address = u64;

    #[inline(always)]
    fn stretch(w: &mut Running<'_>, slot: u32, address: u64) -> Option<Stretch> {
        let range = w.view.find(&w.grid.owner.memory, slot, address)?;
        Some(Stretch { start: range.start, end: range.end, origin: 0 })
    }
}

/// Global memory addressed by 32-bit registers: such addresses are never valid here, but code may hold them.
pub struct GlobalNarrow;

impl Space for GlobalNarrow {
    type Address = u32;

    #[inline(always)]
    fn stretch(w: &mut Running<'_>, slot: u32, address: u64) -> Option<Stretch> {
        Global::stretch(w, slot, address)
    }
}

/// Shared memory; addresses are offsets.
pub struct Shared<A>(std::marker::PhantomData<A>);

impl<A: Bits + Into<u64>> Space for Shared<A> {
    type Address = A;

    #[inline(always)]
    fn stretch(w: &mut Running<'_>, _: u32, _: u64) -> Option<Stretch> {
        Some(Stretch { start: 0, end: u64::from(w.shared_bytes), origin: w.shared as u64 })
    }

    /// As far as an address was made for the CTA's rank in its cluster, it is one of the CTA's own.
    fn resolve(w: &mut Running<'_>, slot: u32, lane: u32, address: u64, bytes: u32) -> Option<*mut u8> {
        let (rank, _) = rank_and_offset(address, w.cta.rank);
        if rank != u64::from(w.cta.rank) {
            return None;
        }
        ClusterShared::resolve(w, slot, lane, address, bytes)
    }
}

/// Shared memory of a cluster; addresses are those of [`super::cluster`].
pub struct ClusterShared;

impl Space for ClusterShared {
    type Address = u64;

    fn stretch(w: &mut Running<'_>, _: u32, address: u64) -> Option<Stretch> {
        let (rank, offset) = rank_and_offset(address, w.cta.rank);
        if rank >= u64::from(w.cluster.ctas) {
            return None;
        }
        let place = w.cluster_shared() as u64 + rank * w.cluster.pitch;
        let start = address - offset;
        Some(Stretch { start, end: start + u64::from(w.shared_bytes), origin: place.wrapping_sub(start) })
    }
}

/// Local memory; addresses are offsets into a lane's own stretch.
pub struct Local<A>(std::marker::PhantomData<A>);

impl<A: Bits + Into<u64>> Space for Local<A> {
    type Address = A;

    #[inline(always)]
    fn stretch(w: &mut Running<'_>, _: u32, _: u64) -> Option<Stretch> {
        Some(Stretch { start: 0, end: u64::from(w.local_bytes), origin: w.local as u64 })
    }

    #[inline(always)]
    fn pitch(w: &Running<'_>) -> u64 {
        u64::from(w.local_bytes)
    }
}

/// Generic addresses: windows for the CTA's and its cluster's shared memory and for local memory, global memory
/// elsewhere.
pub struct Generic;

impl Space for Generic {
    type Address = u64;

    /// Local memory has no stretch of all lanes.
    #[inline(always)]
    fn stretch(w: &mut Running<'_>, slot: u32, address: u64) -> Option<Stretch> {
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

    fn resolve(w: &mut Running<'_>, slot: u32, lane: u32, address: u64, bytes: u32) -> Option<*mut u8> {
        let offset = address.wrapping_sub(w.grid.owner.memory.local_window());
        if offset < WINDOW_SIZE {
            return Local::<u64>::resolve(w, slot, lane, offset, bytes);
        }
        let end = address.checked_add(u64::from(bytes))?;
        let stretch = Self::stretch(w, slot, address).filter(|stretch| end <= stretch.end)?;
        Some(address.wrapping_add(stretch.origin) as *mut u8)
    }
}

/// How the addresses of a full warp lie, in the cases worth telling apart.
pub enum Regular {
    /// Lane i accesses `first + i * width`.
    Strided(*mut u8),
    /// All lanes access the same place.
    Uniform(*mut u8),
}

/// How the addresses of a full warp lie that are regular tile by tile.
pub struct Tiled {
    /// Where each tile's first lane accesses.
    pub places: [*mut u8; WARP / TILE],
    /// The lanes of a tile access consecutive elements; otherwise all of them the first lane's.
    pub strided: bool,
}

/// How a warp's addresses lie.
pub enum Pattern {
    /// Anywhere within one stretch that was checked.
    Scattered(Scattered),
    /// Not in one stretch: check lane by lane.
    Unchecked,
}

/// From the lanes' addresses to host addresses.
#[derive(Clone, Copy)]
pub struct Scattered {
    origin: u64,
    pitch: u64,
}

impl Scattered {
    /// The host address of a lane's address.
    #[inline(always)]
    pub fn place(self, lane: usize, address: u64) -> u64 {
        address.wrapping_add(self.origin).wrapping_add(self.pitch * lane as u64)
    }
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
    if w.mask != u32::MAX || S::pitch(w) != 0 {
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
    let end = first.wrapping_add(31 * step + width);
    let stretch = S::stretch(w, op.slot, first).filter(|stretch| end > first && end <= stretch.end)?;
    let place = first.wrapping_add(stretch.origin) as *mut u8;
    Some(if step == 0 { Regular::Uniform(place) } else { Regular::Strided(place) })
}

/// Recognises a full warp whose lanes, [`TILE`] by [`TILE`], access consecutive elements, or one, of `width` bytes (a
/// power of two), as the rows of a two-dimensional CTA do; `None` is any other, and any that is not allowed.
///
/// # Safety
/// As for [`regular`].
#[inline(always)]
pub unsafe fn tiled<S: Space>(w: &mut Running<'_>, op: &Op, width: u32) -> Option<Tiled> {
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
    w: &mut Running<'_>,
    op: &Op,
    addresses: &[u64; WARP],
    width: u32,
) -> Pattern {
    let width = u64::from(width);
    let some = addresses[w.mask.trailing_zeros() as usize & 31];
    let Some(stretch) = S::stretch(w, op.slot, some) else { return Pattern::Unchecked };
    let last = stretch.end.wrapping_sub(width);
    // The top bit is set for a lane before the stretch, behind it, or misaligned: stretches are far shorter than 2^63.
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
    w: &mut Running<'_>,
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

/// The addresses, as a slice whose length the compiler does not know: what is done for each lane is a loop and not 32 copies of
/// its body for each type and space.
#[inline(always)]
pub fn one_by_one(addresses: &[u64; WARP]) -> &[u64] {
    black_box(addresses.as_slice())
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
