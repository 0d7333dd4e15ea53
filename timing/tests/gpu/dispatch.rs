//! CTA dispatch: SM and cycle of each start.

use warp_stream::{Kernel, KernelSource, WarpSource};

use crate::script::{Script, count, launch, titan_v};

#[test]
fn ctas_are_dispatched_to_sms_round_robin() {
    let script = Script::new(8, 32).exit();
    launch(&mut titan_v(&["chip.sms=3"]), &script);
    let started: Vec<(u64, u32)> = script.started();
    assert_eq!(started, [(0, 0), (1, 1), (2, 2), (3, 0), (4, 1), (5, 2), (6, 0), (7, 1)]);
}

#[test]
fn sm_starts_one_cta_a_cycle() {
    // The second launch finds its instructions cached and waits for no parameters, so CTAs issue
    // immediately.
    let mut gpu = titan_v(&["chip.sms=2", "constant.parameters=0"]);
    let script = || Script::new(32, 32).load(8, &[], |thread| thread.cta << 20).store(&[8], |_| 0).exit();
    launch(&mut gpu, &script());
    let second = script();
    launch(&mut gpu, &second);
    let issues = second.first_issues();
    assert!((15..=16).contains(&(issues[31] - issues[0])), "{issues:?}");
}

#[test]
fn cta_waits_for_free_resources() {
    // 2,048 threads fit an SM.
    let script = Script::new(5, 1024).load(8, &[], |thread| thread.number * 128).store(&[8], |_| 0).exit();
    let record = launch(&mut titan_v(&["chip.sms=1"]), &script);
    assert_eq!(script.most_at_once(), 2);
    assert_eq!(count(&record, "gpu.ctas_ended"), 5);
}

#[test]
fn every_cta_is_executed_once() {
    let script = Script::new(20_000, 64).exit();
    let record = launch(&mut titan_v(&[]), &script);
    let mut started: Vec<u64> = script.started().into_iter().map(|(cta, _)| cta).collect();
    started.sort_unstable();
    assert!(started.into_iter().eq(0..20_000));
    assert_eq!(count(&record, "sm.warp_instructions"), 40_000);
    assert_eq!(count(&record, "gpu.ctas_ended"), 20_000);
}

/// A launch whose even CTAs completed elsewhere.
struct Odd(Script);

impl KernelSource for Odd {
    fn kernel(&self) -> &Kernel {
        self.0.kernel()
    }

    fn cta_count(&self) -> u64 {
        self.kernel().shape.cta_count() / 2
    }

    fn cta(&self, position: u64) -> u64 {
        2 * position + 1
    }

    fn warps(&self, sm: u32) -> Box<dyn WarpSource + '_> {
        self.0.warps(sm)
    }
}

#[test]
fn ctas_completed_elsewhere_are_not_started() {
    let odd = Odd(Script::new(8, 32).exit());
    let record = titan_v(&["chip.sms=3"]).launch(&odd, &mut ()).unwrap();
    assert_eq!(odd.0.started(), [(1, 0), (3, 1), (5, 2), (7, 0)]);
    assert_eq!(count(&record, "gpu.ctas_ended"), 4);
}
