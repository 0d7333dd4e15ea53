//! Invalid points, and states of other launches.

use std::time::Duration;

use functional::device::Settings;
use functional::fault::FaultKind;
use functional::launch::LaunchError;
use functional::memory::AllocationKind;
use functional::suspend::{Refusal, ResumeError, SuspendError, Window};

use crate::bench::{Bench, Case, kernel, stepped};
use crate::points::GRID_BARRIER;

const POINT: Window = Window { first: 1, ctas: 1, instructions: 3 };

/// All CTAs but the last wait for the last.
const WAITS: &str = "
    setp.eq.u32 %p1, %r2, 3; @%p1 bra LAST;
    WAIT: ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT; ret;
    LAST: st.volatile.global.u32 [%rd1], 1; ret;";

fn refusal(bench: &Bench, window: &Window) -> Refusal {
    match bench.launch_until(window) {
        Err(SuspendError::Refused { kernel, refusal, .. }) if kernel == "test" => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn point_after_the_last_cta_is_refused() {
    let bench = Bench::new(&Case::new("ret;", (4, 32), 4));
    let refused = refusal(&bench, &Window { first: 4, ctas: 1, instructions: 1 });
    assert_eq!(refused, Refusal::BeyondEnd { first: 4, ctas: 4 });
}

#[test]
fn instruction_windows_need_machine_code() {
    let case = Case::new("ret;", (4, 32), 4);
    let bench = Bench::with(&case, Settings { timed: false, ..stepped() });
    assert_eq!(refusal(&bench, &POINT), Refusal::NotStepped);
}

#[test]
fn cooperative_windows_start_at_the_first_cta() {
    let bench = Bench::new(&Case::new(GRID_BARRIER, (12, 64), 36).cooperative());
    assert_eq!(refusal(&bench, &POINT), Refusal::Cooperative);
}

#[test]
fn waiting_ctas_before_a_window_are_refused() {
    let bench = Bench::new(&Case::new(WAITS, (4, 32), 1));
    let refused = bench.launch_until(&Window { first: 3, ctas: 1, instructions: 1 });
    let Err(SuspendError::Refused { refusal, rest: Some(rest), .. }) = refused else { panic!("{refused:?}") };
    assert!(matches!(refusal, Refusal::Waits { .. }), "{refusal}");
    assert_eq!(bench.words(), [0]);
    rest.finish().unwrap();
    assert_eq!(bench.words(), [1]);
}

#[test]
fn ctas_of_a_window_may_wait_for_later_ctas() {
    let case = Case::new(WAITS, (4, 32), 1);
    let stopped = crate::bench::stop(&case, &Window { first: 0, ctas: 2, instructions: 50 });
    let left = crate::bench::go_on(&case, &stopped, stepped());
    assert_eq!(left.memory[0].1[..4], [1, 0, 0, 0]);
}

#[test]
fn slow_ctas_do_not_count_as_waiting() {
    // Each thread adds as often as the other CTAs take turns.
    let case = Case::new(
        "mov.u32 %r5, 0; LOOP: red.global.add.u32 [%rd1], 1; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 200000;
         @%p1 bra LOOP; ret;",
        (2, 32),
        1,
    );
    let bench = Bench::new(&case);
    let state = bench.launch_until(&Window { first: 1, ctas: 0, instructions: 0 }).unwrap();
    assert_eq!(bench.words(), [32 * 200_000]);
    assert_eq!(state.ctas_started(), 0);
}

#[test]
fn fault_before_the_point_fails_the_launch() {
    let case = Case::new("mov.u64 %rd4, 64; st.global.u32 [%rd4], %r4; ret;", (4, 32), 1);
    for window in [POINT, Window { first: 0, ctas: 1, instructions: 50 }] {
        let bench = Bench::new(&case);
        let refused = bench.launch_until(&window);
        assert!(matches!(refused, Err(SuspendError::Launch(LaunchError::Fault(_)))), "{refused:?}");
    }
}

#[test]
fn windows_are_limited_to_resident_ctas() {
    let bench = Bench::new(&Case::new("ret;", (10_000, 1024), 1));
    let refused = refusal(&bench, &Window { first: 0, ctas: 9000, instructions: 1 });
    assert_eq!(refused, Refusal::TooMany { ctas: 9000, most: 160 });
    assert!(bench.launch_until(&Window { first: 0, ctas: 9000, instructions: 0 }).is_ok());
}

#[test]
fn watchdog_ends_an_endless_window() {
    let settings = Settings { watchdog: Some(Duration::from_millis(100)), ..stepped() };
    let bench = Bench::with(&Case::new("LOOP: add.u32 %r4, %r4, 1; bra.uni LOOP;", (2, 32), 1), settings);
    let refused = bench.launch_until(&Window { first: 0, ctas: 1, instructions: u64::MAX });
    let Err(SuspendError::Launch(LaunchError::Fault(fault))) = refused else { panic!("{refused:?}") };
    assert!(matches!(fault.kind, FaultKind::Timeout { .. }), "{fault}");
}

#[test]
fn kernel_with_runtime_calls_cannot_be_suspended() {
    let declarations = format!(
        ".extern .func (.param .b32 r) cudaEventCreateWithFlags(.param .b64 e, .param .b32 f);\n{}",
        kernel(
            "{ .param .b64 e; .param .b32 f; .param .b32 r; st.param.b64 [e], %rd1; st.param.b32 [f], 2;
               call.uni (r), cudaEventCreateWithFlags, (e, f); }
             bar.sync 0; st.global.u32 [%rd3+8], %r4; ret;"
        )
    );
    let bench = Bench::new(&Case::of(&declarations, (2, 32), 66));
    let refused = bench.launch_until(&Window { first: 1, ctas: 1, instructions: 2 });
    let Err(SuspendError::Refused { refusal, rest: Some(rest), .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(refusal, Refusal::AsksForWork);
    rest.finish().unwrap();
    assert_eq!(bench.words()[2..], (0..64).collect::<Vec<u32>>());
}

#[test]
fn state_of_another_launch_names_the_difference() {
    let case =
        Case::new("mov.u32 %r5, 1; add.u32 %r5, %r5, %r4; st.global.u32 [%rd3], %r5; ret;", (4, 32), 128);
    let state = Bench::new(&case).launch_until(&POINT).unwrap();
    let mut others = vec![(case.clone(), ""); 5];
    others[0] =
        (Case { text: case.text.replace("mov.u32 %r5, 1", "mov.u32 %r5, 2"), ..case.clone() }, "code");
    others[1].0.config.shape.grid = [5, 1, 1];
    others[1].1 = "CTAs";
    others[2].0.config.shape.block = [64, 1, 1];
    others[2].1 = "threads";
    others[3].0.config.dynamic_shared = 16;
    others[3].1 = "shared";
    others[4].0.config.parameters = vec![0; 8];
    others[4].1 = "parameters";
    for (other, word) in others {
        let refused = Bench::new(&other).launch_from(&state);
        let Err(ResumeError::Foreign { kernel, reason }) = refused else { panic!("{refused:?}") };
        assert!(kernel == "test" && reason.contains(word), "{reason}");
    }
}

#[test]
fn occupied_launch_memory_is_an_error() {
    let case = Case::new(GRID_BARRIER, (4, 32), 12).cooperative();
    let bench = Bench::new(&case);
    let state = bench.launch_until(&Window { first: 0, ctas: 4, instructions: 9 }).unwrap();
    bench.device.memory.allocate(1 << 12, 1, AllocationKind::Parameters).unwrap();
    assert!(matches!(bench.launch_from(&state), Err(ResumeError::Taken { .. })));
}
