//! Resumed runs of programs that pass uninitialised bytes.

#![allow(clippy::expect_used)]

mod common;

use common::steps::{Place, command, compiled, text};

#[test]
fn stack_contents_are_reproducible_in_resumed_runs() {
    let (program, place) = (compiled("unset"), Place::new());
    let file = place.path("here.vck");
    let saving = [("VOLTSIM_CHECKPOINT", "kernel=2"), ("VOLTSIM_CHECKPOINT_FILE", &file)];
    for settings in [&saving[..], &[("VOLTSIM_RESUME", &file)]] {
        let output = command(&program).envs(settings.iter().copied()).output().expect("the program starts");
        assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("17\n", ""));
    }
}
