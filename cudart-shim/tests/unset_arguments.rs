//! Resumed runs of programs that pass on bytes which they have not set.

#![allow(clippy::expect_used)]

mod common;

use common::steps::{Place, command, compiled, text};

#[test]
fn what_calls_leave_on_the_stack_is_the_same_whether_a_run_is_saved_or_resumed() {
    let (program, place) = (compiled("unset"), Place::new());
    let file = place.path("here.vck");
    let saving = [("VOLTSIM_CHECKPOINT", "kernel=2"), ("VOLTSIM_CHECKPOINT_FILE", &file)];
    for settings in [&saving[..], &[("VOLTSIM_RESUME", &file)]] {
        let output = command(&program).envs(settings.iter().copied()).output().expect("the program starts");
        assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("17\n", ""));
    }
}
