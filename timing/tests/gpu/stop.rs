//! A launch that was stopped, written, and read goes on as if nothing had happened.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use launch_report::Report;
use proptest::prelude::*;
use timing::RestoreError;
use timing::fidelity::Mode;
use timing::gpu::{Copy, Direction, Ended, Gpu, GpuState, LaunchError, Observer, Progress, Rows, Transfer};
use timing::record::LaunchRecord;
use timing::specification::GpuSpec;
use warp_stream::{AccessKind, MemorySpace, OperationClass};

use crate::script::{Script, Thread, launch};
use crate::state::{End, script, spec, tiny};

/// Stops at a cycle.
struct StopAt(u64);

impl Observer for StopAt {
    fn progress(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn stop_at(&self) -> Option<u64> {
        Some(self.0)
    }
}

/// Stops when so many CTAs have ended.
struct StopAfter(u64);

impl Observer for StopAfter {
    fn progress(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn stop_after_ctas(&self) -> Option<u64> {
        Some(self.0)
    }
}

/// The record of an ended launch, or the state of a stopped one.
fn stopped_or_ended(outcome: Result<LaunchRecord, LaunchError>) -> Result<LaunchRecord, Box<GpuState>> {
    outcome.map_err(|error| match error {
        LaunchError::Stopped(state) => state,
        error => panic!("{error}"),
    })
}

/// The state in which a launch is stopped.
fn stop(gpu: &mut Gpu, script: &Script, cycle: u64) -> GpuState {
    *stopped_or_ended(gpu.launch(script, &mut StopAt(cycle))).unwrap_err()
}

fn written_and_read(state: &GpuState) -> GpuState {
    GpuState::decode(&state.encode().unwrap()).unwrap()
}

/// Runs a launch, stopped every so many cycles, and another one; from a restored state after each stop.
fn run(spec: &Arc<GpuSpec>, threads: usize, first: &Script, every: u64) -> (End, usize) {
    let mut gpu = Gpu::new(spec).with_threads(threads);
    let mut report = Report::new("tiny");
    let mut stops = 0;
    let mut outcome = stopped_or_ended(gpu.launch(first, &mut StopAt(every)));
    let record = loop {
        let state = match outcome {
            Ok(record) => break record,
            Err(state) => written_and_read(&state),
        };
        stops += 1;
        let interrupted = Gpu::restore_running(spec, state, &[first]);
        let mut interrupted = interrupted.unwrap_or_else(|error| panic!("stop {stops}: {error}"));
        interrupted = interrupted.with_threads(threads);
        let next = (stops as u64 + 1).saturating_mul(every);
        outcome = stopped_or_ended(interrupted.finish(&mut StopAt(next)));
        gpu = interrupted.into_gpu();
    };
    report.add(record);
    report.add(launch(&mut gpu, &script(2)));
    (End::new(&gpu, &report), stops)
}

/// Stopped at many cycles, a launch comes to what it comes to at once.
fn assert_stops_do_not_matter(spec: &Arc<GpuSpec>, script: &dyn Fn() -> Script, every: &[u64]) {
    let (at_once, _) = run(spec, 1, &script(), u64::MAX);
    for (threads, every) in (1..).zip(every) {
        let (end, stops) = run(spec, threads % 2 + 1, &script(), *every);
        assert!(stops > 2, "{stops} stops");
        end.assert_is(&at_once, every);
    }
}

#[test]
fn a_launch_that_is_stopped_again_and_again_comes_to_the_same() {
    assert_stops_do_not_matter(&tiny(), &|| script(1), &[16, 500, 1777, 4000]);
}

#[test]
fn the_whole_card_is_stopped_within_a_launch() {
    let many = || script(1).with(|kernel| kernel.shape.grid = [400, 1, 1]);
    assert_stops_do_not_matter(&spec("titan-v", &[]), &many, &[1000, 2345]);
}

/// Every kind of instruction that an SM knows.
fn all_kinds() -> Script {
    let near = |thread: Thread| thread.number * 4 % 4096;
    let global = |thread: Thread| (1 << 30) + thread.number * 52 + thread.iteration * 4096;
    let memory = |script: Script, space, kind, address: fn(Thread) -> u64| {
        script.access(space, kind, (kind != AccessKind::Store).then_some(8), address)
    };
    let script = Script::new(60, 96).with(|kernel| kernel.shared_bytes = 4096);
    let script = memory(script, MemorySpace::Shared, AccessKind::Store, near);
    let script = memory(script.barrier(), MemorySpace::Shared, AccessKind::Atomic, near);
    let script = memory(script, MemorySpace::Constant, AccessKind::Load, |thread| thread.iteration * 4);
    let script = memory(script, MemorySpace::Local, AccessKind::Load, global);
    let script = memory(script, MemorySpace::Global, AccessKind::Reduction, global);
    let script = script.operation(OperationClass::Shuffle, 9, &[8]);
    let script =
        script.operation(OperationClass::Fence, 10, &[]).operation(OperationClass::SpecialFunction, 9, &[8]);
    script.store(&[9], global).repeat(0, 3).exit()
}

#[test]
fn accesses_of_every_kind_go_on() {
    assert_stops_do_not_matter(&tiny(), &all_kinds, &[16, 333]);
    assert_stops_do_not_matter(&spec("gtx470", &["chip.sms=2"]), &all_kinds, &[64]);
}

#[test]
fn every_gpu_of_the_program_is_stopped_within_a_launch() {
    for name in timing::specification::gpu::timed() {
        assert_stops_do_not_matter(&spec(name, &["chip.sms=4"]), &|| script(1), &[1500]);
    }
}

#[test]
fn hybrid_launch_that_is_stopped_comes_to_the_same() {
    for mode in ["hybrid-alu", "hybrid-memory"] {
        let changes = [Mode::named(mode).unwrap().changes, &["chip.sms=4"]].concat();
        let spec = spec("titan-v", &changes);
        assert_stops_do_not_matter(&spec, &|| script(1), &[1000, 1777]);
        assert_stops_do_not_matter(&spec, &all_kinds, &[777]);
    }
}

/// CTAs of a warp that leave stores behind.
fn writers() -> Script {
    let scattered = |thread: Thread| (1 << 32) + thread.number * 4096;
    let script =
        Script::new(100, 32).store(&[], scattered).store(&[], |thread| (1 << 33) + thread.number * 128);
    script.exit().with(|kernel| kernel.launch = 3)
}

/// Launches, copies and a fill that overlap, with the ends of all, stopped every so many cycles.
fn overlapping(every: u64) -> Vec<String> {
    let spec = tiny();
    let scripts = [script(1), script(2), writers()];
    let sources: Vec<&dyn warp_stream::KernelSource> = scripts.iter().map(|script| script as _).collect();
    let mut gpu = Gpu::new(&spec);
    let mut session = gpu.session();
    for script in &scripts {
        session.begin(script, 0).unwrap();
    }
    session.begin_copy(Copy { direction: Direction::ToDevice, address: 1 << 31, bytes: 100_000 }, 500);
    let rows = |address| Rows { address, width: 1000, height: 30, depth: 2, pitch: 1100, slice: 50_000 };
    session.begin_transfer(Transfer { to: rows(1 << 30), from: Some(rows((1 << 31) + 40)) }, 3, 0).unwrap();
    session.begin_transfer(Transfer { to: Rows::row(1 << 32, 100_000), from: None }, 4, 900).unwrap();
    session.run_until_one_ends(&mut StopAt(0)).unwrap();
    let mut state = session.state();
    drop(session);
    let mut ends = Vec::new();
    for stop in 1.. {
        let there = state.kernels().map(|kernel| sources[kernel.launch as usize - 1]).collect::<Vec<_>>();
        let mut interrupted = Gpu::restore_running(&spec, written_and_read(&state), &there).unwrap();
        let mut session = interrupted.session();
        loop {
            match session.run_until_one_ends(&mut StopAt(every.saturating_mul(stop))) {
                Ok(Ended::Stopped) => break,
                Ok(ended) => ends.push(format!("{ended:?}")),
                Err(LaunchError::Nothing) => return ends,
                Err(error) => panic!("{error}"),
            }
        }
        state = session.state();
    }
    ends
}

#[test]
fn launches_copies_and_fills_that_overlap_go_on() {
    let at_once = overlapping(u64::MAX);
    assert_eq!(at_once.len(), 6);
    assert!(overlapping(700) == at_once);
    assert!(overlapping(16) == at_once);
}

#[test]
fn a_session_that_was_stopped_goes_on_by_itself() {
    let (mut gpu, script) = (Gpu::new(&tiny()), script(1));
    let mut session = gpu.session();
    session.begin(&script, 0).unwrap();
    assert_eq!(session.run_until_one_ends(&mut StopAt(1000)).unwrap(), Ended::Stopped);
    let Ended::Launch { record, .. } = session.run_until_one_ends(&mut ()).unwrap() else { panic!() };
    assert_eq!(*record, launch(&mut Gpu::new(&tiny()), &crate::state::script(1)));
}

#[test]
fn a_launch_is_stopped_when_so_many_of_its_ctas_have_ended() {
    let (spec, first) = (tiny(), script(1));
    let go_on = |state: &GpuState, ctas| {
        let mut interrupted = Gpu::restore_running(&spec, written_and_read(state), &[&first]).unwrap();
        stopped_or_ended(interrupted.finish(&mut StopAfter(ctas)))
    };
    let bytes = |state: &GpuState| state.encode().unwrap();
    let seven = stopped_or_ended(Gpu::new(&spec).launch(&first, &mut StopAfter(7))).unwrap_err();
    assert!(bytes(&go_on(&seven, 7).unwrap_err()) == bytes(&seven));
    let twelve = go_on(&seven, 12).unwrap_err();
    assert!(bytes(&twelve) != bytes(&seven));
    assert!(go_on(&twelve, 41).unwrap() == launch(&mut Gpu::new(&spec), &script(1)));
}

#[test]
fn launch_in_flight_continues_with_its_own_source_only() {
    let spec = tiny();
    let state = stop(&mut Gpu::new(&spec), &script(1), 1000);
    let text = |error: RestoreError| error.to_string();
    let error = Gpu::restore(&spec, state.clone()).map(drop).map_err(text);
    assert_eq!(error, Err("the state has launch 1 of kernel script in flight".to_owned()));
    let other = Gpu::restore_running(&spec, state.clone(), &[&script(3)]).map(drop).map_err(text);
    let expected = "the state has launch 1 of kernel script; launch 3 of kernel script cannot continue it";
    assert_eq!(other, Err(expected.to_owned()));
    let code = script(1).with(|kernel| Arc::make_mut(&mut kernel.code).instructions[0].line += 1);
    assert!(Gpu::restore_running(&spec, state, &[&code]).is_err());
}

#[test]
fn what_is_not_gone_on_with_leaves_an_idle_gpu() {
    let (spec, first) = (tiny(), script(1));
    let state = stop(&mut Gpu::new(&spec), &first, 1000);
    let mut gpu = Gpu::restore_running(&spec, state, &[&first]).unwrap().into_gpu();
    assert!(launch(&mut gpu, &script(2)).start >= 1000);
}

/// States within a launch, and what goes on with them.
fn stopped(cycle: u64) -> (Vec<u8>, Script) {
    let script = all_kinds();
    let state = stop(&mut Gpu::new(&tiny()), &script, cycle);
    (state.encode().unwrap(), script)
}

static STOPPED: OnceLock<Vec<u8>> = OnceLock::new();

/// The bytes are refused, or give a state that can go on, to an error perhaps.
fn try_state(bytes: &[u8]) {
    let Ok(state) = GpuState::decode(bytes) else { return };
    let (_, script) = stopped(900);
    if let Ok(mut interrupted) = Gpu::restore_running(&tiny(), state, &[&script]) {
        let _ = interrupted.finish(&mut ());
    }
}

/// A state within a copy within the device and a fill.
fn stopped_transfers() -> Vec<u8> {
    let mut gpu = Gpu::new(&tiny());
    let mut session = gpu.session();
    let rows = |address| Rows { address, width: 100, height: 300, depth: 1, pitch: 500, slice: 0 };
    session.begin_transfer(Transfer { to: rows(1 << 30), from: Some(rows(1 << 31)) }, 1, 0).unwrap();
    session.begin_transfer(Transfer { to: Rows::row(1 << 32, 20_000), from: None }, 2, 0).unwrap();
    assert_eq!(session.run_until_one_ends(&mut StopAt(900)).unwrap(), Ended::Stopped);
    session.state().encode().unwrap()
}

/// The bytes are refused, or go on, to an error perhaps.
fn try_transfers(bytes: &[u8]) {
    let Ok(state) = GpuState::decode(bytes) else { return };
    if let Ok(mut interrupted) = Gpu::restore_running(&tiny(), state, &[]) {
        let mut session = interrupted.session();
        let far = 1 << 20;
        while matches!(session.run_until_one_ends(&mut StopAt(far)), Ok(end) if end != Ended::Stopped) {}
    }
}

static TRANSFERS: OnceLock<Vec<u8>> = OnceLock::new();

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_damaged_state_within_a_launch_is_refused_or_runs(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0_u32..8), 1..4)
    ) {
        let mut bytes = STOPPED.get_or_init(|| stopped(900).0).clone();
        let length = bytes.len();
        flips.iter().for_each(|(place, bit)| bytes[place.index(length)] ^= 1 << bit);
        try_state(&bytes);
    }

    #[test]
    fn a_damaged_state_within_a_copy_and_a_fill_is_refused_or_runs(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0_u32..8), 1..4)
    ) {
        let mut bytes = TRANSFERS.get_or_init(stopped_transfers).clone();
        let length = bytes.len();
        // Work in flight is written last.
        flips.iter().for_each(|(place, bit)| bytes[length - 1 - place.index(length.min(4096))] ^= 1 << bit);
        try_transfers(&bytes);
    }
}
