//! Control flow of the native tier: loops, divergence, barriers, calls, counts and the watchdog.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use functional::device::{Device, DeviceSpec, Settings, Tier};
use functional::engine::op::{Flow, Op};
use functional::engine::warp_context::WarpContext;
use functional::launch::{LaunchConfig, launch};
use functional::module::Module;
use warp_stream::LaunchShape;

use crate::tiers::{Case, Random, agree, has_native, run};

fn input() -> Vec<u8> {
    let mut random = Random(99);
    (0..512).flat_map(|_| random.next().to_le_bytes()).collect()
}

fn check(body: &str) {
    if has_native() {
        for block in [[64, 1, 1], [33, 2, 1], [128, 1, 1]] {
            agree(&Case { body, grid: 4, block, input: input() });
        }
    }
}

/// Stores `%r1` for each thread.
const STORE: &str = "mul.wide.u32 %rd9, %thread, 4; add.u64 %rd9, %rd9, %rd_out; st.global.u32 [%rd9], %r1;";

#[test]
fn uniform_loop_has_the_same_result() {
    check(&format!(
        "mov.u32 %r1, 0; mov.u32 %r2, 0;
         TOP: mad.lo.u32 %r1, %r1, 31, %r30; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 1000;
         @%p1 bra TOP; {STORE}"
    ));
}

#[test]
fn lanes_leave_a_loop_one_by_one() {
    check(&format!(
        "mov.u32 %r1, 0; mov.u32 %r2, 0;
         TOP: mad.lo.u32 %r1, %r1, 31, %r2; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r30;
         @%p1 bra TOP; {STORE}"
    ));
}

#[test]
fn nested_branches_meet_again() {
    check(&format!(
        "and.b32 %r2, %r30, 1; setp.eq.u32 %p1, %r2, 0; and.b32 %r3, %r30, 6; setp.eq.u32 %p2, %r3, 4;
         mov.u32 %r1, 7;
         @%p1 bra EVEN; mul.lo.u32 %r1, %r1, %r30; @%p2 bra INNER; add.u32 %r1, %r1, 5;
         INNER: xor.b32 %r1, %r1, 0x55; bra JOIN;
         EVEN: sub.u32 %r1, %r30, 9; @%p2 bra JOIN; shl.b32 %r1, %r1, 3;
         JOIN: add.u32 %r1, %r1, %r2; {STORE}"
    ));
}

#[test]
fn some_lanes_exit_early() {
    check(&format!("mov.u32 %r1, 3; setp.gt.u32 %p1, %r30, 20; @%p1 exit; add.u32 %r1, %r1, %r30; {STORE}"));
}

#[test]
fn values_cross_barriers() {
    check(&format!(
        "mov.u32 %r9, tile; shl.b32 %r2, %r30, 2; add.u32 %r2, %r2, %r9; mov.u32 %r1, %r30; mov.u32 %r3, 0;
         TOP: st.shared.u32 [%r2], %r1; bar.sync 0; ld.shared.u32 %r4, [%r9+64]; bar.sync 0;
         mad.lo.u32 %r1, %r1, 3, %r4; add.u32 %r3, %r3, 1; setp.ne.u32 %p1, %r3, 9; @%p1 bra TOP; {STORE}"
    ));
}

#[test]
fn interpreted_ops_see_compiled_values() {
    check(&format!(
        "add.u32 %r1, %r30, 17; popc.b32 %r2, %r1; shfl.sync.down.b32 %r3, %r1, 3, 31, -1;
         vote.sync.ballot.b32 %r4, 1, -1; add.u32 %r1, %r2, %r3; add.u32 %r1, %r1, %r4;
         atom.global.add.u32 %r5, [%rd_out+32768], %r1; clz.b32 %r6, %r1; add.u32 %r1, %r1, %r6; {STORE}"
    ));
}

#[test]
fn raw_numbers_become_canonical_in_memory() {
    check(
        "mul.wide.u32 %rd1, %thread, 16; add.u64 %rd2, %rd_in, %rd1; add.u64 %rd3, %rd_out, %rd1;
         ld.global.f32 %f1, [%rd2]; ld.global.f32 %f2, [%rd2+4]; mul.f32 %f3, %f1, 0fff800001;
         fma.rn.f32 %f4, %f3, %f2, %f1; setp.nan.f32 %p1, %f4, %f4; selp.u32 %r1, 1, 2, %p1;
         st.global.f32 [%rd3], %f4; st.global.u32 [%rd3+4], %r1; mov.b32 %r2, %f3;
         @%p1 add.f32 %f3, %f3, %f4; st.global.u32 [%rd3+8], %r2; st.global.f32 [%rd3+12], %f3;",
    );
}

#[test]
fn many_live_values_are_spilled() {
    let define: String =
        (1..30).map(|n| format!("mad.lo.u32 %r{n}, %r30, {n}, {};", n * 77)).collect::<Vec<_>>().join(" ");
    let sum: String = (2..30).map(|n| format!("xor.b32 %r1, %r1, %r{n};")).collect::<Vec<_>>().join(" ");
    check(&format!("{define} {sum} {STORE}"));
}

#[test]
fn nearly_all_instructions_of_a_loop_are_native() {
    if !has_native() {
        return;
    }
    let body = format!(
        "mov.u32 %r1, 0; mov.u32 %r2, 0;
         TOP: mad.lo.u32 %r1, %r1, 31, %r30; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 1000;
         @%p1 bra TOP; {STORE}"
    );
    let native = agree(&Case { body: &body, grid: 1, block: [64, 1, 1], input: input() });
    let done = native.outcome.unwrap();
    assert!(done.native_instructions * 100 >= done.warp_instructions * 99, "{done:?}");
}

#[test]
fn watchdog_ends_an_endless_native_loop() {
    if !has_native() {
        return;
    }
    let body = "mov.u32 %r1, 0; TOP: add.u32 %r1, %r1, 1; bra TOP;";
    let case = Case { body, grid: 1, block: [32, 1, 1], input: input() };
    let ended = run(&case, Tier::Native, Some(Duration::from_secs(1))).outcome.unwrap_err();
    assert!(ended.contains("watchdog") || ended.contains("1 s"), "{ended}");
}

/// An op that fails.
unsafe fn fails(_: &mut WarpContext<'_>, _: &Op) -> Flow {
    panic!("the op fails")
}

#[test]
fn panic_of_a_called_op_unwinds() {
    if !has_native() {
        return;
    }
    let settings = Settings { threads: 1, tier: Tier::Native, ..Settings::default() };
    let device = Device::new(DeviceSpec { memory_bytes: 64 << 20, ..DeviceSpec::default() }, settings);
    let device = Arc::new(device.unwrap());
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry test() { ret; }";
    let ptx = Arc::new(ptx_frontend::Module::parse(text, "test.ptx").unwrap());
    let module = Module::load(&device, vec![ptx]).unwrap();
    let mut program = module.kernel("test").unwrap();
    drop(module);
    // Every `ret` fails.
    Arc::get_mut(&mut program).unwrap().code.iter_mut().for_each(|op| op.run = fails);
    let config = LaunchConfig { shape: LaunchShape::new([1; 3], [32, 1, 1]), ..LaunchConfig::default() };
    let launched = catch_unwind(AssertUnwindSafe(|| launch(&device, &program, config)));
    assert_eq!(launched.unwrap_err().downcast_ref::<&str>(), Some(&"the op fails"));
}
