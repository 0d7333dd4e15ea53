//! Recursion beyond the stack limit of the program.

use crate::bench::{Bench, assert_says};
use functional::sanitizer::Finding;

/// `deep` calls itself `n` times; each activation has 64 bytes of local memory.
const DEEP: &str = ".func (.param .b32 out) deep(.param .b32 n) { .local .align 8 .b8 room[64]; .reg .pred %q; \
    .reg .b32 %a, %b; ld.param.u32 %a, [n]; mov.u32 %b, 0; setp.eq.u32 %q, %a, 0; @%q bra END; \
    sub.u32 %b, %a, 1; st.local.u32 [room], %b; { .param .b32 x; .param .b32 y; st.param.b32 [x], %b; \
    call.uni (y), deep, (x); ld.param.b32 %b, [y]; } ld.local.u32 %a, [room]; add.u32 %b, %b, %a; \
    END: st.param.b32 [out], %b; ret; }";

/// Calls `deep` with the second parameter.
const CALL: &str = "cvt.u32.u64 %r5, %rd2;\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r5;\n\
    call.uni (y), deep, (x);\nld.param.b32 %r6, [y]; }\nst.global.u32 [%rd4], %r6;";

fn findings(depth: u64, limit: Option<u32>) -> Vec<Finding> {
    let bench = Bench::with_module("memory", DEEP, CALL);
    if let Some(limit) = limit {
        bench.device.set_stack_bytes(limit);
    }
    let out = bench.zeros(400);
    bench.launch(1, 2, &[out, depth]).unwrap();
    let mut sum = [0; 4];
    bench.device.memory.read(out, &mut sum).unwrap();
    assert_eq!(u64::from(u32::from_le_bytes(sum)), depth * depth.saturating_sub(1) / 2);
    bench.checker.findings().into_iter().map(|(finding, _)| finding).collect()
}

#[test]
fn recursion_within_the_default_stack_is_correct() {
    assert_eq!(findings(5, None), []);
}

#[test]
fn recursion_beyond_the_limit_is_found_once() {
    let found = findings(40, None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_says(
        &found[0],
        &[
            "voltsim check memory: recursion needs 1",
            "bytes of stack, more than the limit",
            "call of deep by threads (0,0,0) to (1,0,0)",
            "a thread has 1024 bytes: set cudaLimitStackSize to more before the launch",
        ],
    );
}

#[test]
fn program_sets_the_stack_limit() {
    assert_eq!(findings(40, Some(8192)), []);
    assert_eq!(findings(5, Some(256)).len(), 1);
}
