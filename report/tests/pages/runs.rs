//! Runs of synthetic kernels on the model, and their pages.

use std::num::NonZero;
use std::sync::OnceLock;

use launch_report::{Format, ListedFile, ListedLine, Listing, Report, Run};
use run_report::Source;
use timing::gpu::Gpu;
use timing::series::Interval;
use timing::specification::GpuSpec;
use warp_stream::OperationClass;

use crate::script::{Script, titan_v};

/// Floats of a thread that stand beside each other.
fn stream(ctas: u32) -> Script {
    let mut script = Script::new(ctas, 256)
        .load(4, &[], |thread| (1 << 32) + 4 * thread.number + thread.iteration * (1 << 22))
        .load(5, &[], |thread| (1 << 33) + 4 * thread.number + thread.iteration * (1 << 22))
        .operation(OperationClass::Fp32, 6, &[4, 5])
        .store(&[6], |thread| (1 << 34) + 4 * thread.number + thread.iteration * (1 << 22))
        .repeat(0, 3)
        .exit();
    script.kernel.name = "_Z5triadPfPKfS1_i".to_owned();
    script
}

/// Dependent arithmetic with a barrier.
fn arithmetic(ctas: u32) -> Script {
    let mut script = Script::new(ctas, 128);
    for _ in 0..8 {
        script = script.operation(OperationClass::Fp32, 6, &[6, 7]);
    }
    script = script.barrier().repeat(0, 40).exit();
    script.kernel.name = "_ZN4demo7stencilIfLi8EEEvPT_i".to_owned();
    script.kernel.stream = 7;
    script
}

/// Loads of lanes that lie far apart.
fn gather(ctas: u32) -> Script {
    let address = |thread: crate::script::Thread| {
        (1 << 35)
            + 4 * (thread.number.wrapping_mul(2_654_435_761).wrapping_add(thread.iteration * 977) % (1 << 22))
    };
    let mut script = Script::new(ctas, 64)
        .load(4, &[], address)
        .operation(OperationClass::Integer, 5, &[4])
        .repeat(0, 6)
        .exit();
    script.kernel.name = "_Z6gatherPiPKi".to_owned();
    script
}

/// A GPU that counts over time.
fn gpu(changes: &[&str], series: Option<Interval>) -> Gpu {
    titan_v(changes).with_series(series)
}

/// Statistics of the three kernels as JSON.
pub fn statistics(changes: &[&str], series: Option<Interval>) -> String {
    let mut gpu = gpu(changes, series);
    let mut report = Report::new("titan-v");
    for (number, script) in (1..).zip([stream(320), arithmetic(160), gather(400), stream(100)]) {
        let mut script = script;
        script.kernel.launch = number;
        let ranges = [["step", "forward"], ["step", "backward"]][usize::from(number > 2)];
        report.add_in(crate::script::launch(&mut gpu, &script), ranges);
    }
    let spec = GpuSpec::changed("titan-v", changes.iter().copied()).unwrap();
    let mut text = Vec::new();
    Run::new("titan-v", &[&report]).with_power(&spec.power).write(Format::Json, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Statistics with a series.
pub fn with_series() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    let interval = NonZero::new(100).map(Interval::Cycles);
    TEXT.get_or_init(|| statistics(&[], interval))
}

/// Statistics of another GPU without a series.
pub fn without_series() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| statistics(&["l2.mshrs=16"], None))
}

/// The page of a run.
pub fn page(text: &str) -> String {
    run_report::render(Source { name: "kernels --size 4096", text }, None).unwrap()
}

/// The page of two runs.
pub fn comparison() -> String {
    let first = Source { name: "before.json", text: with_series() };
    run_report::render(first, Some(Source { name: "after.json", text: without_series() })).unwrap()
}

/// The page of a correlation, with made-up values of a card.
pub fn correlation() -> String {
    let launch = |place: u32| {
        let card = 10_f64.powf(2.0 + f64::from(place) / 6.0);
        let ours = card * (0.7 + f64::from(place % 5) * 0.15);
        format!(
            "{{\"kernel\": \"kernel{place}(float*)\", \"metrics\": {{\"gpc__cycles_elapsed.max\": {{\"ours\": {ours}, \"card\": {card}}}, \
             \"dram__sectors.sum\": {{\"ours\": {}, \"card\": {}}}}}}}",
            card * 3.0,
            card * 3.2
        )
    };
    let program = |name: &str, first: u32| {
        let launches: Vec<String> = (first..first + 12).map(launch).collect();
        format!("{{\"program\": \"{name}\", \"launches\": [{}], \"unmatched\": []}}", launches.join(", "))
    };
    let text = format!("{{\"metrics\": [], \"programs\": [{}, {}]}}", program("atax", 0), program("bicg", 9));
    run_report::render(Source { name: "correlation.json", text: &text }, None).unwrap()
}

/// The page of a sweep, with made-up values.
pub fn sweep() -> String {
    let configuration = |place: u32| {
        let cycles = 1e6 / f64::from(place + 1) + 2e5;
        format!(
            "{{\"configuration\": \"titan-v l2.size={}KiB\", \"cycles\": {cycles}, \"bound\": 0.04, \"timed\": {}, \"work\": 0.2, \
             \"groups\": [{{\"kernel\": \"_Z5triadPfPKfS1_i\", \"cycles\": {}}}, {{\"kernel\": \"gather\", \"cycles\": {}}}]}}",
            96 << place,
            cycles / 5.0,
            cycles * 0.7,
            cycles * 0.3
        )
    };
    let all: Vec<String> = (0..7).map(configuration).collect();
    let text = format!("{{\"configurations\": [{}]}}", all.join(", "));
    run_report::render(Source { name: "sweep.results/estimate.json", text: &text }, None).unwrap()
}

/// Statistics with counts by program counter. The first kernel has a listing with CUDA source.
pub fn with_source_counts() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut gpu = titan_v(&[]).with_pc_counts(true);
        let mut report = Report::new("titan-v");
        for (number, script) in (1..).zip([stream(320), arithmetic(160)]) {
            let mut script = script;
            script.kernel.launch = number;
            let mut record = crate::script::launch(&mut gpu, &script);
            if number == 1 {
                record.source_counts.as_mut().unwrap().listing = Some(5);
                report.list(5, listing);
            }
            report.add(record);
        }
        report.text(Format::Json).unwrap()
    })
}

/// A listing of [`stream`], whose instructions have lines from 100 on.
fn listing() -> Listing {
    let texts =
        ["ld.global.f32 %f1, [%rd1];", "ld.global.f32 %f2, [%rd2];", "fma.rn.f32 %f3, %f1, %f4, %f2;"];
    let line = |(place, text): (u32, &&str)| ListedLine {
        line: 100 + place,
        function: "triad".to_owned(),
        text: (*text).to_owned(),
        source: Some((0, 12 + place / 2)),
    };
    let file = ListedFile {
        name: "/home/user/triad.cu".to_owned(),
        lines: vec![(12, "    float x = b[i];".to_owned()), (13, "    a[i] = x + s * c[i];".to_owned())],
    };
    let lines = (0..).zip(&texts).map(line).collect();
    Listing { number: 5, kernel: "_Z5triadPfPKfS1_i".to_owned(), files: vec![file], lines }
}
