//! Resumption from every point gives equal results.

use functional::device::Settings;
use functional::suspend::Window;
use proptest::prelude::*;

use crate::bench::{Bench, Case, go_on, kernel, same_from, stepped, stop};

/// Sums of all threads of a CTA, by halving, in shared memory.
const SUM: &str = "
    .shared .align 4 .b8 buffer[512];
    mov.u32 %r5, buffer; mad.lo.u32 %r6, %r1, 4, %r5; mul.lo.u32 %r7, %r4, %r4; st.shared.u32 [%r6], %r7;
    mov.u32 %r8, 64;
    HALF: bar.sync 0; setp.ge.u32 %p1, %r1, %r8; @%p1 bra SKIP;
    mad.lo.u32 %r9, %r8, 4, %r6; ld.shared.u32 %r10, [%r9]; ld.shared.u32 %r11, [%r6];
    add.u32 %r11, %r11, %r10; st.shared.u32 [%r6], %r11;
    SKIP: shr.u32 %r8, %r8, 1; setp.ne.u32 %p2, %r8, 0; @%p2 bra HALF;
    bar.sync 0; ld.shared.u32 %r12, [buffer]; st.global.u32 [%rd3], %r12; ret;";

/// Collatz steps of each thread's number to 1: lanes diverge and reconverge at different times.
const COLLATZ: &str = "
    add.u32 %r5, %r4, 1; mov.u32 %r6, 0;
    LOOP: setp.eq.u32 %p1, %r5, 1; @%p1 bra DONE;
    and.b32 %r7, %r5, 1; setp.eq.u32 %p2, %r7, 0; @%p2 bra EVEN;
    mad.lo.u32 %r5, %r5, 3, 1; bra NEXT;
    EVEN: shr.u32 %r5, %r5, 1;
    NEXT: add.u32 %r6, %r6, 1; bra LOOP;
    DONE: activemask.b32 %r8; add.u32 %r6, %r6, %r8; st.global.u32 [%rd3], %r6; ret;";

/// Fibonacci numbers, with a recursion depth per lane.
const FIBONACCI: &str = ".func (.param .b32 result) fibonacci(.param .b32 n) {
    .reg .pred %p<3>; .reg .b32 %r<9>;
    ld.param.u32 %r1, [n]; mov.u32 %r2, %r1; setp.lt.u32 %p1, %r1, 2; @%p1 bra DONE;
    add.u32 %r3, %r1, -1;
    { .param .b32 a; .param .b32 v; st.param.b32 [a], %r3; call.uni (v), fibonacci, (a); ld.param.b32 %r4, [v]; }
    add.u32 %r3, %r1, -2;
    { .param .b32 a; .param .b32 v; st.param.b32 [a], %r3; call.uni (v), fibonacci, (a); ld.param.b32 %r5, [v]; }
    add.u32 %r2, %r4, %r5;
    DONE: st.param.b32 [result], %r2; ret; }";

/// A table in local memory, accessed at per-lane indices, partly in a function called through a register.
const LOCAL: &str = "
    .local .align 4 .b8 table[64]; .reg .b64 %f<2>;
    mov.u32 %r5, table; mov.u32 %r6, 0;
    FILL: mad.lo.u32 %r7, %r6, 4, %r5; mul.lo.u32 %r8, %r6, %r4; st.local.u32 [%r7], %r8;
    add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 16; @%p1 bra FILL;
    and.b32 %r9, %r4, 15; mad.lo.u32 %r10, %r9, 4, %r5; ld.local.u32 %r11, [%r10];
    mov.u64 %f0, same; setp.lt.u32 %p2, %r9, 5; @%p2 mov.u64 %f0, twice;
    { .param .b32 a; .param .b32 v; st.param.b32 [a], %r11;
      PROTO: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (v), %f0, (a), PROTO; ld.param.b32 %r12, [v]; }
    st.global.u32 [%rd3], %r12; ret;";

const LOCAL_FUNCTIONS: &str = "
    .func (.param .b32 result) same(.param .b32 n) { .reg .b32 %r<2>;
      ld.param.b32 %r1, [n]; st.param.b32 [result], %r1; ret; }
    .func (.param .b32 result) twice(.param .b32 n) { .reg .b32 %r<2>;
      ld.param.b32 %r1, [n]; add.u32 %r1, %r1, %r1; st.param.b32 [result], %r1; ret; }";

/// Lanes of both sides of a branch exchange values, and halves of a warp vote separately.
const EXCHANGE: &str = "
    and.b32 %r20, %r1, 31; mov.u32 %r21, 0; mov.u32 %r5, %r4;
    AGAIN: setp.lt.u32 %p1, %r20, 11; @%p1 bra LOW;
    add.u32 %r5, %r5, 3; shfl.sync.bfly.b32 %r5, %r5, 16, 31, -1; bra MET;
    LOW: shl.b32 %r6, %r5, 1; xor.b32 %r5, %r6, %r5; shfl.sync.bfly.b32 %r5, %r5, 16, 31, -1;
    MET: setp.lt.u32 %p2, %r20, 16; mov.u32 %r7, 0xffff0000; @%p2 mov.u32 %r7, 0xffff;
    and.b32 %r8, %r5, 1; setp.eq.u32 %p3, %r8, 1; vote.sync.ballot.b32 %r9, %p3, %r7;
    add.u32 %r5, %r5, %r9; add.u32 %r21, %r21, 1; setp.lt.u32 %p4, %r21, 3; @%p4 bra AGAIN;
    st.global.u32 [%rd3], %r5; ret;";

/// Sums in global and shared memory, where each thread knows only its own part.
pub const ATOMIC: &str = "
    .shared .align 4 .u32 sum; setp.ne.u32 %p1, %r1, 0; @!%p1 st.shared.u32 [sum], 0; bar.sync 0;
    red.shared.add.u32 [sum], %r4; atom.shared.max.u32 %r5, [sum], 1; bar.sync 0;
    red.global.add.u32 [%rd1], %r4; mov.u32 %r6, 0;
    LOOP: red.global.add.u32 [%rd1+4], %r6; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 5; @%p2 bra LOOP;
    setp.eq.u32 %p3, %r4, 0; ld.shared.u32 %r7, [sum]; add.s64 %rd3, %rd3, 8; st.global.u32 [%rd3], %r7; ret;";

/// All threads take a lock, add 1, and release the lock.
pub const LOCK: &str = "
    TAKE: atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TAKE;
    ld.volatile.global.u32 %r6, [%rd1+4]; add.u32 %r6, %r6, 1; st.volatile.global.u32 [%rd1+4], %r6;
    membar.gl; atom.global.exch.b32 %r7, [%rd1], 0; ret;";

/// Barriers of some warps, with a count and a predicate, and one at which half of the warps do not wait.
const NAMED_BARRIERS: &str = "
    setp.lt.u32 %p1, %r1, 64; @%p1 bra FIRST;
    bar.arrive 2, 128; bar.sync 1, 64; bra MET;
    FIRST: add.u32 %r6, %r1, 5; bar.sync 2, 128;
    MET: and.b32 %r7, %r1, 3; setp.eq.u32 %p2, %r7, 1; barrier.red.popc.u32 %r8, 3, %p2;
    @%p2 bar.sync 4; @!%p2 bar.sync 4;
    st.global.u32 [%rd3], %r8; ret;";

/// All CTAs meet three times at a barrier in the launch's workspace and read a neighbour's value.
pub const GRID_BARRIER: &str = "
    mov.u32 %r20, %nctaid.x; mov.u32 %r5, %envreg1; mov.u32 %r6, %envreg2; mov.b64 %rd4, {%r6, %r5};
    mov.u32 %r7, 0; setp.ne.u32 %p1, %r1, 0; mov.u32 %r21, %r2;
    PHASE: add.u32 %r8, %r7, 1; mul.lo.u32 %r9, %r7, %r20; add.u32 %r9, %r9, %r2;
    mul.wide.u32 %rd5, %r9, 4; add.s64 %rd5, %rd1, %rd5; @!%p1 st.global.u32 [%rd5], %r21;
    bar.sync 0; @%p1 bra MEET; membar.gl; atom.global.add.u32 %r10, [%rd4+4], 1; mul.lo.u32 %r11, %r8, %r20;
    SPIN: ld.volatile.global.u32 %r12, [%rd4+4]; setp.lt.u32 %p2, %r12, %r11; @%p2 bra SPIN;
    MEET: bar.sync 0; add.u32 %r13, %r2, 1; rem.u32 %r13, %r13, %r20; mul.lo.u32 %r14, %r7, %r20;
    add.u32 %r13, %r13, %r14; mul.wide.u32 %rd6, %r13, 4; add.s64 %rd6, %rd1, %rd6;
    ld.volatile.global.u32 %r15, [%rd6]; mad.lo.u32 %r21, %r15, 3, %r2;
    mov.u32 %r7, %r8; setp.lt.u32 %p3, %r7, 3; @%p3 bra PHASE; ret;";

pub fn cases() -> Vec<(&'static str, Case)> {
    let fibonacci = format!(
        "{FIBONACCI}\n{}",
        kernel(
            "and.b32 %r6, %r4, 7;
             { .param .b32 a; .param .b32 v; st.param.b32 [a], %r6; call.uni (v), fibonacci, (a);
               ld.param.b32 %r5, [v]; } st.global.u32 [%rd3], %r5; ret;"
        )
    );
    vec![
        ("sum", Case::new(SUM, (5, 128), 640)),
        ("collatz", Case::new(COLLATZ, (4, 80), 320)),
        ("fibonacci", Case::of(&fibonacci, (3, 64), 192)),
        ("local", Case::of(&format!("{LOCAL_FUNCTIONS}\n{}", kernel(LOCAL)), (3, 48), 144)),
        ("exchange", Case::new(EXCHANGE, (3, 64), 192)),
        ("atomic", Case::new(ATOMIC, (4, 96), 386)),
        ("named barriers", Case::new(NAMED_BARRIERS, (3, 128), 384)),
    ]
}

#[test]
fn launches_resume_equally_from_every_point() {
    for (name, case) in cases() {
        let plain = Bench::new(&case).launch().unwrap();
        let ctas = case.window_sizes();
        for first in [0, 1, ctas - 1] {
            for count in [0, 1, 2, u64::MAX] {
                for instructions in [0, 1, 2, 7, 23, 60, 150, u64::MAX] {
                    let window = Window { first, ctas: count, instructions };
                    let left = same_from(&case, &plain, window);
                    assert!(
                        left == plain,
                        "{name}, {window:?}: {} {}",
                        left.warp_instructions,
                        plain.warp_instructions
                    );
                }
            }
        }
    }
}

#[test]
fn locks_stay_held_across_suspension() {
    let case = Case::new(LOCK, (2, 64), 2);
    for instructions in (0..200).step_by(13) {
        let stopped = stop(&case, &Window { first: 0, ctas: 2, instructions });
        let bench = Bench::new(&case);
        bench.restore(&stopped.memory);
        bench.launch_from(&crate::bench::decode(&stopped.state)).unwrap();
        assert_eq!(bench.words(), [0, 128], "after {instructions}");
    }
}

#[test]
fn windows_contain_all_cooperative_ctas() {
    let case = Case::new(GRID_BARRIER, (12, 64), 36).cooperative();
    let plain = Bench::new(&case).launch().unwrap();
    for instructions in [0, 1, 10, 30, 45, 60, 100, 200] {
        let stopped = stop(&case, &Window { first: 0, ctas: 1, instructions });
        let started = crate::bench::decode(&stopped.state).ctas_started();
        assert_eq!(started, if instructions == 0 { 0 } else { 12 });
        for threads in [1, 2] {
            let left = go_on(&case, &stopped, Settings { threads, ..stepped() });
            assert_eq!(left.memory, plain.memory, "after {instructions}");
        }
    }
}

#[test]
fn launches_resume_on_several_workers() {
    let (_, case) = cases().remove(0);
    let plain = Bench::new(&case).launch().unwrap();
    let stopped = stop(&case, &Window { first: 1, ctas: 3, instructions: 40 });
    let left = go_on(&case, &stopped, Settings { threads: 3, ..stepped() });
    assert_eq!(left, plain);
}

#[test]
fn suspension_between_ctas_needs_no_machine_order() {
    let (_, case) = cases().remove(0);
    let plain = Bench::new(&case).launch().unwrap();
    let bench = Bench::with(&case, Settings { timed: false, ..stepped() });
    let state = bench.launch_until(&Window { first: 2, ctas: 0, instructions: 0 }).unwrap();
    let memory = bench.memory();
    drop(bench);
    let bench = Bench::new(&case);
    bench.restore(&memory);
    assert_eq!(bench.launch_from(&state).unwrap().memory, plain.memory);
}

#[test]
fn state_at_a_point_is_reproducible() {
    for (_, case) in cases() {
        let window = Window { first: 1, ctas: 1, instructions: 33 };
        assert_eq!(stop(&case, &window).state, stop(&case, &window).state);
    }
}

#[test]
fn parameter_block_keeps_its_address() {
    // The kernel writes to the address of its parameter.
    let case = Case::new(
        "mov.b64 %rd4, out; cvta.param.u64 %rd5, %rd4; ld.u64 %rd6, [%rd5]; st.global.u32 [%rd3], %r4;
         ld.u64 %rd7, [%rd5]; sub.s64 %rd8, %rd7, %rd1; cvt.u32.u64 %r5, %rd8; add.u32 %r5, %r5, %r4;
         st.global.u32 [%rd3], %r5; ret;",
        (3, 32),
        96,
    );
    let plain = Bench::new(&case).launch().unwrap();
    for instructions in 0..12 {
        same_from(&case, &plain, Window { first: 1, ctas: 2, instructions });
    }
}

#[test]
fn resumed_launch_keeps_its_number() {
    let code = "mov.u64 %rd4, %gridid; cvt.u32.u64 %r5, %rd4; st.global.u32 [%rd3], %r5; ret;";
    let case = Case::new(code, (2, 32), 64);
    let bench = Bench::new(&case);
    bench.launch().unwrap();
    let state = bench.launch_until(&Window { first: 1, ctas: 1, instructions: 2 }).unwrap();
    let memory = bench.memory();
    assert_eq!(state.number(), 2);
    drop(bench);
    let bench = Bench::new(&case);
    bench.restore(&memory);
    bench.launch_from(&state).unwrap();
    assert_eq!(bench.words(), [2; 64]);
    bench.launch().unwrap();
    assert_eq!(bench.words(), [3; 64]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_launch_ends_the_same_from_random_points(
        number in 0..7usize,
        first in 0u64..3,
        ctas in 0u64..4,
        instructions in 0u64..400,
    ) {
        let (_, case) = cases().swap_remove(number);
        let plain = Bench::new(&case).launch().unwrap();
        same_from(&case, &plain, Window { first, ctas, instructions });
    }
}
