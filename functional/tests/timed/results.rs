//! Results of stepped kernels are equal in every order of warps.

use functional::device::DeviceSpec;
use functional::fault::FaultKind;
use functional::launch::{LaunchConfig, LaunchError};
use functional::timed::turns::{Order, TurnsError};
use functional::timed::{Identity, launch};

use crate::bench::{Bench, HEAD, ORDERS, kernel, leaves};
use warp_stream::LaunchShape;

#[test]
fn every_thread_of_many_ctas_writes_its_word() {
    let expected: Vec<u32> = (0..1000).collect();
    leaves(&kernel("st.global.u32 [%rd3], %r4; ret;"), (10, 100), &expected);
}

#[test]
fn diverged_lanes_reconverge() {
    let expected: Vec<u32> = (0..32).map(|lane| if lane < 7 { 100 } else { 10 }).collect();
    leaves(
        &kernel(
            "setp.lt.u32 %p1, %r1, 7; mov.u32 %r5, 1; @%p1 bra THEN; add.u32 %r5, %r5, 10; bra.uni DONE;
             THEN: add.u32 %r5, %r5, 100;
             DONE: activemask.b32 %r6; add.u32 %r5, %r5, %r6; st.global.u32 [%rd3], %r5; ret;",
        ),
        (1, 32),
        &expected,
    );
}

#[test]
fn loop_counts_may_differ_per_lane() {
    let expected: Vec<u32> = (0..64).map(|n: u32| n * n.wrapping_sub(1) / 2 * u32::from(n > 0)).collect();
    leaves(
        &kernel(
            "mov.u32 %r5, 0; mov.u32 %r6, 0;
             LOOP: setp.ge.u32 %p1, %r6, %r1; @%p1 bra DONE; add.u32 %r5, %r5, %r6; add.u32 %r6, %r6, 1; bra LOOP;
             DONE: st.global.u32 [%rd3], %r5; ret;",
        ),
        (1, 64),
        &expected,
    );
}

#[test]
fn barrier_orders_shared_memory_between_warps() {
    let expected: Vec<u32> = (0..512).map(|n| n / 256 * 256 + 255 - n % 256).collect();
    leaves(
        &kernel(
            ".shared .align 4 .b8 buffer[1024];
             mov.u32 %r5, buffer; mad.lo.u32 %r6, %r1, 4, %r5; st.shared.u32 [%r6], %r4; bar.sync 0;
             mad.lo.u32 %r7, %r1, -4, %r5; add.u32 %r7, %r7, 1020; ld.shared.u32 %r8, [%r7];
             st.global.u32 [%rd3], %r8; ret;",
        ),
        (2, 256),
        &expected,
    );
}

#[test]
fn merged_loads_load_all_elements() {
    let body = "
        .shared .align 16 .b8 buffer[2048];
        mov.u32 %r5, buffer; mad.lo.u32 %r6, %r1, 4, %r5; st.shared.u32 [%r6], %r4; add.u32 %r7, %r4, 1000;
        st.shared.u32 [%r6+1024], %r7; bar.sync 0; and.b32 %r8, %r1, 31; mad.lo.u32 %r8, %r8, 16, %r5;
        ld.shared.u32 %r10, [%r8+4]; ld.shared.v2.u32 {%r11, %r12}, [%r8+8]; ld.shared.u64 %rd6, [%r8+1024];
        ld.shared.u64 %rd7, [%r8+1032]; mov.b64 {%r13, %r14}, %rd6; mov.b64 {%r15, %r16}, %rd7;
        mad.lo.u32 %r20, %r10, 3, %r11; mad.lo.u32 %r20, %r20, 3, %r12; mad.lo.u32 %r20, %r20, 3, %r13;
        mad.lo.u32 %r20, %r20, 3, %r14; mad.lo.u32 %r20, %r20, 3, %r15; mad.lo.u32 %r20, %r20, 3, %r16;
        setp.gt.u32 %p1, %r1, 99; @%p1 ld.shared.u32 %r21, [%r8+16]; @%p1 ld.shared.u32 %r22, [%r8+20];
        @%p1 mad.lo.u32 %r20, %r21, 5, %r20; @%p1 mad.lo.u32 %r20, %r22, 5, %r20;
        st.global.u32 [%rd3], %r20; ret;";
    let expected = (0..512_u32).map(|thread| {
        let (cta, lane) = (thread / 256 * 256, thread % 32 * 4);
        let word = |n: u32| cta + lane + n;
        let far = [1000, 1001, 1002, 1003].map(word);
        let wanted = [word(1), word(2), word(3)].into_iter().chain(far);
        let sum = wanted.reduce(|sum, next| sum * 3 + next).unwrap();
        if thread % 256 > 99 { word(4) * 5 + word(5) * 5 + sum } else { sum }
    });
    leaves(&kernel(body), (2, 256), &expected.collect::<Vec<_>>());
}

#[test]
fn barrier_reduction_counts_true_predicates() {
    leaves(
        &kernel(
            "setp.lt.u32 %p1, %r1, 40; barrier.red.popc.u32 %r5, 0, %p1; st.global.u32 [%rd3], %r5; ret;",
        ),
        (1, 96),
        &[40; 96],
    );
}

#[test]
fn recursion_depth_may_differ_per_lane() {
    let body = format!(
        ".func (.param .b32 result) triangle(.param .b32 n) {{
            .reg .pred %p<3>; .reg .b32 %r<9>;
            ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, 0; @%p1 bra DONE;
            add.u32 %r3, %r1, -1;
            {{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r3; call.uni (v), triangle, (a); ld.param.b32 %r4, [v]; }}
            add.u32 %r2, %r4, %r1;
            DONE: st.param.b32 [result], %r2; ret; }}
         .visible .entry test(.param .u64 out) {{ {HEAD}
            {{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r1; call.uni (v), triangle, (a); ld.param.b32 %r5, [v]; }}
            st.global.u32 [%rd3], %r5; ret; }}"
    );
    let expected: Vec<u32> = (0..64).map(|n| n * (n + 1) / 2).collect();
    leaves(&body, (1, 64), &expected);
}

#[test]
fn lanes_of_both_sides_of_a_branch_exchange_values() {
    let expected: Vec<u32> = (0..32).map(|lane| lane ^ 16).collect();
    leaves(
        &kernel(
            "setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW; shfl.sync.bfly.b32 %r5, %r1, 16, 31, -1; bra DONE;
             LOW: shfl.sync.bfly.b32 %r5, %r1, 16, 31, -1;
             DONE: st.global.u32 [%rd3], %r5; ret;",
        ),
        (1, 32),
        &expected,
    );
}

#[test]
fn no_atomic_operation_is_lost() {
    for order in ORDERS {
        let bench = Bench::new(&kernel(
            "atom.global.add.u32 %r5, [%rd1], 1; add.s64 %rd4, %rd1, 8; mul.wide.u32 %rd5, %r5, 4;
             add.s64 %rd5, %rd5, %rd4; st.global.u32 [%rd5], 1; red.global.add.u32 [%rd1+4], %r4; ret;",
        ));
        let out = bench.words(&[0; 322]);
        bench.launch(order, 5, 64, out).unwrap();
        let left = bench.read(out, 322);
        assert_eq!(left[..2], [320, 320 * 319 / 2], "{order:?}");
        assert!(left[2..].iter().all(|&word| word == 1), "each number occurs once");
    }
}

#[test]
fn threads_see_their_own_reductions() {
    let expected: Vec<u32> = (0..64).map(|n| n + 5).collect();
    leaves(
        &kernel(
            "st.global.u32 [%rd3], %r4; red.global.add.u32 [%rd3], 2; red.global.add.u32 [%rd3], 2;
             ld.global.u32 %r5, [%rd3]; add.u32 %r5, %r5, 1; st.global.u32 [%rd3], %r5; ret;",
        ),
        (1, 64),
        &expected,
    );
}

#[test]
fn operands_of_outstanding_reductions_may_be_overwritten() {
    leaves(
        &kernel(
            "mov.u32 %r5, 0;
             LOOP: red.global.add.u32 [%rd3], %r5; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 10; @%p1 bra LOOP;
             ret;",
        ),
        (1, 64),
        &[45; 64],
    );
}

#[test]
fn shared_reductions_are_visible_after_a_barrier() {
    leaves(
        &kernel(
            ".shared .align 4 .u32 sum; setp.ne.u32 %p1, %r1, 0; @!%p1 st.shared.u32 [sum], 0; bar.sync 0;
             red.shared.add.u32 [sum], 3; bar.sync 0; ld.shared.u32 %r5, [sum]; st.global.u32 [%rd3], %r5; ret;",
        ),
        (2, 128),
        &[384; 256],
    );
}

/// Each lane takes a lock, adds 1, and releases the lock.
const LOCK: &str = "
    TAKE: atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TAKE;
    ld.volatile.global.u32 %r6, [%rd1+4]; add.u32 %r6, %r6, 1; st.volatile.global.u32 [%rd1+4], %r6;
    membar.gl; atom.global.exch.b32 %r7, [%rd1], 0; ret;";

#[test]
fn lanes_of_a_warp_take_a_lock_one_after_another() {
    for order in ORDERS {
        let bench = Bench::new(&kernel(LOCK));
        let out = bench.words(&[0; 2]);
        bench.launch(order, 2, 64, out).unwrap();
        assert_eq!(bench.read(out, 2), [0, 128], "{order:?}");
    }
}

const GRID_BARRIER: &str = include_str!("../kernels/grid_barrier.ptx");

#[test]
fn cooperative_ctas_meet_at_a_grid_barrier() {
    for order in ORDERS {
        let bench = Bench::new(GRID_BARRIER);
        let out = bench.words(&[u32::MAX; 40]);
        let config = LaunchConfig {
            shape: LaunchShape::new([20, 1, 1], [64, 1, 1]),
            cooperative: true,
            ..LaunchConfig::default()
        };
        bench.launch_as(order, config, out).unwrap();
        let expected: Vec<u32> = (0..20).map(|cta| (cta + 1) % 20).collect();
        assert_eq!(bench.read(out + 80, 20), expected, "{order:?}");
    }
}

#[test]
fn printf_works_in_stepped_kernels() {
    let bench = Bench::new(&format!(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
         .global .align 1 .b8 text[8] = {{104, 101, 108, 108, 111, 10, 0, 0}};
         .visible .entry test(.param .u64 out) {{ {HEAD} mov.u64 %rd5, text; cvta.global.u64 %rd6, %rd5; mov.u64 %rd7, 0;
         {{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd6; st.param.b64 [a], %rd7;
         call.uni (r), vprintf, (f, a); }} ret; }}"
    ));
    let out = bench.words(&[0]);
    bench.launch(Order::InTurn, 1, 3, out).unwrap();
    assert_eq!(bench.device.take_printed(), b"hello\nhello\nhello\n");
}

#[test]
fn wild_address_fault_names_thread_and_instruction() {
    let bench = Bench::new(&kernel(
        "setp.ne.u32 %p1, %r1, 5; @%p1 bra DONE; mov.u64 %rd4, 64; st.global.u32 [%rd4], %r4; DONE: ret;",
    ));
    let out = bench.words(&[0; 64]);
    let LaunchError::Fault(fault) = bench.launch(Order::InTurn, 2, 32, out).unwrap_err() else { panic!() };
    assert_eq!(fault.kind, FaultKind::IllegalAddress { address: 64, width: 4, lane: 5 });
    assert_eq!(fault.thread, Some([5, 0, 0]));
    assert_eq!(fault.spot.instruction, "st.global.u32 [%rd4], %r4;");
}

#[test]
fn merged_stores_store_all_elements() {
    let body = "
        .shared .align 16 .b8 buffer[4096];
        mov.u32 %r5, buffer; mad.lo.u32 %r6, %r1, 16, %r5; mul.lo.u32 %r7, %r4, 3; mul.lo.u32 %r8, %r4, 5;
        st.shared.u32 [%r6+12], %r8; st.shared.u32 [%r6], %r4; st.shared.u32 [%r6+8], 0;
        st.shared.u32 [%r6+4], %r7; setp.lt.u32 %p1, %r1, 40;
        @%p1 st.shared.u32 [%r6+8], %r7; @%p1 st.shared.u32 [%r6+12], %r7;
        bar.sync 0; xor.b32 %r9, %r1, 255; mad.lo.u32 %r9, %r9, 16, %r5; ld.shared.u32 %r10, [%r9+12];
        ld.shared.u32 %r11, [%r9+4]; ld.shared.u32 %r12, [%r9]; ld.shared.u32 %r13, [%r9+8];
        mad.lo.u32 %r20, %r10, 7, %r11; mad.lo.u32 %r20, %r20, 7, %r12; mad.lo.u32 %r20, %r20, 7, %r13;
        st.global.u32 [%rd3], %r20; ret;";
    let expected = (0..512_u32).map(|thread| {
        let of = thread ^ 255;
        let (third, fourth) = if of % 256 < 40 { (of * 3, of * 3) } else { (0, of * 5) };
        [fourth, of * 3, of, third].into_iter().reduce(|sum, next| sum * 7 + next).unwrap()
    });
    leaves(&kernel(body), (2, 256), &expected.collect::<Vec<_>>());
}

#[test]
fn fault_of_merged_loads_names_the_wild_one() {
    // Whole allocation units would hold each joined access whole.
    let spec = DeviceSpec { shared_unit: 4, ..DeviceSpec::default() };
    let body = kernel(
        ".shared .align 16 .b8 buffer[40]; mov.u32 %r5, buffer; ld.shared.u32 %r6, [%r5+32];
         ld.shared.u32 %r7, [%r5+36]; ld.shared.u32 %r8, [%r5+40]; add.u32 %r6, %r6, %r7;
         add.u32 %r6, %r6, %r8; st.global.u32 [%rd3], %r6; ret;",
    );
    let bench = Bench::of(&body, spec);
    let out = bench.words(&[0; 64]);
    let LaunchError::Fault(fault) = bench.launch(Order::InTurn, 1, 32, out).unwrap_err() else { panic!() };
    assert_eq!(fault.kind, FaultKind::IllegalAddress { address: 40, width: 4, lane: 0 });
    assert_eq!(fault.spot.instruction, "ld.shared.u32 %r8, [%r5+40];");
}

#[test]
fn wild_reduction_faults_at_its_instruction() {
    let bench = Bench::new(&kernel("mov.u64 %rd4, 64; red.global.add.u32 [%rd4], %r4; ret;"));
    let out = bench.words(&[0; 64]);
    let LaunchError::Fault(fault) = bench.launch(Order::InTurn, 1, 32, out).unwrap_err() else { panic!() };
    assert_eq!(fault.kind, FaultKind::IllegalAddress { address: 64, width: 4, lane: 0 });
    assert_eq!(fault.spot.instruction, "red.global.add.u32 [%rd4], %r4;");
}

#[test]
fn barrier_missed_by_some_threads_deadlocks() {
    let bench = Bench::new(&kernel("setp.lt.u32 %p1, %r1, 32; @%p1 bra DONE; bar.sync 0, 64; DONE: ret;"));
    let out = bench.words(&[0; 64]);
    let LaunchError::Fault(fault) = bench.launch(Order::InTurn, 1, 64, out).unwrap_err() else { panic!() };
    assert!(matches!(fault.kind, FaultKind::Deadlock(_)));
}

#[test]
fn clusters_are_refused_by_name() {
    let bench = Bench::new(&kernel("ret;"));
    let program = bench.module.kernel("test").unwrap();
    let config = LaunchConfig {
        shape: LaunchShape::new([2, 1, 1], [32, 1, 1]),
        cluster: Some([2, 1, 1]),
        parameters: vec![0; 8],
        ..LaunchConfig::default()
    };
    let identity = Identity { launch: 1, stream: 0 };
    let refused = launch(&bench.device, &program, config, identity, |_| Ok::<(), TurnsError>(()));
    assert_eq!(refused.unwrap_err().to_string(), "test cannot be timed: it has clusters of CTAs");
}
