//! What a warp executes ahead, told in few words: the host's caches have to hold it for all warps of all SMs.

use warp_stream::{Execution, LaneMask, MachineInstruction, MemorySpace};

use super::{Standing, Step, WARP};
use crate::engine::access::lanes_of;
use crate::engine::machine::{Machine, Needs};
use crate::fault::FaultKind;

/// Words of what a warp has executed ahead, at most. The more there are, the less often its registers come to the host's caches.
const WORDS: usize = 384;
/// Words that tell of a machine instruction, at most: its own, and an address for each lane.
const LONGEST: usize = 1 + WARP;
/// Positions of machine instructions that a word has room for.
const POSITIONS: u32 = Machine::EARLY_POSITIONS;
/// Lanes of which addresses are kept together: the eights of [`Execution::stride`].
const TILE: usize = 8;
const TILES: usize = WARP / TILE;

/// How the addresses of an access are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// There is no access.
    None,
    /// All lanes have the same, in one word.
    Uniform,
    /// The first one, and from a lane's to the next.
    Even,
    /// From a lane's to the next of its tile, and the first one of each tile.
    Tiles,
    /// Those of the active lanes.
    Listed,
}

impl Form {
    /// Words that follow the first.
    fn words(self, active: LaneMask) -> usize {
        match self {
            Form::None => 0,
            Form::Uniform => 1,
            Form::Even => 2,
            Form::Tiles => 1 + TILES,
            Form::Listed => active.count_ones() as usize,
        }
    }
}

/// The first word of a machine instruction: active lanes (32 bits), position (25), space (3), form (4).
#[derive(Debug, Clone, Copy)]
struct Head(u64);

impl Head {
    fn new(position: u32, active: LaneMask, space: MemorySpace, form: Form) -> Head {
        let upper = position | (space as u32) << 25 | (form as u32) << 28;
        Head(u64::from(upper) << 32 | u64::from(active))
    }

    #[inline(always)]
    fn active(self) -> LaneMask {
        self.0 as u32
    }

    #[inline(always)]
    fn position(self) -> u32 {
        (self.0 >> 32) as u32 % POSITIONS
    }

    fn space(self) -> Option<MemorySpace> {
        use MemorySpace::*;
        [Global, Shared, Local, Constant, Texture, Generic].get((self.0 >> 57) as usize % 8).copied()
    }

    fn form(self) -> Option<Form> {
        use Form::*;
        [None, Uniform, Even, Tiles, Listed].get((self.0 >> 60) as usize).copied()
    }
}

/// Machine instructions at a time that are many.
const MANY: u16 = 16;

/// Machine instructions that were executed ahead, in order.
#[derive(Debug)]
pub(super) struct AheadQueue {
    /// With room for [`WORDS`], of which those that were never used are not touched.
    words: Vec<u64>,
    /// Where the first is; the last ends where the words do.
    taken: u16,
    /// Added since the words were used again, and the time before.
    added: u16,
    added_before: u16,
}

impl Default for AheadQueue {
    fn default() -> AheadQueue {
        AheadQueue { words: Vec::with_capacity(WORDS), taken: 0, added: 0, added_before: 0 }
    }
}

impl AheadQueue {
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.taken = 0;
        self.added_before = std::mem::take(&mut self.added);
    }

    /// Were many executed the last time?
    #[inline(always)]
    pub(super) fn were_many(&self) -> bool {
        self.added_before >= MANY
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        usize::from(self.taken) == self.words.len()
    }

    /// Whether one more can be added, of so many words at most: words are used again when all have been taken.
    #[inline(always)]
    fn has_room(&self, words: usize) -> bool {
        self.words.len() + words <= WORDS
    }

    /// What was added and not taken.
    pub(super) fn words(&self) -> &[u64] {
        self.words.get(usize::from(self.taken)..).unwrap_or_default()
    }

    #[inline(always)]
    fn head(&self) -> Option<Head> {
        self.words.get(usize::from(self.taken)).map(|word| Head(*word))
    }

    /// Position of the first one.
    #[inline(always)]
    pub(super) fn position(&self) -> Option<u32> {
        self.head().map(Head::position)
    }

    /// Takes the first one, and tells what it did; false if there is none.
    #[inline(always)]
    pub(super) fn take(&mut self, execution: &mut Execution) -> bool {
        let Some(head) = self.head() else { return false };
        execution.active = head.active();
        (execution.stride, execution.deferred, execution.sleep) = (None, None, 0);
        execution.texels.clear();
        self.taken += 1;
        if let Some(form) = head.form()
            && form != Form::None
        {
            execution.space = head.space().unwrap_or(MemorySpace::Global);
            let words = self.words();
            execution.stride = tell(form, words, head.active(), &mut execution.addresses);
            self.taken += form.words(head.active()).min(words.len()) as u16;
        }
        if self.is_empty() {
            self.clear();
        }
        true
    }

    /// Adds one without access; there is room.
    #[inline(always)]
    pub(super) fn add(&mut self, position: u32, active: LaneMask) {
        self.added += 1;
        self.words.push(Head::new(position, active, MemorySpace::Global, Form::None).0);
    }

    /// Adds an access; there is room.
    pub(super) fn add_access(&mut self, position: u32, execution: &Execution) {
        let Execution { active, space, ref addresses, .. } = *execution;
        let [first, second, ..] = *addresses;
        let stride = second.wrapping_sub(first);
        let odd = addresses.chunks_exact(TILE).flat_map(|tile| tile.iter().zip(&tile[1..]));
        let odd = odd.fold(0, |odd, (one, next)| odd | (next.wrapping_sub(*one) ^ stride));
        let firsts: [u64; TILES] = std::array::from_fn(|tile| addresses[tile * TILE]);
        let of_tile = stride.wrapping_mul(TILE as u64);
        let is_even = firsts.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == of_tile);
        let form = match (odd == 0, is_even) {
            (true, true) if stride == 0 => Form::Uniform,
            (true, true) => Form::Even,
            (true, false) => Form::Tiles,
            _ => Form::Listed,
        };
        self.added += 1;
        self.words.push(Head::new(position, active, space, form).0);
        match form {
            Form::None => {}
            Form::Uniform => self.words.push(first),
            Form::Even => self.words.extend([first, stride]),
            Form::Tiles => self.words.extend([stride].into_iter().chain(firsts)),
            Form::Listed => self.words.extend(lanes_of(active).map(|lane| addresses[lane])),
        }
    }

    /// One with words that were checked.
    pub(super) fn restored(words: &[u64]) -> AheadQueue {
        let mut queue = AheadQueue::default();
        queue.words.extend_from_slice(words);
        queue
    }
}

impl Step<'_, '_> {
    /// Executes what comes next as far as it needs nothing of others; `told` is scratch.
    pub(super) fn go_ahead(&mut self, told: &mut Execution) -> Result<(), FaultKind> {
        if self.ahead.were_many() {
            self.foresee_frame();
        }
        while self.standing == Standing::Ready && self.pending.is_empty() {
            let position = self.machine.places[self.w.pc as usize].position();
            match self.machine.needs(position) {
                Needs::Registers if self.ahead.has_room(1) => {
                    let active = self.execute_silently(position)?;
                    self.ahead.add(position, active);
                }
                Needs::Memory if self.ahead.has_room(LONGEST) => {
                    self.execute_instruction(position, told)?;
                    match told.active {
                        0 => self.ahead.add(position, 0),
                        _ => self.ahead.add_access(position, told),
                    }
                }
                _ => break,
            }
            self.settle()?;
        }
        Ok(())
    }

    /// Executes the ops of the machine instruction that the warp stands before, at this position, of which nothing is told
    /// but the lanes that execute.
    #[inline(always)]
    fn execute_silently(&mut self, position: u32) -> Result<u32, FaultKind> {
        loop {
            let pc = self.w.pc;
            let active = self.guarded();
            self.execute(active)?;
            let goes_on = self.standing == Standing::Ready && self.w.pc == pc + 1;
            if !goes_on || self.machine.places[self.w.pc as usize].position() != position {
                return Ok(active);
            }
        }
    }
}

/// Lanes' addresses, from words in a form; gives how far they are apart in each tile, if that is always the same.
#[inline(always)]
fn tell(form: Form, words: &[u64], active: LaneMask, addresses: &mut [u64; WARP]) -> Option<u64> {
    match (form, words) {
        (Form::Uniform, [first, ..]) => {
            *addresses = [*first; WARP];
            Some(0)
        }
        (Form::Even, [first, stride, ..]) => {
            spread(*first, *stride, addresses);
            Some(*stride)
        }
        (Form::Tiles, [stride, firsts @ ..]) => {
            for (tile, first) in addresses.chunks_exact_mut(TILE).zip(firsts) {
                spread(*first, *stride, tile);
            }
            Some(*stride)
        }
        (Form::Listed, listed) => {
            lanes_of(active).zip(listed).for_each(|(lane, address)| addresses[lane] = *address);
            None
        }
        _ => None,
    }
}

#[inline(always)]
fn spread(first: u64, stride: u64, addresses: &mut [u64]) {
    let mut next = first;
    for address in addresses {
        *address = next;
        next = next.wrapping_add(stride);
    }
}

/// Checks that words which come from outside tell of instructions of the code.
pub(super) fn check(words: &[u64], code: &[MachineInstruction]) -> Result<(), &'static str> {
    if words.len() > WORDS {
        return Err("a warp that has executed more ahead than it can");
    }
    let mut rest = words;
    while let [head, behind @ ..] = rest {
        let head = Head(*head);
        let (Some(form), Some(_)) = (head.form(), head.space()) else {
            return Err("a warp that has executed ahead what there is not");
        };
        let Some(instruction) = code.get(head.position() as usize) else {
            return Err("a warp that has executed ahead what there is not");
        };
        if instruction.memory.is_some() && head.active() != 0 && form == Form::None {
            return Err("a warp that has accessed memory nowhere");
        }
        rest = behind
            .get(form.words(head.active())..)
            .ok_or("a warp that has accessed memory at fewer addresses than it has lanes")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of an access of lanes at addresses.
    fn told(active: LaneMask, address: impl Fn(u64) -> u64) -> Execution {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        Execution { active, space: MemorySpace::Shared, addresses, ..Execution::default() }
    }

    #[test]
    fn what_was_executed_ahead_is_taken_in_order() {
        let mut queue = AheadQueue::default();
        for start in [0, POSITIONS - 1000] {
            let mut added = 0;
            while queue.has_room(1) {
                queue.add(start + added, added);
                added += 1;
            }
            let mut execution = Execution::default();
            for number in 0..added {
                assert_eq!(queue.position(), Some(start + number));
                assert!(queue.take(&mut execution));
                assert_eq!(execution.active, number);
            }
            assert!(queue.is_empty() && !queue.take(&mut execution));
        }
    }

    #[test]
    fn each_space_is_told_as_it_was() {
        use MemorySpace::*;
        for space in [Global, Shared, Local, Constant, Texture, Generic] {
            let mut queue = AheadQueue::default();
            queue.add_access(POSITIONS - 1, &Execution { space, ..told(1, |lane| lane * lane) });
            let mut execution = Execution::default();
            assert!(queue.position() == Some(POSITIONS - 1) && queue.take(&mut execution));
            assert_eq!(execution.space, space);
        }
    }

    #[test]
    fn addresses_of_active_lanes_are_told_as_they_were() {
        let accesses = [
            (told(u32::MAX, |_| 0x7000), 2, Some(0)),
            (told(u32::MAX, |lane| 0x7000 + 4 * lane), 3, Some(4)),
            (told(7, |lane| 0x7000 - 64 * lane), 3, Some(-64)),
            (told(u32::MAX, |lane| lane << 40), 3, Some(1 << 40)),
            (told(u32::MAX, |lane| 0x7000 + lane / 16 * 4096), 6, Some(0)),
            (told(0xff00, |lane| 0x7000 + lane / 8 * 4096 + lane % 8 * 16), 6, Some(16)),
            (told(0xffff, |lane| if lane == 31 { 8 } else { 0x7000 }), 17, None),
            (told(u32::MAX, |lane| lane * lane), 33, None),
            (told(0x8000_0101, |lane| 3 * lane * lane), 4, None),
            (told(0, |lane| lane * lane), 1, None),
        ];
        for (access, words, stride) in accesses {
            let mut queue = AheadQueue::default();
            queue.add(6, 1);
            queue.add_access(7, &access);
            assert_eq!(queue.words().len(), 1 + words, "{access:?}");
            for mut queue in [AheadQueue::restored(queue.words()), queue] {
                let mut execution = Execution::default();
                assert!(queue.take(&mut execution) && queue.take(&mut execution) && queue.is_empty());
                assert_eq!((execution.active, execution.space), (access.active, access.space));
                for lane in lanes_of(access.active) {
                    assert_eq!(execution.addresses[lane], access.addresses[lane], "{access:?}");
                }
                assert_eq!(execution.stride.map(u64::cast_signed), stride, "{access:?}");
            }
        }
    }
}
