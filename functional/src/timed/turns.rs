//! Simplest timing model: warps issue one instruction each in turn, and a cycle is a turn of all warps.
//! Used for tests of sources, and for stepped execution without timing.

use warp_stream::{Execution, KernelSource, Moment, Next, Residence, SourceError, WarpSlot, WarpSource};

/// Order of warps and deferred ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Warps in turn; deferred ops are performed after each turn, in order.
    InTurn,
    /// As in turn, but a warp keeps its turn for up to [`BURST`] instructions. The warp's registers then
    /// enter the host's caches once for many instructions.
    InBursts,
    /// Random order with this seed. SMs buffer their stores for some turns, if they can.
    Random(u64),
}

/// Instructions of a turn in [`Order::InBursts`]: a spinning warp must yield.
const BURST: u32 = 256;

/// An issued instruction.
#[derive(Debug)]
pub struct Issued<'e> {
    /// CTA of the grid, x fastest.
    pub cta: u64,
    /// Warp within the CTA.
    pub warp: u32,
    /// Position in the kernel's code.
    pub position: u32,
    /// Effects of the instruction.
    pub execution: &'e Execution,
}

/// Reason for which a kernel did not end.
#[derive(Debug, thiserror::Error)]
pub enum TurnsError {
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Deadlock: all warps wait, and no op is deferred.
    #[error("deadlock: all warps wait, and no op is deferred")]
    Stuck,
}

/// Marker of a free slot.
const EMPTY: u64 = u64::MAX;

/// A warp of an SM.
#[derive(Debug, Clone, Copy)]
struct Turn {
    sm: usize,
    slot: usize,
    warp: u32,
}

struct Sm<'s> {
    warps: Box<dyn WarpSource + 's>,
    /// CTA of each slot, and number of its unfinished warps.
    slots: Vec<(u64, u32)>,
    deferred: Vec<u32>,
}

/// Executes a kernel on `sms` SMs and reports each instruction to `issued`. Each SM has room for a number
/// of CTAs (all CTAs of a cooperative launch).
pub fn execute(
    source: &dyn KernelSource,
    (sms, ctas): (u32, u32),
    order: Order,
    mut issued: impl FnMut(Issued<'_>),
) -> Result<(), TurnsError> {
    let kernel = source.kernel();
    let warps = kernel.shape.warps_per_cta();
    let ctas = if kernel.cooperative { kernel.shape.cta_count().div_ceil(sms.into()) as u32 } else { ctas };
    let mut waiting = (0..source.cta_count()).map(|position| source.cta(position));
    let slots = vec![(EMPTY, 0); ctas as usize];
    let holds = matches!(order, Order::Random(_)) && !source.needs_sm_order();
    let sm = |number| Sm { warps: source.warps(number), slots: slots.clone(), deferred: Vec::new() };
    let mut sms: Vec<Sm<'_>> = (0..sms).map(sm).collect();
    if holds {
        sms.iter_mut().for_each(|sm| sm.warps.hold_stores());
    }
    let mut turns = Vec::new();
    for slot in 0..ctas as usize {
        for (number, sm) in sms.iter_mut().enumerate() {
            turns.extend((0..warps).map(|warp| Turn { sm: number, slot, warp }));
            sm.fill(slot, number, warps, &mut waiting)?;
        }
    }
    let mut dice = Dice::of(order);
    let mut execution = Execution::default();
    for turn in 0.. {
        let cycle = if order == Order::InBursts { turn * u64::from(BURST) } else { turn };
        let now = Moment { cycle, nanoseconds: cycle };
        let mut progress = false;
        dice.shuffle(&mut turns);
        for turn in &turns {
            let Turn { sm: number, slot, warp } = *turn;
            let sm = &mut sms[number];
            let (cta, _) = sm.slots[slot];
            if cta == EMPTY {
                continue;
            }
            if dice.skips() {
                progress = true;
                continue;
            }
            let place = WarpSlot { cta: slot as u32, warp };
            let Sm { warps, deferred, .. } = sm;
            let mut count = 0;
            let mut issued = |position, execution: &Execution| {
                count += 1;
                deferred.extend(execution.deferred);
                issued(Issued { cta, warp, position, execution });
            };
            let next = match order {
                Order::InBursts => warps.issue_many(place, (now, BURST), &mut execution, &mut issued)?,
                Order::InTurn | Order::Random(_) => match warps.next(place)? {
                    Next::Instruction(position) => {
                        let next = warps.issue_and_ask(place, now, &mut execution)?;
                        issued(position, &execution);
                        next
                    }
                    next => next,
                },
            };
            progress |= count > 0;
            if count > 0 && next == Next::Finished {
                sm.slots[slot].1 -= 1;
            }
        }
        if dice.skips() {
            continue;
        }
        sms.iter_mut().try_for_each(|sm| sm.warps.publish(u64::MAX))?;
        for (number, sm) in sms.iter_mut().enumerate() {
            progress |= sm.perform(&mut dice, now)?;
            for slot in 0..sm.slots.len() {
                if sm.slots[slot].1 == 0 && sm.deferred.is_empty() {
                    progress |= sm.fill(slot, number, warps, &mut waiting)?;
                }
            }
        }
        if sms.iter().all(Sm::is_idle) {
            break;
        }
        if !progress {
            return Err(TurnsError::Stuck);
        }
    }
    Ok(())
}

impl Sm<'_> {
    /// Ends the CTA in a slot and starts the next one there.
    fn fill(
        &mut self,
        slot: usize,
        number: usize,
        warps: u32,
        waiting: &mut impl Iterator<Item = u64>,
    ) -> Result<bool, SourceError> {
        if self.slots[slot].0 != EMPTY {
            self.warps.end_cta(slot as u32);
        }
        let next = waiting.next();
        self.slots[slot] = (next.unwrap_or(EMPTY), if next.is_some() { warps } else { 0 });
        let Some(cta) = next else { return Ok(false) };
        let residence = Residence { sm: number as u32, first_warp: slot as u32 * warps };
        self.warps.start_cta(slot as u32, cta, residence)?;
        Ok(true)
    }

    fn perform(&mut self, dice: &mut Dice, now: Moment) -> Result<bool, SourceError> {
        let any = !self.deferred.is_empty();
        dice.shuffle(&mut self.deferred);
        for number in std::mem::take(&mut self.deferred) {
            if dice.skips() {
                self.deferred.push(number);
            } else {
                self.warps.perform(number, now)?;
            }
        }
        Ok(any)
    }

    fn is_idle(&self) -> bool {
        self.deferred.is_empty() && self.slots.iter().all(|&(cta, _)| cta == EMPTY)
    }
}

/// Random generator (xorshift64), or none.
struct Dice(Option<u64>);

impl Dice {
    fn of(order: Order) -> Dice {
        match order {
            Order::InTurn | Order::InBursts => Dice(None),
            Order::Random(seed) => Dice(Some(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)),
        }
    }

    /// Random number below `limit`, with a random generator.
    fn throw(&mut self, limit: usize) -> Option<usize> {
        let state = self.0.as_mut()?;
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        Some((*state >> 32) as usize % limit.max(1))
    }

    fn skips(&mut self) -> bool {
        self.throw(3) == Some(0)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let Some(other) = self.throw(at + 1) else { return };
            items.swap(at, other);
        }
    }
}
