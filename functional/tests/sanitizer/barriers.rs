//! Barriers and warp-wide instructions without the required threads.

use functional::sanitizer::Severity;

use crate::bench::{Bench, LINE_OF_CODE, assert_says};

#[test]
fn barrier_in_a_divergent_branch_is_an_error() {
    let bench = Bench::new(
        "barriers",
        "setp.lt.u32 %p1, %r1, 16; @%p1 bra THEN; bra.uni DONE;\nTHEN: bar.sync 0;\nDONE: bar.sync 0;",
    );
    let _ = bench.launch(1, 32, &[]);
    let finding = &bench.found()[0];
    assert_says(
        finding,
        &[
            "part of a warp executes an aligned barrier",
            "executed by threads (0,0,0) to (15,0,0) of CTA (0,0,0)",
            &format!("PTX line {}: bar.sync 0;", LINE_OF_CODE + 1),
            "threads (16,0,0) to (31,0,0)",
            &format!("PTX line {}: bar.sync 0;", LINE_OF_CODE + 2),
        ],
    );
}

#[test]
fn barrier_with_a_divergent_predicate_is_an_error() {
    let bench = Bench::new("barriers", "setp.lt.u32 %p1, %r1, 3; @%p1 bar.sync 0;");
    let _ = bench.launch(1, 32, &[]);
    assert_says(
        &bench.found()[0],
        &["executed by threads (0,0,0) to (2,0,0)", "the predicate of threads (3,0,0) to (31,0,0) is false"],
    );
}

#[test]
fn deadlock_names_waiting_threads_and_barriers() {
    let bench = Bench::new(
        "barriers",
        "setp.lt.u32 %p1, %r1, 64; @%p1 bra THEN; bra.uni DONE;\nTHEN: bar.sync 1, 128;\nDONE: bar.sync 2, 128;",
    );
    assert!(bench.launch(1, 128, &[]).is_err());
    assert_says(
        &bench.only(),
        &[
            "deadlock",
            "waited for at barrier 1 by threads (0,0,0) to (31,0,0) and threads (32,0,0) to (63,0,0)",
            "waited for at barrier 2 by threads (64,0,0) to (95,0,0) and threads (96,0,0) to (127,0,0)",
            &format!("PTX line {}: bar.sync 1, 128;", LINE_OF_CODE + 1),
            "128 threads of the CTA have not exited",
        ],
    );
}

#[test]
fn exit_while_others_wait_is_a_warning() {
    let bench = Bench::new("barriers", "setp.ge.u32 %p1, %r1, 32; @%p1 ret; bar.sync 0;");
    bench.launch(1, 64, &[]).unwrap();
    let finding = bench.only();
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.to_string().contains("32 threads wait"), "{finding}");
}

#[test]
fn barrier_after_an_exit_is_a_warning() {
    let bench = Bench::new("barriers", "setp.lt.u32 %p1, %r1, 32; @%p1 ret; bar.sync 0;");
    bench.launch(1, 64, &[]).unwrap();
    let finding = bench.only();
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.to_string().contains("32 threads of the CTA have exited"), "{finding}");
}

#[test]
fn mask_with_predicated_off_lanes_is_an_error() {
    let bench = Bench::new(
        "barriers",
        "setp.lt.u32 %p1, %r1, 8; @%p1 shfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xffffffff;",
    );
    bench.launch(1, 32, &[]).unwrap();
    assert_says(
        &bench.only(),
        &[
            "the mask includes lanes that do not execute the instruction",
            "the predicate of threads (8,0,0) to (31,0,0) is false",
        ],
    );
}

#[test]
fn mask_without_the_executing_lane_is_an_error() {
    let bench = Bench::new("barriers", "vote.sync.ballot.b32 %r5, 1, 0x0000ffff;");
    let _ = bench.launch(1, 32, &[]);
    assert_says(
        &bench.found()[0],
        &["the mask 0x0000ffff excludes the executing lane", "threads (16,0,0) to (31,0,0)"],
    );
}

#[test]
fn missing_lanes_of_a_warp_instruction_are_named() {
    let bench = Bench::new(
        "barriers",
        "setp.lt.u32 %p1, %r1, 16; @%p1 bra THEN; shfl.sync.idx.b32 %r5, %r1, 0, 31, 0xffffffff; bra.uni DONE;
         THEN: vote.sync.ballot.b32 %r5, 1, 0xffffffff;
         DONE: ",
    );
    assert!(bench.launch(1, 32, &[]).is_err());
    assert_says(&bench.only(), &["deadlock", "missing: threads (16,0,0) to (31,0,0)"]);
}

#[test]
fn whole_warps_at_barriers_are_correct() {
    let bench = Bench::new(
        "barriers",
        "bar.sync 0; setp.lt.u32 %p1, %r1, 32; @%p1 bra FIRST; bar.sync 1, 64; bra.uni DONE;
         FIRST: bar.arrive 1, 64;
         DONE: barrier.sync.aligned 0; bar.red.popc.u32 %r5, 0, %p1;",
    );
    bench.launch(2, 64, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn partial_warps_at_unaligned_barriers_are_correct() {
    let bench = Bench::new(
        "barriers",
        "setp.lt.u32 %p1, %r1, 16; @%p1 bra THEN; barrier.sync 0; bra.uni DONE;
         THEN: barrier.sync 0;
         DONE: ",
    );
    bench.launch(1, 32, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn full_masks_in_a_partial_warp_are_correct() {
    let bench = Bench::new(
        "barriers",
        "bar.warp.sync 0xffffffff; shfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xffffffff; bar.sync 0;",
    );
    bench.launch(1, 40, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn masks_may_include_exited_lanes() {
    let bench = Bench::new(
        "barriers",
        "setp.ge.u32 %p1, %r1, 8; @%p1 ret; shfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xffffffff;",
    );
    bench.launch(1, 32, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn lanes_torn_by_a_spinning_lane_are_correct_at_barriers() {
    // Lane 0 of the first CTA waits for the second CTA; the other lanes of its warp reach the barrier
    // first.
    let bench = Bench::new(
        "barriers",
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE; setp.eq.u32 %p2, %r2, 1; @%p2 bra SET;
         SPIN: ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p3, %r5, 0; @%p3 bra SPIN; bra.uni DONE;
         SET: st.volatile.global.u32 [%rd1], 1;
         DONE: bar.sync 0;",
    );
    let flag = bench.allocate(4);
    bench.launch(2, 64, &[flag]).unwrap();
    bench.nothing_found();
}
