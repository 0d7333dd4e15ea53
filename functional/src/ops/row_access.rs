//! Warp-wide loads and stores of scalars and vectors.

use std::marker::PhantomData;

use crate::engine::address_translation::{
    Generic, Global, Pattern, Regular, Shared, Space, Tiled, addresses, lanes_of, one_by_one, pattern,
    regular, resolve_aligned, tiled,
};
use crate::engine::isa::{Isa, per_level};
use crate::engine::lane::{Lane, TILE, WARP, array_of};
use crate::engine::native::{Access, Element, Form, Forms, Space as Place};
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;

/// Conversion of a memory value into a register.
pub(crate) trait Loaded: 'static {
    /// Type in memory.
    type InMemory: Copy + Default;
    /// Type in the register.
    type Register: Lane;
    /// Extends the value.
    fn extend(value: Self::InMemory) -> Self::Register;
}

/// A memory value `M`, extended to `R` in the register.
pub(crate) struct As<M, R>(PhantomData<(M, R)>);

macro_rules! loaded {
    ($($memory:ty => $($register:ty)*;)*) => {
        $($(impl Loaded for As<$memory, $register> {
            type InMemory = $memory;
            type Register = $register;
            #[inline(always)]
            fn extend(value: $memory) -> $register { value as $register }
        })*)*
    };
}
loaded! {
    u8 => u32 u64;
    i8 => i16 i32 i64;
    u16 => u32 u64;
    i16 => i32 i64;
    u32 => u32 u64;
    i32 => i32 i64;
    u64 => u64;
}

/// Conversion of a register into a memory value.
pub(crate) trait Stored: 'static {
    /// Type in the register.
    type Register: Lane;
    /// Type in memory.
    type InMemory: Copy + Default;
    /// Truncates the value.
    fn cut(value: Self::Register) -> Self::InMemory;
}

macro_rules! stored {
    ($($register:ty => $($memory:ty)*;)*) => {
        $($(impl Stored for As<$memory, $register> {
            type Register = $register;
            type InMemory = $memory;
            #[inline(always)]
            fn cut(value: $register) -> $memory { value as $memory }
        })*)*
    };
}
stored! {
    u32 => u8 u16 u32;
    u64 => u8 u16 u32 u64;
}

#[inline(always)]
unsafe fn load_body<I: Isa, S: Space, L: Loaded>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let value = |memory: L::InMemory| L::extend(memory).to_bits();
    // SAFETY: the binder allocated the rows, and the whole warp's pointers were checked. Other
    // threads and the program share the memory, so only raw pointers access it.
    unsafe {
        let words = match regular::<I, S>(w, op, size_of::<L::InMemory>() as u32) {
            Some(Regular::Strided(first)) => {
                let memory = first.cast::<[L::InMemory; WARP]>().read();
                array_of(|lane| value(memory[lane]))
            }
            Some(Regular::Uniform(place)) => [value(place.cast::<L::InMemory>().read()); WARP],
            None => return load_tiled::<S, L>()(w, op),
        };
        w.row::<<L::Register as Lane>::Bits>(op.d).cast::<[_; WARP]>().write(words);
    }
    Flow::Next
}

#[inline(always)]
unsafe fn load_tiled_body<I: Isa, S: Space, L: Loaded>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let value = |memory: L::InMemory| L::extend(memory).to_bits();
    // SAFETY: as in `load_body`.
    unsafe {
        let Some(Tiled { places, strided }) = tiled::<S>(w, op, size_of::<L::InMemory>() as u32) else {
            return load_scattered::<I, S, L>(w, op);
        };
        let row = w.row::<<L::Register as Lane>::Bits>(op.d).cast::<[_; TILE]>();
        if strided {
            for (tile, place) in places.into_iter().enumerate() {
                let memory = place.cast::<[L::InMemory; TILE]>().read();
                row.add(tile).write(array_of(|lane| value(memory[lane])));
            }
        } else {
            for (tile, place) in places.into_iter().enumerate() {
                row.add(tile).write([value(place.cast::<L::InMemory>().read()); TILE]);
            }
        }
    }
    Flow::Next
}

per_level! {
    /// [`load`] for addresses that are regular at most per tile.
    fn load_tiled<S: Space, L: Loaded> = load_tiled_body
}

#[inline(always)]
unsafe fn load_scattered<I: Isa, S: Space, L: Loaded>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let value = |memory: L::InMemory| L::extend(memory).to_bits();
    // SAFETY: as in `load_body`; the pointers were checked for each active lane.
    unsafe {
        let at = addresses::<S>(w, op);
        let Pattern::Scattered(scattered) = pattern::<I, S>(w, op, &at, size_of::<L::InMemory>() as u32)
        else {
            return load_lanes::<S, L>(w, op, &at);
        };
        let row = w.row::<<L::Register as Lane>::Bits>(op.d);
        let read = |lane: usize, address: u64| {
            let place = scattered.place(lane, address) as *const L::InMemory;
            row.add(lane).write(value(place.read()));
        };
        if w.mask == u32::MAX {
            one_by_one(&at).iter().enumerate().for_each(|(lane, &address)| read(lane, address));
        } else {
            lanes_of(w.mask).for_each(|lane| read(lane, at[lane]));
        }
    }
    Flow::Next
}

#[cold]
fn load_lanes<S: Space, L: Loaded>(w: &mut WarpContext<'_>, op: &Op, at: &[u64; WARP]) -> Flow {
    for lane in lanes_of(w.mask) {
        match resolve_aligned::<S>(w, op.slot, lane, at[lane], size_of::<L::InMemory>() as u32) {
            // SAFETY: the address was checked for this lane, and `d` is a row of the register's width.
            Ok(place) => unsafe {
                w.write_lane(op.d, lane, L::extend(place.cast::<L::InMemory>().read()).to_bits());
            },
            Err(fault) => return w.fault(fault),
        }
    }
    Flow::Next
}

per_level! {
    /// d = value at `a` + immediate.
    pub(crate) fn load<S: Space, L: Loaded> = load_body
}

#[inline(always)]
unsafe fn store_body<I: Isa, S: Space, T: Stored>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let value = |bits| T::cut(T::Register::from_bits(bits));
    // SAFETY: as in `load_body`.
    unsafe {
        match regular::<I, S>(w, op, size_of::<T::InMemory>() as u32) {
            Some(Regular::Strided(first)) => {
                let row = w.read_row::<<T::Register as Lane>::Bits>(op.b);
                first.cast::<[T::InMemory; WARP]>().write(array_of(|lane| value(row[lane])));
            }
            Some(Regular::Uniform(place)) => {
                place.cast::<T::InMemory>().write(value(w.read_lane(op.b, WARP - 1)));
            }
            None => return store_tiled::<S, T>()(w, op),
        }
    }
    Flow::Next
}

#[inline(always)]
unsafe fn store_tiled_body<I: Isa, S: Space, T: Stored>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let value = |bits| T::cut(T::Register::from_bits(bits));
    // SAFETY: as in `load_body`.
    unsafe {
        let Some(Tiled { places, strided: true }) = tiled::<S>(w, op, size_of::<T::InMemory>() as u32) else {
            return store_scattered::<I, S, T>(w, op);
        };
        let row = w.row::<<T::Register as Lane>::Bits>(op.b).cast::<[_; TILE]>();
        for (tile, place) in places.into_iter().enumerate() {
            let bits = row.add(tile).read();
            place.cast::<[T::InMemory; TILE]>().write(array_of(|lane| value(bits[lane])));
        }
    }
    Flow::Next
}

per_level! {
    /// [`store`] for addresses that are regular at most per tile.
    fn store_tiled<S: Space, T: Stored> = store_tiled_body
}

#[inline(always)]
unsafe fn store_scattered<I: Isa, S: Space, T: Stored>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let value = |bits| T::cut(T::Register::from_bits(bits));
    let width = size_of::<T::InMemory>() as u32;
    // SAFETY: as in `load_scattered`.
    unsafe {
        let at = addresses::<S>(w, op);
        let row = w.read_row::<<T::Register as Lane>::Bits>(op.b);
        let whole = pattern::<I, S>(w, op, &at, width);
        for lane in lanes_of(w.mask) {
            match place_in::<S>(w, op, &whole, lane, &at, width) {
                Ok(place) => place.cast::<T::InMemory>().write(value(row[lane])),
                Err(fault) => return w.fault(fault),
            }
        }
    }
    Flow::Next
}

per_level! {
    /// Value at `a` + immediate = b.
    pub(crate) fn store<S: Space, T: Stored> = store_body
}

/// Maximum elements of a vector access per op.
pub(crate) const VECTOR: usize = 4;

/// Rows of a vector op's elements (`d`, `b`, `c`, `e`), and their number, from the high bits of `slot`.
fn elements(op: &Op) -> ([u32; VECTOR], usize) {
    ([op.d, op.b, op.c, op.e], (op.slot >> 16) as usize)
}

/// Slot field of an op on `count` elements.
pub(crate) fn vector_slot(slot: u32, count: usize) -> u32 {
    slot | (count as u32) << 16
}

#[inline(always)]
unsafe fn load_vector_body<I: Isa, S: Space, L: Loaded>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let value = |memory: L::InMemory| L::extend(memory).to_bits();
    let (rows, count) = elements(op);
    let width = (size_of::<L::InMemory>() * count) as u32;
    // SAFETY: as in `load_body`; all elements of a lane lie in the checked range.
    unsafe {
        if let Some(Regular::Uniform(place)) = regular::<I, S>(w, op, width) {
            let place = place.cast::<L::InMemory>();
            for (element, &row) in rows.iter().enumerate().take(count) {
                w.write_row(row, &[value(place.add(element).read()); WARP]);
            }
            return Flow::Next;
        }
        let at = addresses::<S>(w, op);
        let whole = pattern::<I, S>(w, op, &at, width);
        if let (Pattern::Scattered(scattered), u32::MAX) = (&whole, w.mask) {
            for (element, &row) in rows.iter().enumerate().take(count) {
                let row = w.row::<<L::Register as Lane>::Bits>(row);
                for (lane, &address) in one_by_one(&at).iter().enumerate() {
                    let place = scattered.place(lane, address) as *const L::InMemory;
                    row.add(lane).write(value(place.add(element).read()));
                }
            }
            return Flow::Next;
        }
        for lane in lanes_of(w.mask) {
            let place = match place_in::<S>(w, op, &whole, lane, &at, width) {
                Ok(place) => place.cast::<L::InMemory>(),
                Err(fault) => match overhanging::<S>(w, op, lane, &fault, size_of::<L::InMemory>() as u32) {
                    Some(place) => place.cast::<L::InMemory>(),
                    None => return w.fault(fault),
                },
            };
            for (element, &row) in rows.iter().enumerate().take(count) {
                w.write_lane(row, lane, value(place.add(element).read()));
            }
        }
    }
    Flow::Next
}

per_level! {
    /// d, b, c, e = consecutive elements at `a` + immediate, aligned as a whole.
    pub(crate) fn load_vector<S: Space, L: Loaded> = load_vector_body
}

#[inline(always)]
unsafe fn store_vector_body<I: Isa, S: Space, T: Stored>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let (rows, count) = elements(op);
    let width = (size_of::<T::InMemory>() * count) as u32;
    // SAFETY: as in `load_vector_body`.
    unsafe {
        let at = addresses::<S>(w, op);
        let whole = pattern::<I, S>(w, op, &at, width);
        for lane in lanes_of(w.mask) {
            let place = match place_in::<S>(w, op, &whole, lane, &at, width) {
                Ok(place) => place.cast::<T::InMemory>(),
                Err(fault) => return w.fault(fault),
            };
            for (element, &row) in rows.iter().enumerate().take(count) {
                place.add(element).write(T::cut(T::Register::from_bits(w.read_lane(row, lane))));
            }
        }
    }
    Flow::Next
}

per_level! {
    /// Consecutive elements at `a` + immediate = d, b, c, e, aligned as a whole.
    pub(crate) fn store_vector<S: Space, T: Stored> = store_vector_body
}

#[inline(always)]
fn place_in<S: Space>(
    w: &mut WarpContext<'_>,
    op: &Op,
    whole: &Pattern,
    lane: usize,
    at: &[u64; WARP],
    width: u32,
) -> Result<*mut u8, FaultKind> {
    match whole {
        Pattern::Scattered(scattered) => Ok(scattered.place(lane, at[lane]) as *mut u8),
        Pattern::Unchecked => resolve_aligned::<S>(w, op.slot, lane, at[lane], width),
    }
}

/// Address of an aligned vector load that starts in an allocation and ends after it. The vendor's compiler
/// (NVRTC 12.9 and later) merges narrower loads into such a load, because hardware allocates larger units.
/// In registered memory, the bytes after the end belong to the program.
#[cold]
fn overhanging<S: Space>(
    w: &mut WarpContext<'_>,
    op: &Op,
    lane: usize,
    fault: &FaultKind,
    element: u32,
) -> Option<*mut u8> {
    match *fault {
        FaultKind::IllegalAddress { address, .. } => S::resolve(w, op.slot, lane as u32, address, element)
            .filter(|place| !w.grid.owner.memory.is_registered(*place as u64)),
        _ => None,
    }
}

/// d = kernel parameter at offset `immediate`, equal for all lanes.
pub(crate) unsafe fn load_parameter<L: Loaded>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let at = op.immediate as usize;
    let bytes = &w.grid.parameters[at..at + size_of::<L::InMemory>()];
    // SAFETY: the slice is as long as the value, and `d` is a row of the register's width.
    unsafe {
        let value = L::extend(bytes.as_ptr().cast::<L::InMemory>().read_unaligned()).to_bits();
        w.write_row(op.d, &[value; WARP]);
    }
    Flow::Next
}

/// Adds the forms that have machine code.
pub(crate) fn native_forms(forms: &mut Forms) {
    macro_rules! loads {
        ($space:ty, $named:ident: $($memory:ty, $register:ty => $element:ident;)*) => {$(
            let access = Access { space: Place::$named, element: Element::$element, stores: false };
            forms.add(load::<$space, As<$memory, $register>>(), Form::Access(access));
            if matches!(access.element, Element::Word | Element::Double) {
                forms.add(load_vector::<$space, As<$memory, $register>>(), Form::Vector(access));
            }
        )*};
    }
    macro_rules! stores {
        ($space:ty, $named:ident: $($memory:ty, $register:ty => $element:ident;)*) => {$(
            let access = Access { space: Place::$named, element: Element::$element, stores: true };
            forms.add(store::<$space, As<$memory, $register>>(), Form::Access(access));
            if matches!(access.element, Element::Word | Element::Double) {
                forms.add(store_vector::<$space, As<$memory, $register>>(), Form::Vector(access));
            }
        )*};
    }
    macro_rules! accesses {
        ($($space:ty => $named:ident;)*) => {$(
            loads! { $space, $named:
                u8, u32 => Byte;
                i8, i32 => SignedByte;
                u16, u32 => Half;
                i16, i32 => SignedHalf;
                u32, u32 => Word;
                u64, u64 => Double;
            }
            stores! { $space, $named:
                u8, u32 => Byte;
                u16, u32 => Half;
                u32, u32 => Word;
                u64, u64 => Double;
            }
        )*};
    }
    accesses! {
        Global => Global;
        Generic => Global;
        Shared<u32> => Shared;
        Shared<u64> => SharedWide;
    }
    forms.lanes(load_parameter::<As<u32, u32>>, |e, op| e.parameter::<2>(op));
    forms.lanes(load_parameter::<As<u64, u64>>, |e, op| e.parameter::<4>(op));
}
