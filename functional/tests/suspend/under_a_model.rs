//! Suspension of a launch under a timing model between two turns of all warps. The resumed launch issues
//! the same instructions in the same order.

use std::time::Duration;

use functional::device::Settings;
use functional::suspend::{Refusal, ResumeError, SuspendedLaunch};
use functional::timed::{Identity, LiveKernel, TimedResumeError, launch, launch_from};
use voltsim_checkpoint::codec;
use warp_stream::{Execution, KernelSource, Moment, Next, Residence, SourceError, WarpSlot, WarpSource};

use crate::bench::{Bench, Case, LIMIT, Memory, stepped, with_other_bits};
use crate::points::{ATOMIC, GRID_BARRIER, LOCK, cases};

/// Number of SMs, and CTAs per SM.
const SMS: u32 = 2;
const ROOM: u32 = 2;
/// Turns until a deferred op is performed.
const DELAY: u64 = 5;

const IDENTITY: Identity = Identity { launch: 1, stream: 0 };

/// State of the model: the CTA in each slot, and deferred ops with their times.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    turns: u64,
    started: u64,
    /// CTA in each slot of each SM.
    slots: Vec<Vec<Option<u64>>>,
    /// SM, number, and turn of each deferred op.
    deferred: Vec<(usize, u32, u64)>,
}

/// CTA, warp, position, lanes, first address.
type Line = (u64, u32, u32, u32, u64);

/// Executes a launch until a turn, or to its end; returns whether it ended.
fn run(
    model: &mut Model,
    source: &dyn KernelSource,
    until: u64,
    told: &mut Vec<Line>,
) -> Result<bool, SourceError> {
    let warps = source.kernel().shape.warps_per_cta();
    let room = if source.kernel().cooperative { source.cta_count() as usize } else { ROOM as usize };
    model.slots.resize(SMS as usize, vec![None; room]);
    let mut sms: Vec<Box<dyn WarpSource + '_>> = (0..SMS).map(|sm| source.warps(sm)).collect();
    let code = &source.kernel().code.instructions;
    let mut execution = Execution::default();
    while model.turns < until {
        model.turns += 1;
        let now = Moment { cycle: model.turns, nanoseconds: model.turns * 2 };
        for (sm, one) in sms.iter_mut().enumerate() {
            for slot in 0..room {
                if model.slots[sm][slot].is_none() && model.started < source.cta_count() {
                    let cta = source.cta(model.started);
                    model.started += 1;
                    model.slots[sm][slot] = Some(cta);
                    let residence = Residence { sm: sm as u32, first_warp: slot as u32 * warps };
                    one.start_cta(slot as u32, cta, residence)?;
                }
                let Some(cta) = model.slots[sm][slot] else { continue };
                for warp in 0..warps {
                    let place = WarpSlot { cta: slot as u32, warp };
                    let Next::Instruction(position) = one.next(place)? else { continue };
                    one.issue(place, now, &mut execution)?;
                    let accesses = code[position as usize].memory.is_some() && execution.active != 0;
                    let lane = execution.active.trailing_zeros() as usize;
                    let address = if accesses { execution.addresses[lane] } else { 0 };
                    told.push((cta, warp, position, execution.active, address));
                    let due = model.turns + DELAY;
                    model.deferred.extend(execution.deferred.map(|number| (sm, number, due)));
                }
            }
        }
        for (sm, number, _) in model.deferred.extract_if(.., |(_, _, due)| *due <= model.turns) {
            sms[sm].perform(number, now)?;
        }
        for (sm, one) in sms.iter_mut().enumerate() {
            for slot in 0..room {
                let mut ended = !model.deferred.iter().any(|(on, _, _)| *on == sm);
                for warp in 0..if model.slots[sm][slot].is_some() { warps } else { 0 } {
                    ended &= one.next(WarpSlot { cta: slot as u32, warp })? == Next::Finished;
                }
                if ended {
                    model.slots[sm][slot] = None;
                }
            }
        }
        let idle = model.slots.iter().flatten().all(Option::is_none);
        if idle && model.deferred.is_empty() && model.started == source.cta_count() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A launch between two turns: state of the model, encoded state of the launch, and memory.
#[derive(Clone)]
struct Stopped {
    model: Model,
    state: Vec<u8>,
    memory: Memory,
}

/// Resumes a case on a fresh device until a turn and records issued instructions; returns the memory at the
/// end.
fn go_on(case: &Case, from: Option<&Stopped>, until: u64, told: &mut Vec<Line>) -> Result<Memory, Stopped> {
    let bench = Bench::new(case);
    let mut model = from.map(|from| from.model.clone()).unwrap_or_default();
    let drive = |source: &LiveKernel<'_>| -> Result<Option<SuspendedLaunch>, SourceError> {
        let is_over = run(&mut model, source, until, told)?;
        Ok((!is_over).then(|| source.suspend().unwrap()))
    };
    let (device, program, config) = (&bench.device, &bench.program, bench.config.clone());
    let saved = match from {
        None => launch(device, program, config, IDENTITY, drive).unwrap(),
        Some(from) => {
            bench.restore(&from.memory);
            launch_from(device, program, config, &crate::bench::decode(&from.state), IDENTITY, drive).unwrap()
        }
    };
    match saved {
        None => Ok(bench.memory()),
        Some(saved) => Err(Stopped { model, state: codec::encode(&saved).unwrap(), memory: bench.memory() }),
    }
}

/// Instructions and memory of a case that is suspended every `every` turns.
fn in_parts(case: &Case, every: u64) -> (Vec<Line>, Memory, usize) {
    let (mut told, mut stops, mut stopped) = (Vec::new(), 0, None);
    loop {
        let until = every.saturating_mul(stops as u64 + 1);
        match go_on(case, stopped.as_ref(), until, &mut told) {
            Ok(memory) => return (told, memory, stops),
            Err(state) => stopped = Some(state),
        }
        stops += 1;
    }
}

fn assert_stops_do_not_matter(name: &str, case: &Case, every: &[u64]) {
    let (told, memory, _) = in_parts(case, u64::MAX);
    for &every in every {
        let (parts, left, stops) = in_parts(case, every);
        assert!(stops > 0, "{name} was not suspended");
        let differs = parts.iter().zip(&told).position(|(part, told)| part != told);
        assert_eq!((differs, parts.len()), (None, told.len()), "{name}, every {every} turns");
        assert!(left == memory, "{name}, every {every} turns");
    }
}

#[test]
fn repeated_suspension_does_not_change_the_issue_order() {
    for (name, case) in cases() {
        assert_stops_do_not_matter(name, &case, &[5, 13]);
    }
}

#[test]
fn launch_resumes_after_each_instruction() {
    for (name, case) in cases() {
        if ["exchange", "atomic", "fibonacci"].contains(&name) {
            assert_stops_do_not_matter(name, &case, &[1]);
        }
    }
}

#[test]
fn locks_and_grid_barriers_survive_suspension() {
    assert_stops_do_not_matter("lock", &Case::new(LOCK, (2, 64), 2), &[13, 50]);
    let grid = Case::new(GRID_BARRIER, (4, 64), 12).cooperative();
    assert_stops_do_not_matter("grid barrier", &grid, &[11, 40]);
}

/// A case with outstanding atomic operations.
fn stopped() -> (Case, Stopped) {
    let case = Case::new(ATOMIC, (4, 96), 386);
    let stopped = go_on(&case, None, 24, &mut Vec::new()).unwrap_err();
    assert!(!stopped.model.deferred.is_empty());
    (case, stopped)
}

#[test]
fn state_under_a_model_is_reproducible() {
    assert!(stopped().1.state == stopped().1.state);
}

#[test]
fn timed_state_needs_a_model_to_resume() {
    let (case, stopped) = stopped();
    let bench = Bench::new(&case);
    bench.restore(&stopped.memory);
    let error = bench.launch_from(&crate::bench::decode(&stopped.state)).unwrap_err();
    assert!(matches!(error, ResumeError::Timed { .. }), "{error}");
}

#[test]
fn launch_with_live_sources_cannot_be_suspended() {
    let bench = Bench::new(&Case::new(ATOMIC, (4, 96), 386));
    let (device, program, config) = (&bench.device, &bench.program, bench.config.clone());
    let is_over = launch(device, program, config, IDENTITY, |source| {
        let warps = source.warps(0);
        assert_eq!(source.suspend().err(), Some(Refusal::Executing));
        drop(warps);
        run(&mut Model::default(), source, u64::MAX, &mut Vec::new())
    });
    assert!(is_over.unwrap());
}

#[test]
fn changed_state_bits_are_refused_or_executed() {
    let (case, stopped) = stopped();
    let settings = Settings { watchdog: Some(Duration::from_millis(200)), ..stepped() };
    let bench = Bench::with(&case, settings);
    let mut refused = 0;
    for bytes in with_other_bits(&stopped.state).take(600) {
        let Ok(state) = codec::decode::<LIMIT, SuspendedLaunch>(&bytes) else {
            refused += 1;
            continue;
        };
        bench.restore(&stopped.memory);
        let (device, program, config) = (&bench.device, &bench.program, bench.config.clone());
        let driven = launch_from(device, program, config, &state, IDENTITY, |source| {
            run(&mut stopped.model.clone(), source, stopped.model.turns + 2000, &mut Vec::new())
        });
        refused += u32::from(matches!(driven, Err(TimedResumeError::State(_))));
    }
    assert!(refused > 0);
}
