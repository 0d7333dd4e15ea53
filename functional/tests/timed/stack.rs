//! Lanes on a SIMT stack: equal results if lanes need not continue alone, else an error.

use functional::fault::{Fault, FaultKind};
use functional::launch::{LaunchConfig, LaunchError};
use functional::timed::turns::Order;

use crate::bench::{Bench, ORDERS, Step, kernel};
use warp_stream::LaunchShape;

/// Launches a CTA on a SIMT stack and returns the result.
fn on_a_stack(
    order: Order,
    text: &str,
    block: u32,
    words: usize,
) -> Result<(Vec<u32>, Vec<Step>), Box<Fault>> {
    let bench = Bench::new(text);
    let out = bench.words(&vec![0; words]);
    let config = LaunchConfig {
        shape: LaunchShape::new([1, 1, 1], [block, 1, 1]),
        simt_stack: true,
        ..LaunchConfig::default()
    };
    match bench.launch_as(order, config, out) {
        Ok(steps) => Ok((bench.read(out, words), steps)),
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(other) => panic!("{other}"),
    }
}

/// Fault of a kernel that never ends on a SIMT stack.
fn deadlock(text: &str) -> String {
    let fault = on_a_stack(Order::InTurn, text, 32, 40).unwrap_err();
    match fault.kind {
        FaultKind::Deadlock(reason) => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn diverged_lanes_reconverge() {
    let text = kernel(
        "setp.lt.u32 %p1, %r1, 7; mov.u32 %r5, 1; @%p1 bra THEN; add.u32 %r5, %r5, 10; bra.uni DONE;
         THEN: add.u32 %r5, %r5, 100;
         DONE: activemask.b32 %r6; add.u32 %r5, %r5, %r6; st.global.u32 [%rd3], %r5; ret;",
    );
    let expected: Vec<u32> = (0..32).map(|lane| if lane < 7 { 100 } else { 10 }).collect();
    for order in ORDERS {
        assert_eq!(on_a_stack(order, &text, 32, 32).unwrap().0, expected, "{order:?}");
    }
}

#[test]
fn branch_sides_run_one_after_the_other() {
    // A load that may spin ends a fragment's turn; on a stack, the fragment continues.
    let side = |name: &str, lanes: &str| {
        format!(
            "{name}: mov.u32 %r6, 0;
             {name}_LOOP: ld.volatile.global.u32 %r7, [%rd1]; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, {lanes};
             @%p2 bra {name}_LOOP; bra.uni DONE;"
        )
    };
    let text = kernel(&format!(
        "setp.lt.u32 %p1, %r1, 7; @%p1 bra THEN; {} {} DONE: st.global.u32 [%rd3], %r6; ret;",
        side("ELSE", "50"),
        side("THEN", "60"),
    ));
    let (left, steps) = on_a_stack(Order::InTurn, &text, 32, 32).unwrap();
    assert_eq!(left, (0..32).map(|lane| if lane < 7 { 60 } else { 50 }).collect::<Vec<u32>>());
    let loads = steps.iter().filter(|step| step.instruction.memory.is_some()).map(|step| step.active);
    let mut sides: Vec<u32> = loads.collect();
    sides.dedup();
    assert_eq!(sides, [!0 << 7, (1 << 7) - 1, !0]);
}

#[test]
fn lanes_leaving_a_loop_wait_for_the_others() {
    let text = kernel(
        "mov.u32 %r5, 0;
         LOOP: setp.ge.u32 %p1, %r5, %r1; @%p1 bra DONE; add.u32 %r5, %r5, 1; bra LOOP;
         DONE: activemask.b32 %r6; st.global.u32 [%rd3], %r6; ret;",
    );
    assert_eq!(on_a_stack(Order::InTurn, &text, 32, 32).unwrap().0, [!0; 32]);
}

#[test]
fn lock_released_before_reconvergence_is_taken_by_all() {
    let text = kernel(
        "TRY: atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra NEXT;
         ld.volatile.global.u32 %r6, [%rd1+4]; add.u32 %r6, %r6, 1; st.volatile.global.u32 [%rd1+4], %r6;
         membar.gl; atom.global.exch.b32 %r7, [%rd1], 0;
         NEXT: @%p1 bra TRY; ret;",
    );
    for order in ORDERS {
        assert_eq!(on_a_stack(order, &text, 64, 2).unwrap().0, [0, 64], "{order:?}");
    }
}

#[test]
fn spinning_for_a_parked_lanes_lock_names_the_option() {
    let reason = deadlock(&kernel(
        "TAKE: atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TAKE;
         atom.global.exch.b32 %r7, [%rd1], 0; ret;",
    ));
    assert!(reason.contains("spin while others of their warp wait"), "{reason}");
    assert!(reason.contains("sm.divergence=independent"), "{reason}");
}

#[test]
fn waiting_for_a_later_branch_side_deadlocks() {
    // Lanes below 7 set the flag of the others; the others run first.
    let reason = deadlock(&kernel(
        "setp.lt.u32 %p1, %r1, 7; @%p1 bra SET;
         WAIT: ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT; bra.uni DONE;
         SET: mov.u32 %r6, 1; st.volatile.global.u32 [%rd1], %r6;
         DONE: ret;",
    ));
    assert!(reason.contains("sm.divergence"), "{reason}");
}

#[test]
fn whole_warp_may_spin_for_another_warp() {
    // Warp 1 sets warp 0's flag, after more turns than a warp may spin for its own lanes.
    let text = kernel(
        "setp.ge.u32 %p1, %r1, 32; @%p1 bra SET;
         WAIT: ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT; ret;
         SET: mov.u32 %r6, 0;
         LATER: add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, 400000; @%p3 bra LATER;
         st.volatile.global.u32 [%rd1], %r6; ret;",
    );
    assert_eq!(on_a_stack(Order::InTurn, &text, 64, 1).unwrap().0, [400_000]);
}
