//! Misuse of barriers and warp-wide instructions.
//!
//! PTX demands that all threads of a warp execute an `.aligned` barrier together (manual 9.7.13.1). All
//! lanes of a member mask must execute its instruction, and the executing lane must be a member (9.7.13.8
//! and others). Exited lanes are exempt. A CTA barrier after the exit of threads is a warning, because the
//! barrier waits for the remaining threads only.

use std::sync::Arc;

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Control, Modifier, Op as Form, Parallel};

use super::report::{Finding, Key, Party, Severity};
use super::{Check, Checker, threads};
use crate::engine::address_translation::lanes_of;
use crate::engine::barrier::Barrier;
use crate::engine::grid::Grid;
use crate::engine::op::Flow;
use crate::engine::probe::{Probe, Site, Watch};
use crate::engine::warp_context::WarpContext;
use crate::fault::{Awaits, Fault};

/// Checks to perform at an instruction.
pub(super) fn watch(instruction: &Instruction) -> Option<Watch> {
    use Parallel::{
        bar_arrive, bar_red, bar_red_popc, bar_sync, bar_warp_sync, barrier_arrive, barrier_red,
        barrier_red_popc, barrier_sync, elect, match_all, match_any, redux, redux_float, shfl, vote,
        vote_ballot,
    };
    let form = match instruction.op {
        Form::Parallel(form) => form,
        Form::Control(Control::exit | Control::ret) => return Some(Watch::of(Arc::new(Exit))),
        _ => return None,
    };
    match form {
        bar_sync | bar_arrive | bar_red | bar_red_popc => {
            Some(Watch::of(Arc::new(aligned(instruction, form))))
        }
        barrier_sync | barrier_arrive | barrier_red | barrier_red_popc
            if instruction.has(Modifier::Aligned) =>
        {
            Some(Watch::of(Arc::new(aligned(instruction, form))))
        }
        bar_warp_sync | vote | vote_ballot | match_any | match_all | redux | redux_float | shfl | elect => {
            let mask = instruction.operands.len().checked_sub(1)?;
            Some(Watch { values: vec![mask], ..Watch::of(Arc::new(Members)) })
        }
        _ => None,
    }
}

fn aligned(instruction: &Instruction, form: Parallel) -> AlignedBarrier {
    let count = match form {
        Parallel::bar_sync | Parallel::bar_arrive | Parallel::barrier_sync | Parallel::barrier_arrive => 1,
        _ => 2,
    };
    AlignedBarrier { of_all: instruction.operands.get(count) == Some(&Operand::Absent) }
}

/// Barrier that only whole warps may execute.
#[derive(Debug)]
struct AlignedBarrier {
    /// True if the barrier waits for all threads of the CTA.
    of_all: bool,
}

impl Probe for AlignedBarrier {
    fn reached(&self, w: &mut WarpContext<'_>, site: &Site) -> Flow {
        if w.mask == w.divergence.live {
            w.divergence.torn = 0;
            let started = w.grid.shape.threads_per_cta();
            if self.of_all && w.cta.live_threads < started {
                add(w, site, "exited", |w| exited(w, site, started - w.cta.live_threads));
            }
        } else if w.divergence.torn == 0 {
            add(w, site, "partial", |w| partial(w, site));
        }
        Flow::Next
    }
}

/// Exit of threads while a CTA barrier waits.
#[derive(Debug)]
struct Exit;

impl Probe for Exit {
    fn reached(&self, w: &mut WarpContext<'_>, site: &Site) -> Flow {
        let ends = w.divergence.frame == 0;
        if ends && let Some(waiting) = w.cta.barriers.iter().map(Barrier::waiting_for_all).find(|&n| n > 0) {
            add(w, site, "exit", |w| {
                let title = "threads exit while others wait at a CTA barrier".to_owned();
                let mut finding = finding(w, site, Severity::Warning, title, w.mask);
                finding.details.push(format!("{waiting} threads wait; GPUs release them"));
                finding
            });
        }
        Flow::Next
    }
}

/// Warp-wide instruction with a member mask.
#[derive(Debug)]
struct Members;

impl Probe for Members {
    fn reached(&self, w: &mut WarpContext<'_>, site: &Site) -> Flow {
        let masks = site.value(w, 0);
        let guarded_off = w.active & !w.mask;
        let (mut unnamed, mut absent) = (0, 0);
        for lane in lanes_of(w.mask) {
            let members = masks[lane] as u32;
            unnamed |= !members & 1 << lane;
            absent |= members & guarded_off;
        }
        if unnamed != 0 {
            let mask = masks[unnamed.trailing_zeros() as usize & 31] as u32;
            add(w, site, "unnamed", |w| {
                let title = format!("the mask {mask:#010x} excludes the executing lane");
                finding(w, site, Severity::Error, title, unnamed)
            });
        }
        if absent != 0 {
            add(w, site, "absent", |w| {
                let title = "the mask includes lanes that do not execute the instruction".to_owned();
                let mut finding = finding(w, site, Severity::Error, title, w.mask);
                let others = threads::threads(w.grid, w.warp, absent);
                finding.details.push(format!("the predicate of {others} is false"));
                finding
            });
        }
        Flow::Next
    }
}

fn add(
    w: &WarpContext<'_>,
    site: &Site,
    kind: &'static str,
    describe: impl FnOnce(&WarpContext<'_>) -> Finding,
) {
    let Some(checker) = w.grid.owner.checker() else { return };
    let key = Key { kind, program: w.grid.program.number, sites: [site.number, 0] };
    let checker: &Checker = checker;
    checker.findings.add(w.grid, key, || describe(w));
}

fn finding(w: &WarpContext<'_>, site: &Site, severity: Severity, title: String, lanes: u32) -> Finding {
    Finding {
        check: Check::Barriers,
        severity,
        title,
        kernel: Some(w.grid.program.kernel().name.clone()),
        launch: None,
        parties: vec![Party {
            role: "executed".to_owned(),
            threads: threads::threads(w.grid, w.warp, lanes),
            cta: w.cta.id,
            spot: w.grid.program.spot_of(site),
        }],
        details: Vec::new(),
        host: Vec::new(),
    }
}

/// Finding for a barrier executed by part of a warp.
fn partial(w: &WarpContext<'_>, site: &Site) -> Finding {
    let title = "part of a warp executes an aligned barrier".to_owned();
    let mut finding = finding(w, site, Severity::Error, title, w.mask);
    let guarded_off = w.active & !w.mask;
    if guarded_off != 0 {
        let others = threads::threads(w.grid, w.warp, guarded_off);
        finding.details.push(format!("the predicate of {others} is false"));
    }
    for (pc, lanes, awaits) in w.divergence.waiting() {
        finding.parties.push(Party {
            role: doing(awaits).to_owned(),
            threads: threads::threads(w.grid, w.warp, lanes),
            cta: w.cta.id,
            spot: w.grid.program.spot_at(pc),
        });
    }
    finding
}

fn exited(w: &WarpContext<'_>, site: &Site, count: u32) -> Finding {
    let title = "a CTA barrier is executed after threads have exited".to_owned();
    let mut finding = finding(w, site, Severity::Warning, title, w.mask);
    finding.details.push(format!("{count} threads of the CTA have exited; GPUs do not wait for them"));
    finding
}

fn doing(awaits: Awaits) -> &'static str {
    match awaits {
        Awaits::Nothing => "about to be executed",
        Awaits::Barrier(_) => "waited for the CTA",
        Awaits::Lanes(_) => "waited for lanes of the warp",
    }
}

/// Deadlock of a CTA: waiting threads and their instructions.
pub(super) fn deadlock(grid: &Grid<'_>, fault: &Fault) -> Finding {
    let mut details = Vec::new();
    let mut parties: Vec<Party> = Vec::new();
    for waiting in &fault.waiting {
        let role = match waiting.awaits {
            Awaits::Barrier(id) => format!("waited for at barrier {id}"),
            awaits => doing(awaits).to_owned(),
        };
        let threads = threads::threads(grid, waiting.warp, waiting.lanes);
        match parties.iter_mut().find(|party| party.role == role && party.spot == waiting.spot) {
            Some(party) => {
                party.threads += " and ";
                party.threads += &threads;
            }
            None => parties.push(Party { role, threads, cta: fault.cta, spot: waiting.spot.clone() }),
        }
        if let Awaits::Lanes(missing) = waiting.awaits
            && missing != 0
        {
            details.push(format!("missing: {}", threads::threads(grid, waiting.warp, missing)));
        }
    }
    let live: u32 = fault.waiting.iter().map(|waiting| waiting.lanes.count_ones()).sum();
    details.push(format!("{live} threads of the CTA have not exited"));
    Finding {
        check: Check::Barriers,
        severity: Severity::Error,
        title: fault.kind.to_string(),
        kernel: Some(fault.kernel.clone()),
        launch: None,
        parties,
        details,
        host: Vec::new(),
    }
}
