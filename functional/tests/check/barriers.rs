//! Threads that do not come to barriers and warp-wide instructions as they have to.

use functional::check::Severity;

use crate::bench::{Bench, LINE_OF_CODE, assert_says};

#[test]
fn a_barrier_in_a_branch_that_a_part_of_a_warp_takes_is_a_mistake() {
    let bench = Bench::new(
        "barriers",
        "setp.lt.u32 %p1, %r1, 16; @%p1 bra THEN; bra.uni DONE;\nTHEN: bar.sync 0;\nDONE: bar.sync 0;",
    );
    let _ = bench.launch(1, 32, &[]);
    let finding = &bench.found()[0];
    assert_says(
        finding,
        &[
            "executed by a part of a warp",
            "executed by threads (0,0,0) to (15,0,0) of CTA (0,0,0)",
            &format!("PTX line {}: bar.sync 0;", LINE_OF_CODE + 1),
            "threads (16,0,0) to (31,0,0)",
            &format!("PTX line {}: bar.sync 0;", LINE_OF_CODE + 2),
        ],
    );
}

#[test]
fn a_barrier_with_a_predicate_that_is_false_for_some_is_a_mistake() {
    let bench = Bench::new("barriers", "setp.lt.u32 %p1, %r1, 3; @%p1 bar.sync 0;");
    let _ = bench.launch(1, 32, &[]);
    assert_says(
        &bench.found()[0],
        &["executed by threads (0,0,0) to (2,0,0)", "the predicate of threads (3,0,0) to (31,0,0) is false"],
    );
}

#[test]
fn a_barrier_that_other_warps_never_reach_says_who_waits_where() {
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
fn a_barrier_that_others_have_exited_past_is_a_warning() {
    let bench = Bench::new("barriers", "setp.ge.u32 %p1, %r1, 32; @%p1 ret; bar.sync 0;");
    bench.launch(1, 64, &[]).unwrap();
    let finding = bench.only();
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.to_string().contains("32 threads wait"), "{finding}");
}

#[test]
fn a_barrier_after_others_have_exited_is_a_warning() {
    let bench = Bench::new("barriers", "setp.lt.u32 %p1, %r1, 32; @%p1 ret; bar.sync 0;");
    bench.launch(1, 64, &[]).unwrap();
    let finding = bench.only();
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.to_string().contains("32 threads of the CTA have exited"), "{finding}");
}

#[test]
fn a_mask_that_names_lanes_with_a_false_predicate_is_a_mistake() {
    let bench = Bench::new(
        "barriers",
        "setp.lt.u32 %p1, %r1, 8; @%p1 shfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xffffffff;",
    );
    bench.launch(1, 32, &[]).unwrap();
    assert_says(
        &bench.only(),
        &[
            "the mask names lanes that do not take part",
            "the predicate of threads (8,0,0) to (31,0,0) is false",
        ],
    );
}

#[test]
fn a_mask_that_leaves_out_the_lane_itself_is_a_mistake() {
    let bench = Bench::new("barriers", "vote.sync.ballot.b32 %r5, 1, 0x0000ffff;");
    let _ = bench.launch(1, 32, &[]);
    assert_says(
        &bench.found()[0],
        &["the mask 0x0000ffff leaves out the lane that gives it", "threads (16,0,0) to (31,0,0)"],
    );
}

#[test]
fn lanes_that_never_come_to_a_warp_wide_instruction_are_named() {
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
fn whole_warps_at_barriers_are_no_mistake() {
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
fn parts_of_warps_at_unaligned_barriers_are_no_mistake() {
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
fn full_masks_in_a_short_warp_are_no_mistake() {
    let bench = Bench::new(
        "barriers",
        "bar.warp.sync 0xffffffff; shfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xffffffff; bar.sync 0;",
    );
    bench.launch(1, 40, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn exited_lanes_may_be_named_by_a_mask() {
    let bench = Bench::new(
        "barriers",
        "setp.ge.u32 %p1, %r1, 8; @%p1 ret; shfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xffffffff;",
    );
    bench.launch(1, 32, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn lanes_that_go_to_a_barrier_since_one_of_them_spins_are_no_mistake() {
    // Lane 0 of the first CTA waits for the second CTA; the others of its warp come to the barrier before it.
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
