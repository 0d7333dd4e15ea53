//! Parsing, analysis and lowering take time linear in code length, for several shapes of code.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

use std::fmt::Write;
use std::time::Duration;

use ptx_frontend::Module;
use ptx_frontend::analyse::{ControlFlow, Liveness};
use ptx_frontend::lower::{SharedAddresses, Target, contract, lower, rewrite_contracted};

/// Factor of code length. Linear time grows by this factor, quadratic time by its square.
const LONGER: usize = 8;
/// Limit of time growth: well below the square, with a margin for cache misses.
const MOST_GROWTH: u32 = 24;

/// Returns a kernel whose body has `piece` for each number below `count`.
fn kernel(count: usize, head: &str, piece: impl Fn(&mut String, usize)) -> String {
    let mut text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n{head}\
         .visible .entry k(.param .u64 p) {{\n.reg .pred %q<2>;\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\n\
         .reg .b32 %v<{}>;\nld.param.u64 %d0, [p];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, 1;\n",
        count + 1
    );
    (0..count).for_each(|number| piece(&mut text, number));
    text.push_str("st.global.u32 [%d0], %r1;\nret;\n}\n");
    text
}

fn diamonds(count: usize) -> String {
    kernel(count, "", |text, i| {
        let _ = write!(
            text,
            "setp.lt.s32 %q0, %r1, {i};\n@%q0 bra L{i};\nmad.lo.s32 %r1, %r1, %r0, 5;\n\
             xor.b32 %r1, %r1, %r0;\nbra M{i};\nL{i}:\nmad.lo.s32 %r1, %r1, %r1, 7;\n\
             add.s32 %r1, %r1, %r0;\nM{i}:\n"
        );
    })
}

fn short_stretches(count: usize) -> String {
    kernel(count, "", |text, i| {
        let _ = write!(text, "setp.lt.s32 %q0, %r1, {i};\n@%q0 bra L{i};\nadd.s32 %r1, %r1, {i};\nL{i}:\n");
    })
}

fn loops(count: usize) -> String {
    kernel(count, "", |text, i| {
        let _ = write!(text, "L{i}:\nadd.s32 %r1, %r1, %r0;\nsetp.lt.s32 %q0, %r1, {i};\n@%q0 bra L{i};\n");
    })
}

fn registers_across_blocks(count: usize) -> String {
    kernel(count, "", |text, i| {
        let before = i.saturating_sub(1);
        let _ = write!(
            text,
            "add.s32 %v{i}, %r0, %v{before};\nsetp.lt.s32 %q0, %v{i}, {i};\n@%q0 bra L{i};\n\
             st.global.u32 [%d0], %v{i};\nmembar.gl;\nL{i}:\nxor.b32 %r1, %r1, %v{i};\n"
        );
    })
}

fn products(count: usize) -> String {
    kernel(count, "", |text, i| {
        let _ = writeln!(text, "mul.f32 %v{i}, %r0, %r0;\nadd.f32 %r1, %r1, %v{i};");
    })
}

fn calls(count: usize) -> String {
    let head = ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; \
                st.param.b32 [r], %x; ret; }\n";
    kernel(count, head, |text, _| {
        text.push_str(
            "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), f, (a); \
             ld.param.b32 %r1, [r]; }\n",
        );
    })
}

/// Name, text generator, and number of pieces of the short text.
type Shape = (&'static str, fn(usize) -> String, usize);

/// Returns the CPU time of the thread.
fn on_cpu() -> Duration {
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(counts.split(' ').next().unwrap().parse().unwrap())
}

/// Returns the time from text to machine code.
fn time(text: String) -> Duration {
    let start = on_cpu();
    let module = Module::parse(text, "scaling").unwrap();
    let mut function = module.function("k").unwrap();
    let flow = ControlFlow::of(&function);
    let mut replacements = contract(&mut function, &flow);
    rewrite_contracted(&mut function, &mut replacements);
    let flow = ControlFlow::of(&function);
    let lowered = lower(&function, &flow, &replacements, &SharedAddresses::declared(&function), Target::Sm70);
    let liveness = Liveness::of(&function, &flow);
    assert!(lowered.ptx_instructions() == function.instructions.len() && liveness.maximum_live() > 0);
    on_cpu().saturating_sub(start)
}

#[test]
fn lowering_time_is_linear_in_code_length() {
    let shapes: [Shape; 6] = [
        ("diamonds", diamonds, 500),
        ("short stretches", short_stretches, 1000),
        ("loops", loops, 1000),
        ("registers across blocks", registers_across_blocks, 500),
        ("products", products, 1000),
        ("calls", calls, 500),
    ];
    for (name, shape, count) in shapes {
        let least = |count: usize| (0..3).map(|_| time(shape(count))).min().unwrap_or_default();
        let (short, long) = (least(count), least(LONGER * count));
        assert!(
            long < short * MOST_GROWTH,
            "{name}: {short:?} for {count}, {long:?} for {LONGER} times as many"
        );
    }
}
