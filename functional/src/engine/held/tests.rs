use std::cell::UnsafeCell;

use super::*;

/// Memory of a test, aligned like a host page.
#[repr(align(128))]
struct Memory(UnsafeCell<[u32; 256]>);

impl Memory {
    fn new() -> Memory {
        Memory(UnsafeCell::new([7; 256]))
    }

    fn address(&self, word: usize) -> u64 {
        self.0.get() as u64 + 4 * word as u64
    }

    fn words<const N: usize>(&self, words: [usize; N]) -> [u32; N] {
        // SAFETY: no other thread accesses the memory.
        words.map(|word| unsafe { self.0.get().cast::<u32>().add(word).read_volatile() })
    }
}

/// Stores a word for each lane.
fn store(held: &mut HeldStores, cycle: u64, lanes: u32, addresses: [u64; WARP], value: impl Fn(u32) -> u32) {
    let is_consecutive = lanes == u32::MAX && addresses.windows(2).all(|pair| pair[1] == pair[0] + 4);
    let place = match is_consecutive {
        true => held.add_consecutive(cycle, 4, addresses[0]),
        false => held.add(cycle, lanes, 4, &addresses),
    };
    let place = place.cast::<u32>();
    for lane in 0..WARP {
        // SAFETY: the buffer has a word for each lane.
        unsafe { place.add(lane).write(value(lane as u32)) };
    }
}

fn own(held: &mut HeldStores, address: u64) -> Option<u32> {
    // SAFETY: the pointer is to the copy of a word.
    held.copy_of(address).map(|place| unsafe { place.cast::<u32>().read() })
}

#[test]
fn held_store_reaches_memory_when_published() {
    let memory = Memory::new();
    let mut held = HeldStores::default();
    let addresses = std::array::from_fn(|lane| memory.address(lane));
    store(&mut held, 5, u32::MAX, addresses, |lane| lane);
    assert_eq!((memory.words([3]), held.oldest()), ([7], Some(5)));
    assert_eq!(held.publish(4), None);
    assert_eq!((memory.words([3]), held.oldest()), ([7], Some(5)));
    assert_eq!(held.publish(5), None);
    assert_eq!(memory.words([3, 31, 32]), [3, 31, 7]);
    assert!(held.is_empty() && held.oldest().is_none());
}

#[test]
fn scattered_store_writes_only_its_lanes() {
    let memory = Memory::new();
    let mut held = HeldStores::default();
    let addresses = std::array::from_fn(|lane| memory.address(8 * lane));
    store(&mut held, 5, 0b101, addresses, |lane| lane);
    assert!(held.may_meet(0b100, 4, &addresses));
    held.apply();
    assert_eq!((own(&mut held, memory.address(16)), own(&mut held, memory.address(17))), (Some(2), Some(7)));
    assert_eq!(own(&mut held, memory.address(128)), None);
    held.publish(u64::MAX);
    assert_eq!(memory.words([0, 8, 16, 24]), [0, 7, 2, 7]);
}

#[test]
fn highest_lane_wins_at_one_address() {
    let memory = Memory::new();
    let mut held = HeldStores::default();
    store(&mut held, 5, u32::MAX, [memory.address(1); WARP], |lane| lane);
    held.publish(u64::MAX);
    assert_eq!(memory.words([0, 1, 2]), [7, 31, 7]);
}

#[test]
fn own_copy_follows_later_stores() {
    let memory = Memory::new();
    let mut held = HeldStores::default();
    for cycle in 0..4 {
        store(&mut held, cycle, 1, [memory.address(1); WARP], |_| cycle as u32);
        held.apply();
        assert_eq!(own(&mut held, memory.address(1)), Some(cycle as u32));
    }
    assert_eq!(memory.words([1]), [7]);
}

#[test]
fn access_outside_all_records_meets_none() {
    let memory = Memory::new();
    let mut held = HeldStores::default();
    store(&mut held, 5, u32::MAX, std::array::from_fn(|lane| memory.address(32 + lane)), |lane| lane);
    for (word, meets) in [(0, false), (28, false), (32, true), (63, true), (64, false), (200, false)] {
        assert_eq!(held.may_meet(1, 4, &[memory.address(word); WARP]), meets, "word {word}");
    }
    assert!(held.may_meet(1, 16, &[memory.address(32); WARP]));
}

#[test]
fn deferred_op_takes_effect_between_adjacent_stores() {
    let memory = Memory::new();
    let mut held = HeldStores::default();
    let due = Due { warp: WarpSlot { cta: 1, warp: 2 }, number: 3 };
    store(&mut held, 5, 1, [memory.address(1); WARP], |_| 1);
    held.add_due(5, due);
    store(&mut held, 4, 1, [memory.address(1); WARP], |_| 2);
    assert_eq!((held.publish(5), memory.words([1])), (Some(due), [1]));
    assert_eq!((held.publish(5), memory.words([1])), (None, [2]));
}
