//! A program is told the truth about the GPU that is chosen: by `VOLTSIM_GPU`, with and without
//! timing, or `VOLTSIM_DEVICE`.

#![allow(clippy::expect_used)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

/// The answers that the program `told` prints, by name.
fn told(arguments: &[&str], settings: &[(&str, &str)]) -> BTreeMap<String, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings/told.c");
    let mut command = common::command(&common::compile(&source).expect("the program compiles"));
    let output = command.args(arguments).envs(settings.iter().copied()).output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answer = |line: &str| line.split_once(' ').map(|(name, value)| (name.to_owned(), value.to_owned()));
    text(&output.stdout).lines().filter_map(answer).collect()
}

/// The answers of these names.
fn answers<const COUNT: usize>(told: &BTreeMap<String, String>, names: [&str; COUNT]) -> [String; COUNT] {
    names.map(|name| told[name].clone())
}

const SHOWN: [&str; 5] = ["name", "major", "minor", "sms", "clock_rate"];

#[test]
fn a_gpu_tells_name_capability_sms_and_clock_in_every_mode() {
    for mode in ["functional", "detailed"] {
        let of = |gpu| answers(&told(&[], &[("VOLTSIM_MODE", mode), ("VOLTSIM_GPU", gpu)]), SHOWN);
        assert_eq!(of("titan-v"), ["NVIDIA TITAN V", "7", "0", "80", "1200000"], "{mode}");
        assert_eq!(of("gtx470"), ["NVIDIA GeForce GTX 470", "2", "0", "14", "607000"], "{mode}");
        assert_eq!(of("rtx-3090"), ["NVIDIA GeForce RTX 3090", "8", "6", "82", "1395000"], "{mode}");
    }
}

#[test]
fn a_gpu_tells_memory_caches_and_limits() {
    let names = ["memory_clock_rate", "bus_width", "l2", "threads_per_sm", "shared_per_sm", "shared_optin"];
    let of = |gpu| answers(&told(&[], &[("VOLTSIM_GPU", gpu)]), names);
    assert_eq!(of("titan-v"), ["850000", "3072", "4718592", "2048", "98304", "98304"]);
    assert_eq!(of("rtx3060"), ["7500000", "192", "3145728", "1536", "102400", "101376"]);
    let limits = answers(&told(&[], &[("VOLTSIM_GPU", "gtx470")]), ["registers_per_cta", "grid_x", "memory"]);
    assert_eq!(limits, ["32768", "65535", "1341849600"]);
}

#[test]
fn a_changed_gpu_is_told_as_changed() {
    let settings = [("VOLTSIM_GPU", "titan-v"), ("VOLTSIM_SET", "chip.sms=4\ndevice.memory=1GiB")];
    assert_eq!(answers(&told(&[], &settings), ["sms", "memory"]), ["4", "1073741824"]);
}

#[test]
fn another_device_keeps_sms_and_clock_of_the_simulated_gpu() {
    let settings = [("VOLTSIM_MODE", "detailed"), ("VOLTSIM_GPU", "tiny"), ("VOLTSIM_DEVICE", "h100")];
    assert_eq!(answers(&told(&[], &settings), SHOWN), ["NVIDIA H100 80GB HBM3", "9", "0", "2", "1200000"]);
}

#[test]
fn cycles_over_the_clock_rate_are_the_time_of_events() {
    for gpu in ["tiny", "gtx470", "v100"] {
        let told = told(&["measure"], &[("VOLTSIM_MODE", "detailed"), ("VOLTSIM_GPU", gpu)]);
        let [clock, events] = answers(&told, ["by_clock", "by_events"]);
        let (clock, events): (f64, f64) = (clock.parse().expect("a time"), events.parse().expect("a time"));
        // Events count whole nanoseconds.
        assert!(clock > 0.001 && (clock - events).abs() < 3e-6, "{gpu}: {clock} and {events} ms");
    }
}

#[test]
fn a_file_of_ones_own_is_told_and_timed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.toml");
    let text = "base = \"tiny\"\n[device]\nname = { value = \"Mine\", unit = \"text\", source = \"mine\" }\n\
                [timing.clocks]\ncore = { value = 2, unit = \"GHz\", source = \"mine\" }\n";
    std::fs::write(&file, text).expect("the file");
    let file = file.to_str().expect("a name in UTF-8");
    let settings = [("VOLTSIM_MODE", "detailed"), ("VOLTSIM_GPU", file)];
    assert_eq!(answers(&told(&[], &settings), SHOWN), ["Mine", "7", "0", "2", "2000000"]);
}
