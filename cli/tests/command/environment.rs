//! Programs in environments as `voltsim setup` makes them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::builder::{EntryBuilder, container, host_elf};
use super::{Outcome, Workplace, ptx};

const DESCRIPTION: &str = "name = \"mine\"\ndevice = \"device.toml\"\npreload = [\"lib/libfirst.so\"]\n";
const DEVICE: &str =
    "base = \"titan-v\"\n[attributes]\ncompute_capability_major = 8\ncompute_capability_minor = 0\n";

/// A folder with the environment `e`. A program there prints its surroundings, one library is to be
/// preloaded, and another has PTX for one kernel and machine code for the other.
fn environment() -> Workplace {
    let place = Workplace::new();
    for folder in ["e/bin", "e/lib"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.write("e/voltsim-environment.toml", DESCRIPTION);
    place.write("e/device.toml", DEVICE);
    place.compile("int first(void) { return 7; }", "e/lib/libfirst.so", &["-shared", "-fPIC"]);
    let tell = "#include <stdio.h>\n#include <stdlib.h>\nint first(void) __attribute__((weak));
        int main(void) { return printf(\"%s %d\", getenv(\"VOLTSIM_RUN\"), first ? first() : 0) < 0; }";
    place.compile(tell, "e/bin/tell", &["-fPIE"]);
    let code = container(&[EntryBuilder::ptx(75, &ptx("kept", "")), EntryBuilder::cubin(75, &["lost"])]);
    place.write("e/lib/libkernels.so", host_elf(&[(".nv_fatbin", &code)]));
    place
}

/// The program was told of this device, and its first library was loaded.
fn assert_device(outcome: &Outcome, device: &str) {
    assert!(outcome.stdout.contains(&format!(";device={device};")), "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.ends_with(" 7"), "{}{}", outcome.stdout, outcome.stderr);
}

#[test]
fn program_gets_device_and_libraries_of_its_environment() {
    let place = environment();
    let outcome = place.voltsim(&["run", "--", "e/bin/tell"]);
    assert_device(&outcome, &place.path("e/device.toml").display().to_string());
}

#[test]
fn device_option_overrides_that_of_the_environment() {
    let outcome = environment().voltsim(&["run", "--device", "v100", "--", "e/bin/tell"]);
    assert_device(&outcome, "v100");
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
fn doctor_judges_an_environment_by_its_device() {
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

/// An executable script in the environment.
fn script(place: &Workplace, file: &str, text: &str) {
    place.write(file, text);
    std::fs::set_permissions(place.path(file), PermissionsExt::from_mode(0o755)).unwrap();
}

/// Runs a program in the environment `e` as its profile `mine`, with a `pip` and a `python` of the
/// host on the path.
fn in_profile(place: &Workplace, arguments: &[&str]) -> super::Outcome {
    std::fs::create_dir_all(place.path("host")).unwrap();
    for name in ["pip", "python3"] {
        script(place, &format!("host/{name}"), "#!/bin/sh\necho the host\n");
    }
    std::fs::create_dir_all(place.path("data/voltsim")).unwrap();
    let link = place.path("data/voltsim/mine");
    if !link.exists() {
        std::os::unix::fs::symlink(place.path("e"), link).unwrap();
    }
    let path = format!("{}:{}", place.path("host").display(), std::env::var("PATH").unwrap());
    let settings = [("PATH", path.into()), ("XDG_DATA_HOME", place.path("data"))];
    let command = [&["run", "--profile", "mine", "--"], arguments].concat();
    place.run_with(Path::new(env!("CARGO_BIN_EXE_voltsim")), &command, &settings)
}

#[test]
fn pip_of_the_host_is_not_started_in_an_environment() {
    let place = environment();
    script(&place, "e/bin/python", "#!/bin/sh\n[ \"$1\" = -c ] && exit 1\necho own \"$@\"\n");
    for name in ["pip", "pip3", "python3"] {
        let outcome = in_profile(&place, &[name, "list"]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{name}");
        let said = format!("the environment `mine` has no `{name}`, and the host's is not for it");
        assert!(outcome.stderr.contains(&said) && outcome.stderr.contains("remedy: "), "{}", outcome.stderr);
    }
    assert_eq!(in_profile(&place, &["python", "x.py"]).stdout, "own x.py\n");
}

#[test]
fn pip_of_an_environment_is_its_own_script_or_module() {
    let place = environment();
    script(&place, "e/bin/python", "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\necho own \"$@\"\n");
    assert_eq!(in_profile(&place, &["pip", "list"]).stdout, "own -m pip list\n");
    // A script that a host's Python would run is run by the environment's.
    script(&place, "e/bin/pip", "#!/usr/bin/python3\n");
    let outcome = in_profile(&place, &["pip", "list"]);
    assert!(
        outcome.stdout.starts_with("own ") && outcome.stdout.ends_with("/bin/pip list\n"),
        "{}",
        outcome.stdout
    );
    script(&place, "e/bin/pip", "#!/bin/sh\necho its pip \"$@\"\n");
    assert_eq!(in_profile(&place, &["pip", "list"]).stdout, "its pip list\n");
}
