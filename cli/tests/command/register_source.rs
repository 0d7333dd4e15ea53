//! Registers of timed kernels: from lowering, from machine code, from an option.

use serde_json::Value;

use super::builder::{EntryBuilder, assembled_cubin, container};
use super::launches::{Captured, KERNELS, SUM};

/// Registers and static shared bytes of `remainder` in the machine code.
const ASSEMBLED: (u32, u32) = (72, 16 << 10);

/// The program whose kernels are PTX and, for one architecture, machine code.
fn program(architecture: u32) -> Captured {
    let kernels = [("remainder", ASSEMBLED.0, ASSEMBLED.1), ("walk", 255, 0)];
    let entries = [
        EntryBuilder::ptx(70, KERNELS),
        EntryBuilder::new(2, architecture, &assembled_cubin(&kernels)).lz4(),
    ];
    Captured::with_image(&container(&entries))
}

/// Statistics of the kernel `remainder` in a detailed run, and the messages.
fn remainder(captured: &Captured, options: &[&str]) -> (Value, String) {
    let run = ["run", "--mode", "detailed", "--statistics", "run.json"];
    let outcome = captured.place.voltsim(&[&run[..], options, &["--", "./launches", "2"]].concat());
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, SUM), "{}", outcome.stderr);
    (launch_of(&captured.place.read("run.json"), "remainder"), outcome.stderr)
}

fn launch_of(statistics: &str, kernel: &str) -> Value {
    let statistics: Value = serde_json::from_str(statistics).unwrap();
    let launches = statistics["launches"].as_array().unwrap();
    launches.iter().find(|launch| launch["kernel"] == kernel).unwrap().clone()
}

#[test]
fn machine_code_for_the_gpu_gives_registers_and_shared_memory() {
    let (launch, _) = remainder(&program(70), &["--gpu", "v100"]);
    assert_eq!(launch["registers.source"], "machine code");
    assert_eq!((&launch["registers"], &launch["shared_bytes"]), (&ASSEMBLED.0.into(), &ASSEMBLED.1.into()));
    // 65,536 registers hold 28 warps of 72.
    assert_eq!(launch["occupancy"]["limits"]["registers"], 28);
}

#[test]
fn machine_code_for_another_gpu_does_not_count() {
    for (architecture, gpu) in [(72, "v100"), (70, "rtx2070s")] {
        let (launch, _) = remainder(&program(architecture), &["--gpu", gpu]);
        assert_eq!((&launch["registers.source"], &launch["shared_bytes"]), (&"lowering".into(), &0.into()));
        assert_ne!(launch["registers"], ASSEMBLED.0);
    }
}

#[test]
fn option_overrides_machine_code_and_unmet_names_are_told() {
    let set = ["--set", "kernel.registers=remainder:30", "--set", "kernel.registers=nowhere:10"];
    let (launch, said) = remainder(&program(70), &[&["--gpu", "v100"], &set[..]].concat());
    assert_eq!((&launch["registers.source"], &launch["registers"]), (&"option".into(), &30.into()));
    assert!(said.contains("kernel.registers=nowhere: no kernel has this name"), "{said}");
    assert!(!said.contains("kernel.registers=remainder"), "{said}");
}

#[test]
fn recordings_keep_the_source_of_registers() {
    let captured = program(70);
    let place = &captured.place;
    let options = ["record", "-o", "recorded", "--only", "kernel=remainder", "--", "./launches"];
    assert_eq!(place.voltsim(&options).status, 0);
    let timed = |options: &[&str]| {
        let time = ["time", "recorded", "--gpu", "v100", "--statistics", "time.json"];
        let outcome = place.voltsim(&[&time[..], options].concat());
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        launch_of(&place.read("time.json"), "remainder")
    };
    let kept = timed(&[]);
    assert_eq!(
        (&kept["registers.source"], &kept["registers"]),
        (&"machine code".into(), &ASSEMBLED.0.into())
    );
    let given = timed(&["--set", "kernel.registers=remainder:20"]);
    assert_eq!((&given["registers.source"], &given["registers"]), (&"option".into(), &20.into()));
}

#[test]
fn malformed_registers_are_refused() {
    let captured = Captured::program();
    let set = "kernel.registers=remainder:many";
    let outcome = captured.place.voltsim(&["run", "--set", set, "--", "./launches"]);
    assert_ne!(outcome.status, 0);
    assert!(outcome.stderr.contains("must be kernel.registers=NAME:N"), "{}", outcome.stderr);
}
