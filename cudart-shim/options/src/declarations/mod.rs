//! The declarations: one entry per option of a run.

mod declaration;
mod texts;

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;

use functional::device::Tier;
use functional::host::Level;
use functional::sanitizer::Checks;
use launch_capture::UntilStable;
use saved_run::Point;

use crate::values::{
    CacheFolder, Changes, LaunchNumbers, Libraries, LogTarget, MAX_DEVICES, Mode, RecordFormat, Seconds,
    SelectionText, SeriesInterval, Value, WarmUpText, WholeLaunchesText, Within,
};
use declaration::{SAVERS, STARTERS, TIMERS, options};

pub use declaration::{Declaration, Form, OnMistake, Section, Taker};
pub(crate) use texts::Texts;

options! {
    /// GPU that the program is told about: a name (`voltsim gpus`), a GPU file, or auto.
    ///
    /// The default is the GPU of `--gpu`. `auto` takes the smallest device that fits the program's
    /// newest PTX and its libraries. The option never times anything.
    device: String = "VOLTSIM_DEVICE" {
        option: Some("device"),
        value: "NAME|FILE|auto",
        takers: STARTERS,
    }

    /// Number of devices that the program finds, 1 to 16.
    ///
    /// Each device reaches the memory of the others once it asks to.
    devices: Within<1, { MAX_DEVICES }> = "VOLTSIM_DEVICES" {
        option: Some("devices"),
        value: "COUNT",
        takers: STARTERS,
    }

    /// Mathematical libraries: the installed ones, or Voltsim's stand-ins for cuBLAS and cuFFT.
    ///
    /// The default is `vendor`. The vendor's libraries of CUDA 11.7 and later refuse a simulated device.
    /// `stand-ins` puts Voltsim's libraries in their place, whose kernels are not the vendor's.
    libraries: Libraries = "VOLTSIM_LIBRARIES" {
        option: Some("libraries"),
        value: "vendor|stand-ins",
        takers: STARTERS,
    }

    /// Host threads that execute CTAs; all cores by default.
    ///
    /// `voltsim time` simulates SMs with them. The results of timed launches do not depend on the
    /// number.
    threads: u32 = "VOLTSIM_THREADS" {
        option: Some("threads"),
        value: "COUNT",
        takers: &[Taker::Run, Taker::Resume, Taker::Record, Taker::Capture, Taker::Coverage, Taker::Trace,
            Taker::Plan, Taker::Time, Taker::CacheModel, Taker::Why],
    }

    /// Execute untimed CTAs in a fixed order on one thread, so that every run gives the same bytes.
    ///
    /// Timed CTAs need no option for it.
    deterministic: bool = "VOLTSIM_DETERMINISTIC" {
        option: Some("deterministic"),
        form: Form::Switch("1"),
        takers: STARTERS,
    }

    /// Execute kernels by the interpreter, as machine code of this host, or so once they are hot.
    ///
    /// The default is `interpreter`. `native` needs a host with AVX-512; other hosts end the launch with
    /// an error. `auto` compiles a kernel after a million warp instructions, and interprets where the
    /// host allows no compiled code. Checks, coverage, checkpoints inside a launch and timed launches
    /// use the interpreter. Results are the same.
    tier: Tier = "VOLTSIM_TIER" {
        option: Some("tier"),
        value: "interpreter|native|auto",
        takers: STARTERS,
    }

    /// Keep products and sums apart, as ptxas does with --fmad=false.
    ///
    /// Without the option, `mul` and `add` without a rounding mode become one `fma`.
    fmad: bool = "VOLTSIM_FMAD" {
        option: Some("no-fmad"),
        form: Form::Switch("0"),
        takers: STARTERS,
    }

    /// Look for mistakes: memory, uninitialised, races, barriers, all, leaks, calls.
    ///
    /// Several names have commas between them. `all` stands for the first four, the checks of
    /// kernels. `leaks` names allocations that the program never frees, `calls` names API calls
    /// that return an error. A program that exits with 0 gets status 86 if the checks find a
    /// mistake.
    check: Checks = "VOLTSIM_CHECK" {
        option: Some("check"),
        value: "CHECKS",
        takers: STARTERS,
        excludes: &[Key::checkpoint, Key::checkpoint_every],
    }

    /// Write the findings of the checks to a file instead of standard error.
    ///
    /// A name ending in .jsonl gets lines of JSON.
    check_report: PathBuf = "VOLTSIM_CHECK_REPORT" {
        option: Some("check-report"),
        value: "FILE",
        takers: STARTERS,
        needs_one_of: &[Key::check],
    }

    /// Check only these launches: kernel=GLOB, launch=A..B, and more.
    ///
    /// The keys are those of `--only`. The checks follow the accesses of the other launches, and
    /// report none of their mistakes.
    check_only: WholeLaunchesText = "VOLTSIM_CHECK_ONLY" {
        option: Some("check-only"),
        value: "SELECTION",
        takers: STARTERS,
        needs_one_of: &[Key::check],
        on_mistake: OnMistake::Without(Key::check),
    }

    /// Leave out the first N launches that the checks would take.
    check_skip: u32 = "VOLTSIM_CHECK_SKIP" {
        option: Some("check-skip"),
        value: "N",
        takers: STARTERS,
        needs_one_of: &[Key::check],
    }

    /// Check at most N launches.
    check_count: u32 = "VOLTSIM_CHECK_COUNT" {
        option: Some("check-count"),
        value: "N",
        takers: STARTERS,
        needs_one_of: &[Key::check],
    }

    /// Show at most N findings; 100 by default.
    ///
    /// Further findings are counted, and have the same exit status.
    check_limit: u32 = "VOLTSIM_CHECK_LIMIT" {
        option: Some("check-limit"),
        value: "N",
        takers: STARTERS,
        needs_one_of: &[Key::check],
    }

    /// Leave out findings that a file names, a line of JSON each.
    ///
    /// Lines of a report (`--check-report findings.jsonl`) serve as they are. A line may have fewer
    /// fields, and `*` and `?` in them: {"check": "races", "kernel": "histogram*"}.
    check_suppressions: PathBuf = "VOLTSIM_CHECK_SUPPRESSIONS" {
        option: Some("check-suppressions"),
        value: "FILE",
        takers: STARTERS,
        needs_one_of: &[Key::check],
    }

    /// Leave the host's stack out of findings.
    ///
    /// Without the option, a finding shows the host's functions and lines that led to the launch,
    /// the allocation or the failed call.
    check_stacks: bool = "VOLTSIM_CHECK_STACKS" {
        option: Some("no-check-stacks"),
        form: Form::Switch("0"),
        takers: STARTERS,
        needs_one_of: &[Key::check],
    }

    /// End with this status where the checks find a mistake; 86 by default.
    ///
    /// The program itself must have exited with 0. The status 0 hides mistakes.
    check_exit_status: Within<0, 255> = "VOLTSIM_CHECK_EXIT_STATUS" {
        option: Some("check-exit-status"),
        value: "STATUS",
        takers: STARTERS,
        needs_one_of: &[Key::check],
    }

    /// End the run with status 88 at the first refused kernel.
    ///
    /// The run ends even if the program asks for the error.
    strict: bool = "VOLTSIM_STRICT" {
        option: Some("strict"),
        form: Form::Switch("1"),
        takers: STARTERS,
    }

    /// End a kernel that runs longer: seconds, or a time with a unit (2min).
    ///
    /// The time covers everything that the kernel launches and copies. The option also limits a
    /// stream's wait for a word of memory. The program gets `cudaErrorLaunchTimeout`.
    watchdog: Seconds = "VOLTSIM_WATCHDOG" {
        option: Some("watchdog"),
        value: "TIME",
        takers: STARTERS,
    }

    /// Write every CUDA call with its arguments and result to a file, or to standard error.
    ///
    /// The log also has faults, and calls that Voltsim does not support.
    log: LogTarget = "VOLTSIM_LOG" {
        option: Some("log"),
        value: "FILE|stderr",
        takers: STARTERS,
    }

    /// Write the executed instructions of each kernel to a JSON file when the program ends.
    ///
    /// Launches that are still running when `main` returns end within 2 s or count as `unfinished`.
    summary: PathBuf = "VOLTSIM_SUMMARY" {
        option: Some("summary"),
        value: "FILE",
        takers: STARTERS,
    }

    /// Write checksums of all allocations after each launch.
    ///
    /// `voltsim checkpoint diff` finds the first launch after which two runs differ, and the
    /// allocation. Launches are executed one after the other.
    checksums: PathBuf = "VOLTSIM_CHECKSUMS" {
        option: Some("checksums"),
        value: "FILE",
        takers: SAVERS,
    }

    /// Write the checksums after each N launches only.
    checksums_every: NonZero<u64> = "VOLTSIM_CHECKSUMS_EVERY" {
        option: Some("checksums-every"),
        value: "N",
        takers: SAVERS,
        needs_one_of: &[Key::checksums],
        on_mistake: OnMistake::Without(Key::checksums),
    }

    /// Folder of decoded functions, kept between runs; off keeps none.
    ///
    /// The default is `$XDG_CACHE_HOME/voltsim/functions`, or `~/.cache/voltsim/functions`.
    cache: CacheFolder = "VOLTSIM_CACHE" {
        value: "FOLDER|off",
    }

    /// Vector instructions of the host that the engine uses: baseline, avx2 or avx512.
    ///
    /// The engine uses the best that the host has by default, and never more than that.
    host_level: Level = "VOLTSIM_HOST_LEVEL" {
        value: "LEVEL",
    }

    /// File of NVIDIA's NVRTC, for the front that passes calls on to it.
    nvrtc: PathBuf = "VOLTSIM_NVRTC" {
        value: "FILE",
    }

    /// Release of CUDA that the stand-in for ptxas reports, such as 12.4.
    ptxas_release: String = "VOLTSIM_PTXAS_RELEASE" {
        value: "RELEASE",
    }

    /// File of NVIDIA's nvJitLink, with which the front links LTO IR.
    nvjitlink: PathBuf = "VOLTSIM_NVJITLINK" {
        value: "FILE",
    }

    /// Execute launches only (functional), or time them too (detailed, hybrid-alu, hybrid-memory).
    ///
    /// The default is functional, or detailed where another option of the timing model is given.
    /// Hybrid modes are faster and less exact: `hybrid-alu` has an ideal front end and analytical
    /// arithmetic, `hybrid-memory` analytical memory too. `voltsim explain fidelity` lists the
    /// choice of each unit.
    mode: Mode = "VOLTSIM_MODE" {
        section: Section::Timing,
        option: Some("mode"),
        value: "MODE",
        takers: &[Taker::Run, Taker::Resume, Taker::Trace, Taker::Time, Taker::Sweep, Taker::Why],
        on_mistake: OnMistake::Refuse,
    }

    /// GPU that is modelled: a name (`voltsim gpus` lists them), or a file ending in .toml.
    ///
    /// The default is `titan-v`. A file may start from another GPU (`base = "titan-v"`). With
    /// `--mode functional` the program is told about the GPU, and nothing is timed.
    gpu: String = "VOLTSIM_GPU" {
        section: Section::Timing,
        option: Some("gpu"),
        value: "NAME|FILE",
        takers: &[Taker::Run, Taker::Resume, Taker::Trace, Taker::Time, Taker::Sweep, Taker::Why],
        implies_timing: true,
        on_mistake: OnMistake::Refuse,
    }

    /// Change a value of the GPU: section.key=value.
    ///
    /// A value may have a unit: `l1.size=32KiB`, `clocks.core=1.2GHz`. A number without a unit is
    /// in the unit of the key. `kernel.registers=NAME:N` gives the kernel NAME, mangled or as in
    /// the source, N registers per thread. The option may be given several times; the variable has
    /// one change a line.
    set: Changes = "VOLTSIM_SET" {
        section: Section::Timing,
        option: Some("set"),
        value: "KEY=VALUE",
        form: Form::Repeated,
        takers: &[Taker::Run, Taker::Resume, Taker::Trace, Taker::Time, Taker::Sweep, Taker::Why],
        implies_timing: true,
        on_mistake: OnMistake::Refuse,
    }

    /// Time or record only these launches: kernel=GLOB, launch=A..B, and more.
    ///
    /// Keys have commas between them. `kernel=GLOB` and `launch=A..B` name launches. `nvtx=GLOB`
    /// takes launches inside of an NVTX range, `operator=GLOB` those of a framework's operator.
    /// `profiler=on` takes launches between cudaProfilerStart and cudaProfilerStop. `ctas=A..B`
    /// times only these CTAs of a launch. The other launches are executed.
    only: SelectionText = "VOLTSIM_ONLY" {
        section: Section::Timing,
        option: Some("only"),
        value: "SELECTION",
        takers: &[Taker::Run, Taker::Resume, Taker::Trace, Taker::Record],
        implies_timing: true,
        on_mistake: OnMistake::Refuse,
    }

    /// Let untimed work before a timed launch warm the caches: launches=N, ctas=M.
    ///
    /// `launches=N` takes the N launches before a timed one, `ctas=M` the last M CTAs of these
    /// launches and of those before timed CTAs. N and M may be `all`.
    warm_up: WarmUpText = "VOLTSIM_WARM_UP" {
        section: Section::Timing,
        option: Some("warm-up"),
        value: "EXTENT",
        takers: TIMERS,
        implies_timing: true,
        on_mistake: OnMistake::Refuse,
    }

    /// Take rates of loads from a recording of `voltsim cache-model --record`.
    ///
    /// The reuse-distance model predicts them for `--set fidelity.rates=reuse-distance` in mode
    /// hybrid-memory. The recording must be of the same launches.
    rates: PathBuf = "VOLTSIM_RATES" {
        section: Section::Timing,
        option: Some("rates"),
        value: "FILE",
        takers: &[Taker::Run],
        implies_timing: true,
        on_mistake: OnMistake::Refuse,
    }

    /// Stop simulating a launch once its behaviour is steady, and extrapolate the rest.
    ///
    /// The model divides the time after the first wave of CTAs into N windows, together as long as
    /// a wave. A launch is steady when the IPC of the windows deviates from its mean by at most D.
    /// The defaults are 8 and 0.1. Whole waves are left out.
    until_stable: UntilStable = "VOLTSIM_UNTIL_STABLE" {
        section: Section::Timing,
        option: Some("until-stable"),
        value: "windows=N,deviation=D",
        form: Form::OptionalValue,
        takers: &[Taker::Run, Taker::Resume, Taker::Trace, Taker::Time, Taker::Plan],
        implies_timing: true,
        on_mistake: OnMistake::Refuse,
    }

    /// Write the statistics of each launch to a file when the program ends.
    ///
    /// The ending of the name chooses the form: .json, .parquet (rows by launch), .csv, .ncu.csv
    /// (Nsight Compute's names), .gpgpusim (GPGPU-Sim's), .txt or none (text). Without the option a
    /// summary goes to standard error.
    statistics: PathBuf = "VOLTSIM_STATISTICS" {
        section: Section::Timing,
        option: Some("statistics"),
        value: "FILE",
        takers: &[Taker::Run, Taker::Resume, Taker::Trace, Taker::Time],
        implies_timing: true,
        on_mistake: OnMistake::Refuse,
    }

    /// Count over time too: a point every N core cycles, or auto.
    ///
    /// `auto` gives a launch at most 2,000 points. The points of a counter add up to the counter of
    /// the launch. Reports and .json files have them, and x.series.parquet beside x.parquet.
    series: SeriesInterval = "VOLTSIM_SERIES" {
        section: Section::Timing,
        option: Some("series"),
        value: "N|auto",
        takers: SAVERS,
        implies_timing: true,
        needs_one_of: &[Key::statistics, Key::report],
        on_mistake: OnMistake::Refuse,
    }

    /// Count by program counter too, for PTX and source lines.
    ///
    /// Files ending in .json have instructions, sectors, bank conflicts and lost issue slots of
    /// each instruction, with lines of PTX and of CUDA source (`nvcc -lineinfo`). Reports have them
    /// without the option. The counts of a launch add up to its counters.
    source_counts: bool = "VOLTSIM_SOURCE_COUNTS" {
        section: Section::Timing,
        option: Some("source-counts"),
        form: Form::Switch("1"),
        takers: SAVERS,
        implies_timing: true,
        needs_one_of: &[Key::statistics, Key::report],
        on_mistake: OnMistake::Refuse,
    }

    /// Write a report to a file when the program ends: one HTML page with pictures.
    ///
    /// The page has kernels by time, their limits, the traffic between units and a timeline, and
    /// needs no network. Without `--series` the page has automatic time series. `voltsim report`
    /// makes the same page of a file of `--statistics`.
    report: PathBuf = "VOLTSIM_REPORT" {
        section: Section::Timing,
        option: Some("report"),
        value: "FILE",
        takers: SAVERS,
        implies_timing: true,
        on_mistake: OnMistake::Refuse,
    }

    /// Save the run at a point: kernel=N, or inside of that launch.
    ///
    /// `kernel=N` is before launch N. `kernel=N,cta=M,ctas=T,instructions=Y` is where the CTAs
    /// before M are over and each of the T from M on has executed Y warp instructions. A timed
    /// launch has `kernel=N,cycle=C`, after C core cycles, and `kernel=N,cta=M`, when M CTAs are
    /// over.
    checkpoint: Point = "VOLTSIM_CHECKPOINT" {
        section: Section::Checkpoints,
        option: Some("checkpoint"),
        value: "POINT",
        takers: SAVERS,
        needs_one_of: &[Key::checkpoint_file],
        excludes: &[Key::checkpoint_every],
        on_mistake: OnMistake::Refuse,
    }

    /// Save the run after each N launches, to a new or empty folder.
    ///
    /// Each file needs the files before it.
    checkpoint_every: NonZero<u64> = "VOLTSIM_CHECKPOINT_EVERY" {
        section: Section::Checkpoints,
        option: Some("checkpoint-every"),
        value: "N",
        takers: SAVERS,
        needs_one_of: &[Key::checkpoint_file],
        on_mistake: OnMistake::Refuse,
    }

    /// File for the checkpoint, or folder for the files of --checkpoint-every.
    ///
    /// A file of that name is replaced when the new one is whole.
    checkpoint_file: PathBuf = "VOLTSIM_CHECKPOINT_FILE" {
        section: Section::Checkpoints,
        option: Some("output"),
        short: Some('o'),
        value: "FILE|DIR",
        takers: SAVERS,
        needs_one_of: &[Key::checkpoint, Key::checkpoint_every],
    }

    /// End the program when the checkpoint is written.
    checkpoint_stop: bool = "VOLTSIM_CHECKPOINT_STOP" {
        section: Section::Checkpoints,
        option: Some("stop"),
        form: Form::Switch("1"),
        takers: SAVERS,
        needs_one_of: &[Key::checkpoint],
    }

    /// Checkpoint from which the run goes on.
    ///
    /// The command takes it without a name: `voltsim resume FILE`. With `--checkpoint` the resumed
    /// run is saved again at a later point.
    resume: PathBuf = "VOLTSIM_RESUME" {
        section: Section::Checkpoints,
        value: "FILE",
    }

    /// Resume with empty caches of the timing model, whatever the checkpoint holds of them.
    resume_cold: bool = "VOLTSIM_RESUME_COLD" {
        section: Section::Checkpoints,
        option: Some("cold"),
        form: Form::Switch("1"),
        takers: &[Taker::Resume],
    }

    /// Resume although launches before the point have other arguments, and name the first.
    ///
    /// The option is for programs that leave parts of a launch's arguments uninitialised, as
    /// PyTorch's optimizers do. The results of the saved launches count.
    resume_any_arguments: bool = "VOLTSIM_RESUME_ANY_ARGUMENTS" {
        section: Section::Checkpoints,
        option: Some("any-arguments"),
        form: Form::Switch("1"),
        takers: &[Taker::Resume],
    }

    /// Resume although the program's file, or a library with device code, has changed, and name it.
    ///
    /// The program must make the same calls up to the point.
    resume_any_program: bool = "VOLTSIM_RESUME_ANY_PROGRAM" {
        section: Section::Checkpoints,
        option: Some("any-program"),
        form: Form::Switch("1"),
        takers: &[Taker::Resume],
    }

    /// Write all launches, with the memory that they can reach, to a kernel stream.
    ///
    /// `voltsim resume` runs the launches of the file on any machine, without the program.
    image: PathBuf = "VOLTSIM_IMAGE" {
        section: Section::Launches,
        option: Some("image"),
        value: "FILE",
        takers: &[Taker::Run],
    }

    /// Write only these launches to the kernel stream: kernel=GLOB,launch=A..B.
    image_only: WholeLaunchesText = "VOLTSIM_IMAGE_ONLY" {
        section: Section::Launches,
        option: Some("image-only"),
        value: "SELECTION",
        takers: &[Taker::Run],
        needs_one_of: &[Key::image],
        on_mistake: OnMistake::Without(Key::image),
    }

    /// Folder for captured launches, new or empty.
    capture: PathBuf = "VOLTSIM_CAPTURE" {
        section: Section::Launches,
        option: Some("output"),
        short: Some('o'),
        value: "DIR",
        takers: &[Taker::Capture],
        required_by: &[Taker::Capture],
    }

    /// Capture only these launches: kernel=GLOB, launch=A..B, nvtx=GLOB, operator=GLOB,
    /// profiler=on.
    ///
    /// Keys have commas between them.
    capture_only: WholeLaunchesText = "VOLTSIM_CAPTURE_ONLY" {
        section: Section::Launches,
        option: Some("only"),
        value: "SELECTION",
        takers: &[Taker::Capture],
        on_mistake: OnMistake::Without(Key::capture),
    }

    /// Capture the buffers after each launch too, so that a replay can be compared with them.
    capture_results: bool = "VOLTSIM_CAPTURE_RESULTS" {
        section: Section::Launches,
        option: Some("results"),
        form: Form::Switch("1"),
        takers: &[Taker::Capture],
    }

    /// Folder for recorded launches, new or empty.
    record: PathBuf = "VOLTSIM_RECORD" {
        section: Section::Launches,
        option: Some("output"),
        short: Some('o'),
        value: "DIR",
        takers: &[Taker::Record],
        required_by: &[Taker::Record],
    }

    /// Form of the recordings: recording (compact), or accelsim (text traces of Accel-Sim).
    record_format: RecordFormat = "VOLTSIM_RECORD_FORMAT" {
        section: Section::Launches,
        option: Some("format"),
        value: "FORMAT",
        takers: &[Taker::Record],
        on_mistake: OnMistake::Without(Key::record),
    }

    /// File to which the library adds the coalesced accesses of each launch.
    accesses: PathBuf = "VOLTSIM_ACCESSES" {
        section: Section::Internal,
    }

    /// File for the instruction forms that the program executes.
    coverage: PathBuf = "VOLTSIM_COVERAGE" {
        section: Section::Launches,
        option: Some("output"),
        short: Some('o'),
        value: "FILE",
        takers: &[Taker::Coverage],
    }

    /// File for the plan of launches to be timed, beside a kernel stream.
    plan: PathBuf = "VOLTSIM_PLAN" {
        section: Section::Internal,
    }

    /// Timed launches of a group: its first one, and others for the rest of the group.
    ///
    /// The difference between these others is part of the estimate's bound. The default is 2.
    plan_representatives: Within<2, { u32::MAX }> = "VOLTSIM_PLAN_REPRESENTATIVES" {
        section: Section::Launches,
        option: Some("representatives"),
        value: "COUNT",
        takers: &[Taker::Plan],
    }

    /// File for the timeline.
    trace: PathBuf = "VOLTSIM_TRACE" {
        section: Section::Internal,
    }

    /// Numbers of the launches of another run that this run repeats.
    launch_numbers: LaunchNumbers = "VOLTSIM_LAUNCH_NUMBERS" {
        section: Section::Internal,
        on_mistake: OnMistake::Refuse,
    }

    /// Process that ends the program when it is killed itself.
    supervisor: u32 = "VOLTSIM_SUPERVISOR" {
        section: Section::Internal,
    }

    /// Folder in which the library reports what has become of its outputs.
    output_status: PathBuf = "VOLTSIM_OUTPUT_STATUS" {
        section: Section::Internal,
    }

    /// File to which the library adds a line per refused kernel, and per error that the program
    /// asks for.
    refused_status: PathBuf = "VOLTSIM_REFUSED_STATUS" {
        section: Section::Internal,
    }

    /// File to which the library adds a line per mistake that checks find.
    check_status: PathBuf = "VOLTSIM_CHECK_STATUS" {
        section: Section::Internal,
    }

    /// File in which the library reports that the run goes on from its checkpoint, or why not.
    resume_status: PathBuf = "VOLTSIM_RESUME_STATUS" {
        section: Section::Internal,
    }
}

impl Key {
    /// The declaration of the option.
    pub fn declaration(self) -> &'static Declaration {
        // The declarations have the order of the keys.
        DECLARATIONS.get(self as usize).unwrap_or(&Declaration::PLAIN)
    }
}
