//! SM state: saving, and restoring with validation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::memory::{self, Awaited, MemoryUnit, SUB_CORES, Unaccepted};
use super::occupancy::{Demand, Space};
use super::sub_core::SubCore;
use super::warp::Status;
use super::{InFlight, Program, Sm, State};
use crate::message::{MemoryReply, Requester};
use crate::restore::{
    MOST_COUNTED, Once, RestoreError, Validity, countable, ensure, near, near_or_never, of_unit,
};
use crate::specification::GpuSpec;

/// Mutable state of an SM.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SmState {
    core: State,
    memory: memory::State,
}

/// References from an SM to messages in flight outside it, to be found there.
#[derive(Debug)]
pub struct Expected {
    memory: Awaited,
    /// Deferred instructions not yet found inside the SM.
    deferred: Once,
}

impl Expected {
    /// Accounts for a reply on its way to the SM, or for `deferred`, which the memory side has yet
    /// to perform.
    pub(crate) fn find(&mut self, reply: &MemoryReply, deferred: Option<u32>) -> Validity {
        deferred.map_or(Ok(()), |number| self.deferred.reach(number))?;
        match reply.requester {
            Requester::Copy => Err("a copy's reply is in an SM"),
            // Instruction lines are not counted: an unrequested line is accepted too.
            requester if requester.is_instruction_cache() => Ok(()),
            _ => self.memory.find(reply),
        }
    }

    /// Checks that nothing is missing.
    pub(crate) fn all_found(&self) -> Validity {
        self.deferred.all()?;
        self.memory.all_found()
    }
}

/// Programs of the launches in flight, by launch number.
pub type Programs<'p> = &'p dyn Fn(u32) -> Option<Arc<Program>>;

impl Sm {
    /// The launch of each resident CTA, and of each ended CTA with outstanding stores.
    pub(crate) fn launches(&self) -> impl Iterator<Item = u32> {
        let State { ctas, stores, .. } = &self.state;
        let ended = stores.numbers().into_iter().filter_map(|number| stores[number].ended());
        ctas.iter().filter(|cta| cta.present).map(|cta| cta.launch).chain(ended.map(|cta| cta.launch))
    }

    /// A copy of the mutable state.
    pub fn state(&self) -> SmState {
        let mut core = self.state.clone();
        // Scoreboards of absent warps are reset before use.
        for warp in &mut core.warps {
            if !core.ctas[usize::from(warp.cta)].present {
                warp.scoreboard.clear();
            }
        }
        SmState { core, memory: self.memory.state().clone() }
    }

    /// Restores an SM at a core cycle. Returns its references to messages in flight.
    ///
    /// # Errors
    /// The state is invalid.
    pub(crate) fn restore(
        gpu: &Arc<GpuSpec>,
        number: u16,
        saved: SmState,
        now: u64,
        programs: Programs<'_>,
    ) -> Result<(Sm, Expected), RestoreError> {
        let mut sm = Sm::new(gpu, number);
        let SmState { core, mut memory } = saved;
        sm.state = core;
        let restored = sm.adopt(&mut memory, now, programs).map_err(of_unit(format!("SM {number}")));
        let expected = restored?;
        sm.memory = MemoryUnit::new(gpu, number).with(memory);
        Ok((sm, expected))
    }

    fn adopt(
        &mut self,
        memory: &mut memory::State,
        now: u64,
        programs: Programs<'_>,
    ) -> Result<Expected, &'static str> {
        let gpu = Arc::clone(&self.gpu);
        let state = &mut self.state;
        ensure(state.now <= now, "the clock differs")?;
        state.check_counts(&gpu)?;
        state.check_times(now)?;
        state.instructions.check(&gpu.front_end, now)?;
        self.programs = state.adopt_ctas(&gpu, programs)?;
        state.check_warps(&self.programs)?;
        for (number, sub_core) in state.sub_cores.iter_mut().enumerate() {
            let warps = &state.warps;
            sub_core.restore(&gpu, now, |local| warps.get(local as usize * SUB_CORES + number))?;
        }
        let mut found = Found::new(state)?;
        state.check_instructions(&self.programs)?;
        let unaccepted = state.unaccepted(&found)?;
        let Found { instructions, deferred } = &mut found;
        let of_sub_core = |number: u32, sub_core: u8| {
            instructions.reach(number)?;
            let slot = usize::from(state.in_flight[number].slot);
            ensure(slot % SUB_CORES == usize::from(sub_core), "an access belongs to another sub-core")
        };
        let deferred = |number| deferred.reach(number);
        let memory = memory.restore(&gpu, self.number, now, &unaccepted, of_sub_core, deferred)?;
        found.instructions.all()?;
        state.check_sums()?;
        Ok(Expected { memory, deferred: found.deferred })
    }
}

/// References found within the SM.
struct Found {
    /// Memory instructions in flight.
    instructions: Once,
    /// Deferred instructions.
    deferred: Once,
}

impl Found {
    fn new(state: &State) -> Result<Found, &'static str> {
        state.stores.places()?;
        Ok(Found { instructions: state.in_flight.places()?, deferred: state.deferred.places()? })
    }
}

impl State {
    fn check_counts(&self, gpu: &GpuSpec) -> Validity {
        countable(&self.counters)?;
        let shared = gpu.shared.sizes.last().copied().unwrap_or(0);
        ensure(self.shared <= shared, "the size of shared memory is too large")?;
        ensure(self.warps.len() == gpu.cta.warps as usize, "the number of warp slots differs")?;
        ensure(self.ctas.len() == gpu.cta.ctas as usize, "the number of CTA slots differs")
    }

    fn check_times(&self, now: u64) -> Validity {
        let since = self.warps_since <= now + 1 && self.active_since.is_none_or(|since| since <= now);
        ensure(since, "the start of activity is invalid")?;
        let parameters = self.parameters.iter().all(|parameters| near(parameters.ready, now));
        ensure(parameters, "parameters arrive too late")?;
        let next = near_or_never(self.instructions_next, now) && near_or_never(self.memory_next, now);
        let replies = self.instruction_replies.iter().all(|reply| near(reply.cycle, now));
        ensure(next && replies, "the next event is too late")
    }

    /// Reserves the resources of all CTAs and returns their programs.
    fn adopt_ctas(
        &mut self,
        gpu: &GpuSpec,
        programs: Programs<'_>,
    ) -> Result<Vec<Option<Arc<Program>>>, &'static str> {
        let mut space = Space::default();
        let adopt = |cta: &mut super::Cta| {
            if !cta.present {
                return Ok(None);
            }
            let program = programs(cta.launch).ok_or("a CTA belongs to no launch in flight")?;
            cta.adopt(gpu, &program, &mut space, self.shared)?;
            Ok(Some(program))
        };
        let programs = self.ctas.iter_mut().map(adopt).collect::<Result<Vec<_>, &'static str>>()?;
        self.space = space;
        ensure((self.cta_count() == 0) == self.active_since.is_none(), "the SM is active without a CTA")?;
        Ok(programs)
    }

    fn cta_count(&self) -> u32 {
        self.space.ctas()
    }

    /// The CTA slot that owns a warp slot.
    fn owner(&self, slot: usize) -> Option<usize> {
        let number = usize::from(self.warps.get(slot)?.cta);
        let cta = self.ctas.get(number)?;
        (cta.present && cta.slots().contains(&slot)).then_some(number)
    }

    fn check_warps(&self, programs: &[Option<Arc<Program>>]) -> Validity {
        for (number, (cta, program)) in self.ctas.iter().zip(programs).enumerate() {
            let Some(program) = program else { continue };
            let mut left = 0;
            for (slot, index) in cta.slots().zip(0..) {
                let warp = self.warps.get(slot).ok_or("a CTA has missing warps")?;
                let own = usize::from(warp.cta) == number && u32::from(warp.number) == index;
                ensure(own, "a warp belongs to another CTA")?;
                warp.check(program, self.now)?;
                left += u32::from(warp.status != Status::Absent);
            }
            ensure(cta.has_warps_left(left), "the number of running warps of a CTA differs")?;
        }
        self.warps.iter().enumerate().try_for_each(|(slot, warp)| {
            let absent = warp.status == Status::Absent && usize::from(warp.cta) < self.ctas.len();
            ensure(absent || self.owner(slot).is_some(), "a warp belongs to no CTA")
        })
    }

    /// Accesses that wait for operands.
    fn unaccepted(&self, found: &Found) -> Result<Vec<Unaccepted>, &'static str> {
        let mut unaccepted = Vec::new();
        for (sub_core, SubCore { queue, .. }) in self.sub_cores.iter().enumerate() {
            for &(_, instruction) in queue.iter() {
                let is_there =
                    instruction < self.in_flight.capacity() && !found.instructions.has(instruction);
                ensure(is_there, "a missing instruction waits for operands")?;
                let access = self.in_flight[instruction].access;
                unaccepted.push(Unaccepted { access, instruction, sub_core });
            }
        }
        Ok(unaccepted)
    }

    /// Checks that each memory instruction in flight belongs to a warp and CTA.
    fn check_instructions(&self, programs: &[Option<Arc<Program>>]) -> Validity {
        let stores: Vec<u32> = self.stores.numbers();
        for number in self.in_flight.numbers() {
            let InFlight { slot, position, stores: of, .. } = self.in_flight[number];
            ensure(usize::from(slot) < self.warps.len(), "an access belongs to no warp")?;
            ensure(of.is_none_or(|of| stores.binary_search(&of).is_ok()), "a store belongs to no CTA")?;
            if of.is_some_and(|of| self.stores[of].has_ended()) {
                continue;
            }
            let cta = self.owner(usize::from(slot)).ok_or("an access belongs to no CTA")?;
            let count = programs[cta].as_ref().map_or(0, |program| program.instructions().len());
            ensure((position as usize) < count, "an access belongs to no instruction")?;
            ensure(of.is_none_or(|of| self.ctas[cta].stores == of), "a store belongs to another CTA")?;
        }
        Ok(())
    }

    /// Checks the counts of instructions in flight in warps, CTAs and stores.
    fn check_sums(&self) -> Validity {
        let mut of_warps = vec![0_u32; self.warps.len()];
        let mut of_ctas = vec![0_u32; self.ctas.len()];
        let mut of_stores = vec![0_u32; self.stores.capacity() as usize];
        let mut queued = Once::new(self.in_flight.capacity() as usize);
        let queues = self.sub_cores.iter().flat_map(|sub_core| sub_core.queue.iter());
        queues.into_iter().try_for_each(|(_, instruction)| queued.reach(*instruction))?;
        for number in self.in_flight.numbers() {
            let InFlight { slot, stores, .. } = self.in_flight[number];
            let begun = !queued.has(number);
            if let Some(stores) = stores.filter(|_| begun) {
                of_stores[stores as usize] += 1;
            }
            if stores.is_some_and(|stores| self.stores[stores].has_ended()) {
                ensure(begun, "a CTA ended before its store")?;
            } else {
                of_warps[usize::from(slot)] += 1;
                let cta = usize::from(self.warps[usize::from(slot)].cta);
                of_ctas[cta] += u32::from(stores.is_none() || !begun);
            }
        }
        let mut of_deferred = vec![0_u32; self.ctas.len()];
        for number in self.deferred.numbers() {
            let deferred = &self.deferred[number];
            let warps = of_deferred.get_mut(usize::from(deferred.cta));
            *warps.ok_or("a deferred instruction belongs to no CTA")? += 1;
        }
        let mut stores = self.stores.places()?;
        for (cta, (accesses, deferred)) in self.ctas.iter().zip(of_ctas.iter().zip(of_deferred)) {
            if cta.present {
                stores.reach(cta.stores)?;
                let same = cta.accesses == *accesses && cta.deferred == deferred && !cta.is_done();
                ensure(same && cta.instructions < MOST_COUNTED, "the accesses in flight of a CTA differ")?;
                ensure(!self.stores[cta.stores].has_ended(), "stores belong to an ended CTA")?;
            } else {
                ensure(*accesses == 0 && deferred == 0, "an access belongs to no CTA")?;
            }
        }
        for number in self.stores.numbers() {
            let record = &self.stores[number];
            ensure(
                record.has_under_way(of_stores[number as usize]),
                "the number of stores in flight differs",
            )?;
            if record.has_ended() {
                stores.reach(number)?;
            }
        }
        stores.all()?;
        let mut warps = self.warps.iter().zip(of_warps).enumerate();
        // A free warp slot may have instructions that its former CTA did not wait for.
        let same = warps.all(|(slot, (warp, count))| self.owner(slot).is_none() || warp.accesses == count);
        ensure(same, "the accesses in flight of a warp differ")
    }
}

impl super::Cta {
    /// Reserves the CTA's resources in `space`.
    fn adopt(&mut self, gpu: &GpuSpec, program: &Program, space: &mut Space, shared: u32) -> Validity {
        self.demand = Demand::new(gpu, program);
        let first = self.first_warp;
        ensure(space.has_place(gpu, &self.demand, first, shared), "a CTA does not fit")?;
        space.take(&self.demand, first);
        Ok(())
    }
}
