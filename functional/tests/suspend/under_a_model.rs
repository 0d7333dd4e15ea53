//! A launch that a model executes is stopped between two turns of all warps, and goes on exactly as it stood: the rest of it
//! issues the same instructions in the same order.

use std::time::Duration;

use functional::device::Settings;
use functional::suspend::{Refusal, ResumeError, SuspendedLaunch};
use functional::timed::{Identity, LiveKernel, TimedResumeError, launch, launch_from};
use voltsim_checkpoint::codec;
use warp_stream::{Execution, KernelSource, Moment, Next, Residence, SourceError, WarpSlot, WarpSource};

use crate::bench::{Bench, Case, LIMIT, Memory, stepped, with_other_bits};
use crate::points::{ATOMIC, GRID_BARRIER, LOCK, cases};

/// SMs, and CTAs that each has room for.
const SMS: u32 = 2;
const ROOM: u32 = 2;
/// Turns after which what was put off is performed.
const DELAY: u64 = 5;

const IDENTITY: Identity = Identity { launch: 1, stream: 0 };

/// What a model knows: which CTA is in which slot, and what is put off until when.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    turns: u64,
    started: u64,
    /// By SM and slot: the CTA, if there is one.
    slots: Vec<Vec<Option<u64>>>,
    /// SM, number, and the turn in which it is performed.
    deferred: Vec<(usize, u32, u64)>,
}

/// CTA, warp, position, lanes, first address.
type Line = (u64, u32, u32, u32, u64);

/// Executes a launch until a turn, or to its end; is it over?
fn run(
    model: &mut Model,
    source: &dyn KernelSource,
    until: u64,
    told: &mut Vec<Line>,
) -> Result<bool, SourceError> {
    let warps = source.kernel().warps_per_cta();
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

/// A launch between two turns: what the model knows, what the launch is, as bytes, and memory.
#[derive(Clone)]
struct Stopped {
    model: Model,
    state: Vec<u8>,
    memory: Memory,
}

/// Goes on with a case, on a device of its own, until a turn, and tells what it issues; at the end only its memory is left.
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

/// What a case issues and leaves that is stopped after each so many turns.
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
        assert!(stops > 0, "{name} was not stopped");
        let differs = parts.iter().zip(&told).position(|(part, told)| part != told);
        assert_eq!((differs, parts.len()), (None, told.len()), "{name}, every {every} turns");
        assert!(left == memory, "{name}, every {every} turns");
    }
}

#[test]
fn a_launch_that_is_stopped_again_and_again_issues_what_it_issues_at_once() {
    for (name, case) in cases() {
        assert_stops_do_not_matter(name, &case, &[5, 13]);
    }
}

#[test]
fn a_launch_goes_on_from_behind_each_of_its_instructions() {
    for (name, case) in cases() {
        if ["exchange", "atomic", "fibonacci"].contains(&name) {
            assert_stops_do_not_matter(name, &case, &[1]);
        }
    }
}

#[test]
fn locks_and_barriers_of_the_grid_are_held_over_the_point() {
    assert_stops_do_not_matter("lock", &Case::new(LOCK, (2, 64), 2), &[13, 50]);
    let grid = Case::new(GRID_BARRIER, (4, 64), 12).cooperative();
    assert_stops_do_not_matter("grid barrier", &grid, &[11, 40]);
}

/// A case with atomic operations under way.
fn stopped() -> (Case, Stopped) {
    let case = Case::new(ATOMIC, (4, 96), 386);
    let stopped = go_on(&case, None, 24, &mut Vec::new()).unwrap_err();
    assert!(!stopped.model.deferred.is_empty());
    (case, stopped)
}

#[test]
fn a_state_is_the_same_whenever_it_is_made() {
    assert!(stopped().1.state == stopped().1.state);
}

#[test]
fn without_its_model_a_launch_does_not_go_on() {
    let (case, stopped) = stopped();
    let bench = Bench::new(&case);
    bench.restore(&stopped.memory);
    let error = bench.launch_from(&crate::bench::decode(&stopped.state)).unwrap_err();
    assert!(matches!(error, ResumeError::Timed { .. }), "{error}");
}

#[test]
fn a_launch_whose_warps_are_being_executed_is_not_saved_and_goes_on() {
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
fn a_state_with_another_bit_is_refused_or_is_executed() {
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
