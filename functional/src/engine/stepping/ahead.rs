//! Run-ahead queue: compact records of instructions that a warp executed ahead. The host's caches hold the
//! queues of all warps of all SMs.

use warp_stream::{Execution, LaneMask, MachineInstruction, MemorySpace};

use super::{Standing, WARP, WarpStep};
use crate::engine::address_translation::lanes_of;
use crate::engine::machine::{Machine, Needs};
use crate::fault::FaultKind;

/// Capacity in words. A larger queue brings the warp's registers into the host's caches less often.
const WORDS: usize = 384;
/// Maximum words of a machine instruction: a head, and an address per lane.
const LONGEST: usize = 1 + WARP;
/// Code positions that fit into a head.
const POSITIONS: u32 = Machine::EARLY_POSITIONS;
/// Lanes whose addresses are encoded together: the groups of eight of [`Execution::stride`].
const TILE: usize = 8;
const TILES: usize = WARP / TILE;

/// Encoding of an access's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// No access.
    None,
    /// One address for all lanes, in one word.
    Uniform,
    /// First address and a common stride.
    Even,
    /// Stride within tiles, and each tile's first address.
    Tiles,
    /// Addresses of the active lanes.
    Listed,
}

impl Form {
    /// Words after the head.
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

/// Head of a machine instruction: active lanes (32 bits), position (25), space (3), form (4).
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

/// Instructions per run that count as many.
const MANY: u16 = 16;

/// Machine instructions executed ahead, in order.
#[derive(Debug)]
pub(super) struct AheadQueue {
    /// [`WORDS`] words; unused ones are never touched.
    words: Vec<u64>,
    /// Start of the first instruction; the last ends at the end of `words`.
    taken: u16,
    /// Instructions added in the current run and the run before.
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

    /// True if many instructions ran ahead the last time.
    #[inline(always)]
    pub(super) fn were_many(&self) -> bool {
        self.added_before >= MANY
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        usize::from(self.taken) == self.words.len()
    }

    /// True if an instruction of up to `words` words fits. Words are reused once all instructions are
    /// taken.
    #[inline(always)]
    fn has_room(&self, words: usize) -> bool {
        self.words.len() + words <= WORDS
    }

    /// Words added and not taken.
    pub(super) fn words(&self) -> &[u64] {
        self.words.get(usize::from(self.taken)..).unwrap_or_default()
    }

    #[inline(always)]
    fn head(&self) -> Option<Head> {
        self.words.get(usize::from(self.taken)).map(|word| Head(*word))
    }

    /// Position of the first instruction.
    #[inline(always)]
    pub(super) fn position(&self) -> Option<u32> {
        self.head().map(Head::position)
    }

    /// Takes the first instruction and reports its effects; false if the queue is empty.
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

    /// Adds an instruction without an access; there is room.
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

    /// Restores a queue from checked words.
    pub(super) fn restored(words: &[u64]) -> AheadQueue {
        let mut queue = AheadQueue::default();
        queue.words.extend_from_slice(words);
        queue
    }
}

impl WarpStep<'_, '_> {
    /// Executes the following instructions as long as they depend on no other warp; `told` is scratch.
    pub(super) fn go_ahead(&mut self, told: &mut Execution) -> Result<(), FaultKind> {
        if self.ahead.were_many() {
            self.prefetch_host_frame();
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

    /// Executes the ops of the machine instruction at `position` and reports only the executing lanes.
    #[inline(always)]
    pub(super) fn execute_silently(&mut self, position: u32) -> Result<u32, FaultKind> {
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

/// Decodes the lanes' addresses; returns the common stride within tiles, if known.
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

/// Checks that untrusted words describe instructions of the code.
pub(super) fn check(words: &[u64], code: &[MachineInstruction]) -> Result<(), &'static str> {
    if words.len() > WORDS {
        return Err("a run-ahead queue beyond its capacity");
    }
    let mut rest = words;
    while let [head, behind @ ..] = rest {
        let head = Head(*head);
        let (Some(form), Some(_)) = (head.form(), head.space()) else {
            return Err("a run-ahead queue with an unknown instruction");
        };
        let Some(instruction) = code.get(head.position() as usize) else {
            return Err("a run-ahead queue with an unknown instruction");
        };
        if instruction.memory.is_some() && head.active() != 0 && form == Form::None {
            return Err("a run-ahead queue with an unknown memory space");
        }
        rest = behind.get(form.words(head.active())..).ok_or("a run-ahead queue with missing addresses")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Effects of an access by lanes at addresses.
    fn told(active: LaneMask, address: impl Fn(u64) -> u64) -> Execution {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        Execution { active, space: MemorySpace::Shared, addresses, ..Execution::default() }
    }

    #[test]
    fn run_ahead_queue_is_first_in_first_out() {
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
    fn memory_spaces_round_trip() {
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
    fn addresses_of_active_lanes_round_trip() {
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
