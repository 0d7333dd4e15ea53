//! Effects of issuing an instruction.

use std::hint::cold_path;

use warp_stream::{AccessKind, CacheOperator, Execution, MemoryOperation, MemorySpace, OperationClass};

use super::memory::{self, MemoryIssue, MemoryUnit, SUB_CORES};
use super::program::{Kind, Program};
use super::sub_core::ISSUE_TO_DISPATCH;
use super::warp::Status;
use super::{Deferred, FinishedCta, InFlight, Sm, SmFault, Source, State};
use crate::fidelity::{Arithmetic, LoadStore};
use crate::slab::NONE;
use crate::specification::GpuSpec;

/// Placeholder for accesses of traces without operation details.
const UNTOLD: MemoryOperation = MemoryOperation {
    space: MemorySpace::Global,
    kind: AccessKind::Load,
    width: 4,
    cache: CacheOperator::Default,
};

/// An instruction being issued.
struct Issued<'e> {
    /// Warp slot.
    slot: usize,
    cycle: u64,
    /// Position in the kernel's code.
    position: u32,
    /// Result of its execution.
    execution: &'e Execution,
    /// Number of its deferred effect, if any.
    deferred: Option<u32>,
}

impl Sm {
    /// Issues a warp's next instruction.
    pub(super) fn issue(
        &mut self,
        slot: usize,
        cycle: u64,
        sources: &mut [Option<Source<'_>>],
        finished: &mut Vec<FinishedCta>,
    ) -> Result<(), Box<SmFault>> {
        let name = self.name(slot);
        let cta = name.cta as usize;
        let position = self.state.warps[slot].buffer.from;
        let now = self.moment(cycle);
        let Some(program) = self.programs[cta].as_deref() else { return Ok(()) };
        let decoded = &program.instructions()[position as usize];
        let class = decoded.class;
        let is_access = decoded.kind == Kind::Memory;
        let source = self.source(cta, sources)?;
        let issued = source.issue_and_ask(name, now, &mut self.execution);
        let next = issued.map_err(|error| self.fault(name, cycle, error))?;
        let Execution { active, deferred, sleep, .. } = self.execution;
        self.state.counters.instructions.count(class, active);
        self.state.counters.activity.ptx_instructions += u64::from(decoded.ptx);
        self.state.ctas[name.cta as usize].instructions += 1;
        let deferred = deferred.map(|number| self.state.defer(name.cta as u8, name.warp as u16, number));
        let issued = Issued { slot, cycle, position, execution: &self.execution, deferred };
        let accesses = self.pc_profile.is_some().then(|| self.memory.access_sums());
        let is_performed = self.state.occupy(&self.gpu, program, issued, &mut self.memory);
        if let Some(before) = accesses {
            self.count_pc(cta, position, active, &before);
        }
        if let Some(deferred) = deferred.filter(|_| !is_access) {
            cold_path();
            self.take_effect(cycle, deferred, sources)?;
        }
        let warp = &mut self.state.warps[slot];
        if sleep > 0 {
            cold_path();
            let cycles = (u64::from(sleep) * u64::from(self.gpu.clocks.core)).div_ceil(1000);
            warp.not_before = warp.not_before.max(cycle + cycles);
            warp.stall_reason = Status::Sleep;
        }
        warp.buffer.from += 1;
        if let Some(program) = &self.programs[cta] {
            let fetch = &mut self.state.sub_cores[slot % SUB_CORES].fetch;
            fetch.update(&self.gpu.front_end, program, (slot / SUB_CORES) as u32, &warp.buffer);
        }
        let waits = match deferred {
            Some(_) if !is_access => self.ask(slot, cycle, sources)?,
            _ => self.go_on(slot, cycle, next)?,
        };
        if let Some(deferred) = deferred.filter(|_| is_performed) {
            cold_path();
            self.take_effect(cycle, deferred, sources)?;
        }
        // A warp that waits at a barrier has not completed it.
        if class == OperationClass::Exit || (class == OperationClass::Barrier && !waits) {
            let resume = cycle + u64::from(self.gpu.latency.barrier);
            self.ask_waiting(cta, cycle, resume, sources)?;
        }
        if class == OperationClass::Exit {
            self.end_cta_if_done(cta, cycle, sources, finished)?;
        }
        Ok(())
    }
}

impl State {
    /// Reserves the resources of an instruction and schedules its results. Returns whether a
    /// deferred effect takes place at once.
    // Not inlined: the surrounding function is long enough.
    #[inline(never)]
    fn occupy(
        &mut self,
        gpu: &GpuSpec,
        program: &Program,
        issued: Issued<'_>,
        memory: &mut MemoryUnit,
    ) -> bool {
        let Issued { slot, cycle, position, execution, deferred } = issued;
        let decoded = &program.instructions()[position as usize];
        let State { warps, sub_cores, ctas, in_flight, counters, stores: store_slab, .. } = self;
        let warp = &mut warps[slot];
        let cta = usize::from(warp.cta);
        let sub_core = &mut sub_cores[slot % SUB_CORES];
        let counters = &mut counters.operands;
        let local = (slot / SUB_CORES) as u32;
        let mut reads = decoded.reads;
        let last = sub_core.last_issued.replace((local, position));
        if gpu.operands.reuse && last == position.checked_sub(1).map(|before| (local, before)) {
            counters.reused += decoded.reused.total();
            reads = reads.without(decoded.reused);
        }
        let arithmetic = gpu.fidelity.arithmetic;
        let mut read = cycle + 1;
        if arithmetic == Arithmetic::Detailed {
            read = sub_core.ports.read(read, reads);
            counters.reads += reads.total();
            counters.read_conflicts += read - (cycle + 1);
        }
        let unit = &mut sub_core.units[decoded.unit as usize];
        let mut dispatch = (*unit).max(read + 1);
        let results = program.results(decoded);
        let mut is_performed = false;
        let collected = match decoded.kind {
            Kind::Fixed if arithmetic != Arithmetic::Detailed => {
                let written;
                (dispatch, written) =
                    gpu.result_bus.reserve_simply(arithmetic, &mut sub_core.ports, dispatch, decoded.latency);
                warp.scoreboard.set(results, written + 1);
                if decoded.lags != [0; 2] {
                    results
                        .iter()
                        .for_each(|&result| warp.scoreboard.lag(result, program.lag(decoded, result)));
                }
                dispatch
            }
            Kind::Fixed => {
                let ports = &mut sub_core.ports;
                let after = warp.operands_read + 1;
                let wanted = dispatch;
                let (taken, written) =
                    gpu.result_bus.reserve(ports, wanted, decoded.latency, after, decoded.writes);
                dispatch = taken;
                counters.writes += decoded.writes.total();
                counters.write_conflicts += taken - wanted;
                warp.scoreboard.set(results, written + 1);
                if decoded.lags != [0; 2] {
                    results
                        .iter()
                        .for_each(|&result| warp.scoreboard.lag(result, program.lag(decoded, result)));
                }
                dispatch
            }
            Kind::Memory => {
                warp.scoreboard.set_unknown(results);
                warp.accesses += 1;
                ctas[cta].accesses += 1;
                let Execution { active, space, addresses, stride, texels, .. } = execution;
                let told = decoded.memory.unwrap_or(UNTOLD);
                let is_generic = told.space == MemorySpace::Generic;
                if decoded.atomic && !(is_generic && *space == MemorySpace::Shared) {
                    cold_path();
                    warp.next_atomic = cycle + gpu.atomic.interval(*active, addresses);
                }
                let is_store = decoded.class == OperationClass::Store && deferred.is_none();
                let stores = is_store.then_some(ctas[cta].stores);
                let under_way = InFlight { slot: slot as u8, position, access: NONE, deferred, stores };
                let mut issue = MemoryIssue {
                    instruction: NONE,
                    sub_core: (slot % SUB_CORES) as u8,
                    warp: slot as u8,
                    class: decoded.class,
                    operation: MemoryOperation {
                        space: if is_generic { *space } else { told.space },
                        ..told
                    },
                    active: *active,
                    addresses,
                    stride: *stride,
                    texels,
                    deferred,
                    rates: program.rates(position).map(|rates| (position, rates)),
                };
                if gpu.fidelity.load_store == LoadStore::Analytical {
                    let memory::Issued { granted, result } = memory.issue_analytically(dispatch, &issue);
                    match result {
                        Ok(ready) => {
                            is_performed = deferred.is_some();
                            warp.scoreboard.set(results, ready + 1);
                            warp.accesses -= 1;
                            ctas[cta].accesses -= 1;
                        }
                        Err(access) => {
                            let instruction = in_flight.insert(under_way);
                            memory.name(access, instruction);
                            if let Some(number) = stores {
                                store_slab.begin(number);
                                ctas[cta].accesses -= 1;
                                ctas[cta].stores_leave = dispatch + u64::from(gpu.cta.store);
                            }
                        }
                    }
                    sub_core.full = memory.is_full();
                    // As many instructions wait for the data stage as the memory queue holds.
                    let queue = u64::from(gpu.issue.memory_queue * decoded.interval);
                    dispatch = dispatch.max(granted.saturating_sub(queue));
                } else {
                    let instruction = in_flight.insert(under_way);
                    issue.instruction = instruction;
                    in_flight[instruction].access = memory.coalesce(&issue);
                    sub_core.queue.push(dispatch, instruction);
                }
                read + 1
            }
            Kind::Control | Kind::Fence => {
                let end = cycle + u64::from(decoded.latency);
                warp.scoreboard.set(results, end);
                warp.not_before = end;
                warp.stall_reason = stall_reason(decoded.class);
                read + 1
            }
        };
        if arithmetic == Arithmetic::Detailed {
            sub_core.collectors.take(collected);
        }
        debug_assert!(dispatch >= cycle + ISSUE_TO_DISPATCH);
        if arithmetic.occupies_units(decoded.unit) {
            *unit = dispatch + u64::from(decoded.interval);
        }
        warp.operands_read = warp.operands_read.max(read);
        is_performed
    }
}

/// Wait state of a warp after a control instruction.
fn stall_reason(class: OperationClass) -> Status {
    match class {
        OperationClass::Branch | OperationClass::Exit => Status::Fetch,
        OperationClass::Barrier | OperationClass::WarpBarrier => Status::Barrier,
        _ => Status::Scoreboard,
    }
}

impl State {
    /// Registers a deferred instruction and returns its number.
    #[cold]
    fn defer(&mut self, cta: u8, warp: u16, number: u32) -> u32 {
        self.ctas[usize::from(cta)].deferred += 1;
        self.deferred.insert(Deferred { cta, warp, number })
    }
}
