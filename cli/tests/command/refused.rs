//! Exit status 88: kernels that were refused although the program ends with 0.

use super::{Outcome, Workplace};

fn run(options: &[&str], script: &str) -> Outcome {
    super::launches::libraries();
    Workplace::new().voltsim(&[options, &["--", "sh", "-c", script]].concat())
}

/// A script's line that does what the libraries do for a refused launch.
fn refusal(state: &str, process: u32, kernel: &str) -> String {
    let file = super::handed_over("refused_status");
    format!("printf '{state}\\t{process}\\t{kernel}\\t/lib/liba.so\\n' >> {file}")
}

#[test]
fn an_open_refusal_makes_a_success_status_88() {
    let open = refusal("open", 1, "gemm");
    let outcome = run(&["run"], &open);
    assert_eq!(outcome.status, 88);
    assert!(outcome.stderr.contains("kernel gemm of /lib/liba.so was refused"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--strict"), "{}", outcome.stderr);
    assert_eq!(run(&["run"], &format!("{open}; exit 3")).status, 3);
    assert_eq!(run(&["run"], &format!("{open}; {}", refusal("told", 1, "gemm"))).status, 0);
    assert_eq!(run(&["run"], &format!("{open}; {}", refusal("told", 2, "gemm"))).status, 88);
}

#[test]
fn every_command_that_starts_a_program_has_status_88() {
    let open = refusal("open", 1, "gemm");
    for options in [
        ["run", "--check", "all"].as_slice(),
        &["trace", "-o", "t.json"],
        &["capture", "-o", "c"],
        &["record", "-o", "r"],
        &["coverage", "-o", "v"],
        &["run", "--checkpoint", "kernel=1", "-o", "k"],
    ] {
        assert_eq!(run(options, &open).status, 88, "{options:?}");
    }
}

#[test]
fn strict_is_told_to_the_libraries() {
    let script = format!("exit $(({} + 4))", super::handed_over("strict").trim_matches('"'));
    assert_eq!(run(&["run", "--strict"], &script).status, 5);
}

#[test]
fn a_signal_that_ends_the_program_ends_the_command() {
    super::launches::libraries();
    let place = Workplace::new();
    let script = format!("{} run -- sh -c 'kill -TERM $$'; echo $?", env!("CARGO_BIN_EXE_voltsim"));
    assert_eq!(place.run(std::path::Path::new("sh"), &["-c", &script]).stdout, "143\n");
}

#[test]
fn a_timeline_is_whole_when_a_signal_ends_command_and_program() {
    super::launches::libraries();
    for checks in ["", "--check all"] {
        let place = Workplace::new();
        let command = env!("CARGO_BIN_EXE_voltsim");
        let script = format!("{command} trace {checks} -o t.json -- sh -c 'kill -TERM $$'; echo $?");
        assert_eq!(place.run(std::path::Path::new("sh"), &["-c", &script]).stdout, "143\n");
        assert!(place.read("t.json").ends_with("]\n"), "{}", place.read("t.json"));
    }
}

#[test]
fn a_killed_command_takes_its_program_along() {
    super::launches::libraries();
    let place = Workplace::new();
    place.compile("#include <unistd.h>\nint main(void) { pause(); return 0; }", "pauses", &[]);
    // A process that has ended may stay as a zombie where nobody waits for it.
    let script = format!(
        "{} run -- ./pauses & command=$!; sleep 1; program=$(ps -o pid= --ppid $command | tr -d ' '); \
         kill -9 $command; sleep 0.5; grep -q 'State:.[RSD]' /proc/$program/status && kill -9 $program && echo alive \
         || echo gone",
        env!("CARGO_BIN_EXE_voltsim")
    );
    assert_eq!(place.run(std::path::Path::new("sh"), &["-c", &script]).stdout, "gone\n");
}
