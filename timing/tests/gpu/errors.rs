//! Launches that fail or are cancelled.

use std::ops::ControlFlow;

use timing::gpu::{LaunchError, Observer, Progress};

use crate::script::{Script, launch, titan_v, try_launch};

#[test]
fn fault_names_kernel_and_cta() {
    let script = Script::new(200, 32).exit().faulting(123);
    let error = try_launch(&mut titan_v(&[]), &script).unwrap_err();
    assert!(matches!(error, LaunchError::Fault { sm: 43, .. }), "{error:?}");
    assert_eq!(error.to_string(), "kernel script on SM 43: a bad address");
}

#[test]
fn cta_that_fits_no_sm_is_an_error() {
    let script = Script::new(1, 32).exit().with(|kernel| kernel.shared_bytes = 1 << 20);
    assert!(matches!(try_launch(&mut titan_v(&[]), &script), Err(LaunchError::NoRoom { .. })));
}

#[test]
fn cooperative_launch_beyond_residency_is_an_error() {
    let script = |ctas| Script::new(ctas, 1024).exit().with(|kernel| kernel.cooperative = true);
    launch(&mut titan_v(&[]), &script(160));
    let error = try_launch(&mut titan_v(&[]), &script(161)).unwrap_err();
    assert!(matches!(error, LaunchError::NotResident { ctas: 161, room: 160, .. }), "{error:?}");
}

struct Impatient(Vec<u64>);

impl Observer for Impatient {
    fn progress(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        self.0.push(progress.ctas_done);
        if self.0.len() < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// A long kernel.
fn long() -> Script {
    let load = |thread: crate::script::Thread| thread.number * 128 + thread.iteration * 8192;
    Script::new(10_000, 32).load(8, &[8], load).repeat(0, 5).exit()
}

#[test]
fn observer_sees_progress_and_can_cancel() {
    let mut observer = Impatient(Vec::new());
    let mut gpu = titan_v(&["chip.sms=2"]);
    assert!(matches!(gpu.launch(&long(), &mut observer), Err(LaunchError::Cancelled)));
    assert_eq!(observer.0.len(), 5);
    assert!(observer.0.is_sorted() && observer.0[4] > 0, "{:?}", observer.0);
}

#[test]
fn launch_after_an_error_runs_as_on_a_new_gpu() {
    let mut gpu = titan_v(&["chip.sms=2"]);
    assert!(gpu.launch(&long(), &mut Impatient(Vec::new())).is_err());
    let next = launch(&mut gpu, &long());
    let new = launch(&mut titan_v(&["chip.sms=2"]), &long());
    assert!(next.start >= 16 * 1024);
    // The phases of the L2 and DRAM clocks differ, so cycles differ slightly.
    assert!(next.cycles.abs_diff(new.cycles) * 100 < new.cycles, "{} {}", next.cycles, new.cycles);
}
