//! Programs in environments as `voltsim setup` makes them.

use super::builder::{EntryBuilder, container, host_elf};
use super::{Workplace, ptx};

const DESCRIPTION: &str = "name = \"mine\"\ndevice = \"device.toml\"\npreload = [\"lib/libfirst.so\"]\n";
const DEVICE: &str =
    "base = \"titan-v\"\n[attributes]\ncompute_capability_major = 8\ncompute_capability_minor = 0\n";

/// A place with the environment `e`: a program that tells what it was given, a library to be loaded first, and a library with
/// PTX for one kernel and machine code for another.
fn environment() -> Workplace {
    let place = Workplace::new();
    for folder in ["e/bin", "e/lib"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.write("e/voltsim-environment.toml", DESCRIPTION);
    place.write("e/device.toml", DEVICE);
    place.compile("int first(void) { return 7; }", "e/lib/libfirst.so", &["-shared", "-fPIC"]);
    let tell = "#include <stdio.h>\n#include <stdlib.h>\nint first(void) __attribute__((weak));
        int main(void) { return printf(\"%s %d\", getenv(\"VOLTSIM_DEVICE\"), first ? first() : 0) < 0; }";
    place.compile(tell, "e/bin/tell", &["-fPIE"]);
    let code = container(&[EntryBuilder::ptx(75, &ptx("kept", "")), EntryBuilder::cubin(75, &["lost"])]);
    place.write("e/lib/libkernels.so", host_elf(&[(".nv_fatbin", &code)]));
    place
}

#[test]
fn a_program_gets_the_device_and_the_libraries_of_its_environment() {
    let place = environment();
    let outcome = place.voltsim(&["run", "--", "e/bin/tell"]);
    assert_eq!(outcome.stdout, format!("{} 7", place.path("e/device.toml").display()), "{}", outcome.stderr);
}

#[test]
fn a_device_that_the_user_names_goes_before_that_of_the_environment() {
    let outcome = environment().voltsim(&["run", "--device", "v100", "--", "e/bin/tell"]);
    assert_eq!(outcome.stdout, "v100 7", "{}", outcome.stderr);
}

#[test]
fn a_damaged_environment_is_told_with_file_and_remedy() {
    let place = environment();
    std::fs::remove_file(place.path("e/lib/libfirst.so")).unwrap();
    let outcome = place.voltsim(&["run", "--", "e/bin/tell"]);
    assert_eq!(outcome.status, 2);
    for part in ["voltsim-environment.toml", "libfirst.so is not there", "voltsim setup"] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
}

#[test]
fn doctor_looks_at_the_libraries_of_an_environment_with_its_device() {
    let place = environment();
    let outcome = place.voltsim(&["doctor", "--json", "--", "e/bin/tell", "program.py"]);
    let report = outcome.json();
    assert_eq!(report["device"], 80);
    let files = report["files"].as_array().unwrap();
    let library =
        files.iter().find(|file| file["file"].as_str().unwrap().ends_with("libkernels.so")).unwrap();
    assert_eq!(library["code"]["ptx"][0]["kernels"][0], "kept");
    assert_eq!(library["code"]["sass_only"]["lost"][0], "sm_75");
    assert_eq!((outcome.status, &report["problems"]), (0, &serde_json::json!([])));
}
