//! A GPU whose state was written and read goes on as if nothing had happened.

use std::sync::{Arc, OnceLock};

use launch_report::{Format, Report};
use proptest::prelude::*;
use timing::RestoreError;
use timing::gpu::{Copy, Direction, Gpu, GpuState};
use timing::specification::{GpuSpec, gpu};
use voltsim_checkpoint::codec;
use warp_stream::OperationClass;

use crate::script::{Script, Thread, count, launch, try_launch};

/// A GPU by name, changed.
pub fn spec(name: &str, changes: &[&str]) -> Arc<GpuSpec> {
    let mut document = gpu::built_in(name).unwrap();
    changes.iter().for_each(|change| gpu::change(&mut document, change).unwrap());
    Arc::new(GpuSpec::read(&document).unwrap())
}

/// A GPU that is quick to save.
pub fn tiny() -> Arc<GpuSpec> {
    spec("tiny", &["l2.size=12288", "cta.warps=16"])
}

/// Loads that hit what is left of launches before, stores that are written back, atomic operations.
pub fn script(kernel: u64) -> Script {
    let start = 1 << 30;
    Script::new(40, 128)
        .load(8, &[], move |thread: Thread| start + thread.number * 4 + (thread.iteration + kernel) * 4096)
        .operation(OperationClass::Fp32, 9, &[8])
        .load(10, &[], move |thread| start + (thread.number * 7919 + kernel * 104_729) % 65536 * 4)
        .barrier()
        .atomic(11, &[9, 10], |thread| (1 << 31) + thread.number % 97 * 4)
        .store(&[11, 10], move |thread| start + thread.number * 4 + kernel * 512)
        .repeat(0, 2)
        .exit()
        .with(move |about| {
            about.launch = kernel;
            about.code_address += kernel % 2 * 4096;
        })
}

/// A step of a sequence.
#[derive(Debug, Clone, Copy)]
enum Step {
    Launch(u64),
    Copy(Copy),
}

fn to_device(bytes: u64) -> Step {
    Step::Copy(Copy { direction: Direction::ToDevice, address: (1 << 30) + 100, bytes })
}

const LAUNCHES: [Step; 3] = [Step::Launch(1), Step::Launch(2), Step::Launch(3)];

fn run(gpu: &mut Gpu, report: &mut Report, step: Step) {
    match step {
        Step::Launch(kernel) => report.add(launch(gpu, &script(kernel))),
        Step::Copy(copy) => gpu.copy(copy).unwrap(),
    }
}

/// Everything that a run says and leaves.
pub struct End {
    text: String,
    state: Vec<u8>,
}

impl End {
    pub fn new(gpu: &Gpu, report: &Report) -> End {
        let forms = [Format::Json, Format::Csv, Format::Text, Format::Profiler, Format::GpgpuSim];
        let forms = forms.map(|format| report.text(format).unwrap()).concat();
        End { text: forms + &report.summary(), state: gpu.state().encode().unwrap() }
    }

    /// The runs have come to the same.
    pub fn assert_is(&self, other: &End, about: &dyn std::fmt::Debug) {
        let differs = self.text.lines().zip(other.text.lines()).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{about:?}");
        assert!(self.text == other.text, "{about:?}: a text is longer");
        assert!(self.state == other.state, "{about:?}: other states");
    }
}

/// Goes through steps, and after those of these numbers from a state that was written and read.
fn run_all(spec: &Arc<GpuSpec>, threads: usize, steps: &[Step], saves: &[usize]) -> End {
    let mut gpu = Gpu::new(spec).with_threads(threads);
    let mut report = Report::new("tiny");
    for (number, step) in steps.iter().enumerate() {
        run(&mut gpu, &mut report, *step);
        if saves.contains(&number) {
            let state = gpu.state().encode().unwrap();
            gpu = Gpu::restore(spec, GpuState::decode(&state).unwrap()).unwrap().with_threads(threads);
            report = codec::decode::<{ 1 << 24 }, Report>(&codec::encode(&report).unwrap()).unwrap();
        }
    }
    End::new(&gpu, &report)
}

#[test]
fn restored_state_gives_statistics_of_an_uninterrupted_run() {
    let spec = tiny();
    let at_once = run_all(&spec, 1, &LAUNCHES, &[]);
    for saves in [&[0][..], &[1], &[0, 1], &[2]] {
        run_all(&spec, 1, &LAUNCHES, saves).assert_is(&at_once, &saves);
    }
}

#[test]
fn the_whole_card_is_restored_with_one_thread_and_two() {
    let spec = spec("titan-v", &[]);
    let at_once = run_all(&spec, 1, &LAUNCHES, &[]);
    run_all(&spec, 1, &LAUNCHES, &[0]).assert_is(&at_once, &"one thread");
    run_all(&spec, 2, &LAUNCHES, &[0, 1]).assert_is(&at_once, &"two threads");
}

#[test]
fn what_a_copy_has_left_under_way_is_restored() {
    let steps = [
        Step::Launch(1),
        to_device(300_000),
        Step::Launch(2),
        to_device(77),
        to_device(8192),
        Step::Launch(3),
    ];
    for changes in [&["l2.size=12288"][..], &["l2.size=12288", "l2.write_allocation=fetch-on-write"]] {
        let spec = spec("tiny", changes);
        let at_once = run_all(&spec, 1, &steps, &[]);
        run_all(&spec, 2, &steps, &[0, 1, 3, 4]).assert_is(&at_once, &changes);
    }
}

#[test]
fn every_gpu_of_the_program_is_restored() {
    for name in gpu::timed() {
        let spec = spec(name, &["chip.sms=4"]);
        let at_once = run_all(&spec, 1, &LAUNCHES[..2], &[]);
        run_all(&spec, 1, &LAUNCHES[..2], &[0]).assert_is(&at_once, &name);
    }
}

#[test]
fn a_state_that_was_read_is_written_with_the_same_bytes() {
    let mut gpu = Gpu::new(&tiny());
    launch(&mut gpu, &script(1));
    let bytes = gpu.state().encode().unwrap();
    let restored = Gpu::restore(&tiny(), GpuState::decode(&bytes).unwrap()).unwrap();
    assert!(restored.state().encode().unwrap() == bytes);
}

/// Sectors that a second launch of the same kernel reads from DRAM, and its number of cycles in all.
fn second_launch(gpu: &mut Gpu) -> (u64, u64) {
    let record = launch(gpu, &Script::new(2, 64).load(8, &[], |thread| (1 << 30) + thread.number * 4).exit());
    (count(&record, "dram.reads"), count(&record, "sm.warp_instructions"))
}

#[test]
fn a_cold_start_keeps_clock_and_counts_and_nothing_else() {
    let spec = tiny();
    let mut gpu = Gpu::new(&spec);
    let first = second_launch(&mut gpu);
    let state = gpu.state();
    assert_eq!(second_launch(&mut gpu), (0, first.1));
    let mut cold = Gpu::restore_cold(&spec, state).unwrap();
    assert_eq!(cold.now().cycle, state_now(&spec));
    assert_eq!(second_launch(&mut cold), first);
}

/// When the first launch ends.
fn state_now(spec: &Arc<GpuSpec>) -> u64 {
    let mut gpu = Gpu::new(spec);
    second_launch(&mut gpu);
    gpu.now().cycle
}

#[test]
fn a_cold_gpu_is_saved_with_what_was_counted_before() {
    let spec = tiny();
    let mut gpu = Gpu::new(&spec);
    launch(&mut gpu, &script(1));
    let mut cold = Gpu::restore_cold(&spec, gpu.state()).unwrap();
    let mut again = Gpu::restore(&spec, cold.state()).unwrap();
    assert_eq!(launch(&mut cold, &script(2)), launch(&mut again, &script(2)));
}

#[test]
fn state_of_another_gpu_is_refused_with_the_first_difference() {
    let state = Gpu::new(&tiny()).state();
    let error = Gpu::restore(&spec("tiny", &["l2.size=12288"]), state).unwrap_err();
    let text = "the state is of a GPU with cta.warps = 16; this GPU has cta.warps = 64";
    assert_eq!(error.to_string(), text);
    assert!(matches!(error, RestoreError::OtherGpu { .. }));
}

/// A state after a launch, with a copy's writes on their way to DRAM.
fn saved() -> &'static [u8] {
    static SAVED: OnceLock<Vec<u8>> = OnceLock::new();
    SAVED.get_or_init(|| {
        let mut gpu = Gpu::new(&tiny());
        let mut report = Report::new("tiny");
        [Step::Launch(1), to_device(300_000)].into_iter().for_each(|step| run(&mut gpu, &mut report, step));
        gpu.state().encode().unwrap()
    })
}

/// The bytes are refused, or give a state that can run: a launch ends, with an error perhaps.
fn try_state(bytes: &[u8]) {
    let Ok(state) = GpuState::decode(bytes) else { return };
    let Ok(mut gpu) = Gpu::restore(&tiny(), state) else { return };
    let _ = try_launch(&mut gpu, &script(2));
    let _ = gpu.copy(Copy { direction: Direction::FromDevice, address: 77, bytes: 5000 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_state_that_was_cut_off_is_an_error(length in any::<prop::sample::Index>()) {
        prop_assert!(GpuState::decode(&saved()[..length.index(saved().len())]).is_err());
    }

    #[test]
    fn a_damaged_state_is_refused_or_runs(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0_u32..8), 1..4)
    ) {
        let mut bytes = saved().to_vec();
        flips.iter().for_each(|(place, bit)| bytes[place.index(saved().len())] ^= 1 << bit);
        try_state(&bytes);
    }
}
