//! Loads and stores of the native tier: patterns of addresses, widths, spaces, and faults.

use crate::tiers::{Case, Random, agree, has_native};

/// Index of each thread's element, in `%r1`.
const PATTERNS: [&str; 8] = [
    "mov.u32 %r1, %r30;",
    "mov.u32 %r1, 5;",
    "and.b32 %r1, %r30, 15;",
    "shr.u32 %r1, %r30, 4;",
    "shr.u32 %r1, %r30, 3;",
    "xor.b32 %r1, %r30, 1;",
    "mul.lo.u32 %r1, %r30, 3; and.b32 %r1, %r1, 127;",
    "and.b32 %r2, %r30, 16; setp.eq.u32 %p1, %r2, 0; selp.u32 %r1, %r30, 9, %p1;",
];

/// Types of elements with the register that holds one.
const ELEMENTS: [(&str, u32, &str); 8] = [
    ("u8", 1, "%r"),
    ("s8", 1, "%r"),
    ("u16", 2, "%r"),
    ("s16", 2, "%r"),
    ("u32", 4, "%r"),
    ("f32", 4, "%f"),
    ("u64", 8, "%rd"),
    ("f64", 8, "%fd"),
];

fn input() -> Vec<u8> {
    let mut random = Random(7);
    (0..512).flat_map(|_| random.next().to_le_bytes()).collect()
}

/// Calls `check` with a body for each pattern and element; `%rd1` is the offset of a thread's element.
fn for_all(check: impl Fn(&str, &str, u32, &str)) {
    if !has_native() {
        return;
    }
    for pattern in PATTERNS {
        for (ty, bytes, register) in ELEMENTS {
            let start = format!("{pattern} mul.lo.u32 %r3, %r1, {bytes}; cvt.u64.u32 %rd1, %r3;");
            check(&start, ty, bytes, register);
        }
    }
}

fn run(body: &str) {
    for block in [[64, 1, 1], [16, 4, 1], [40, 1, 1]] {
        agree(&Case { body, grid: 2, block, input: input() });
    }
}

#[test]
fn global_loads_equal_the_interpreter() {
    for_all(|start, ty, bytes, register| {
        let wide = if bytes == 8 { "64" } else { "32" };
        let ty_of_result =
            if register == "%rd" || register == "%r" { format!("b{wide}") } else { ty.to_owned() };
        run(&format!(
            "{start} add.u64 %rd2, %rd_in, %rd1; ld.global.{ty} {register}5, [%rd2+64];
             mul.wide.u32 %rd3, %thread, 8; add.u64 %rd3, %rd_out, %rd3;
             st.global.{ty_of_result} [%rd3], {register}5;
             ld.{ty} {register}6, [%rd2+8]; st.global.{ty_of_result} [%rd3+4096], {register}6;"
        ));
    });
}

#[test]
fn global_stores_equal_the_interpreter() {
    for_all(|start, ty, _, register| {
        let store = ty.replace('s', "u");
        run(&format!(
            "{start} add.u64 %rd2, %rd_out, %rd1; mul.wide.u32 %rd3, %thread, 8;
             add.u64 %rd3, %rd_in, %rd3; ld.global.u64 %rd5, [%rd3]; cvt.u32.u64 %r5, %rd5;
             mov.b32 %f5, %r5; mov.b64 %fd5, %rd5;
             st.global.{store} [%rd2], {register}5; st.{store} [%rd2+2048], {register}5;"
        ));
    });
}

#[test]
fn shared_accesses_equal_the_interpreter() {
    for_all(|start, ty, bytes, register| {
        let store = ty.replace('s', "u");
        let wide = if bytes == 8 { "b64" } else { "b32" };
        let ty_of_result = if register.starts_with("%f") { ty } else { wide };
        run(&format!(
            "{start} mov.u32 %r9, tile; mul.lo.u32 %r7, %r30, 8; add.u32 %r7, %r7, %r9;
             mul.wide.u32 %rd3, %thread, 8; add.u64 %rd4, %rd_in, %rd3; add.u64 %rd3, %rd_out, %rd3;
             ld.global.u64 %rd5, [%rd4]; st.shared.u64 [%r7], %rd5; bar.sync 0;
             add.u32 %r8, %r9, %r3; ld.shared.{ty} {register}6, [%r8];
             st.global.{ty_of_result} [%rd3], {register}6; bar.sync 0;
             st.shared.{store} [%r8+1024], {register}6; cvt.u64.u32 %rd7, %r8; bar.sync 0;
             ld.shared.{ty} {register}7, [%rd7+1024]; st.global.{ty_of_result} [%rd3+4096], {register}7;"
        ));
    });
}

#[test]
fn guarded_accesses_equal_the_interpreter() {
    for_all(|start, ty, bytes, register| {
        let store = ty.replace('s', "u");
        let wide = if bytes == 8 { "b64" } else { "b32" };
        let ty_of_result = if register.starts_with("%f") { ty } else { wide };
        run(&format!(
            "{start} and.b32 %r2, %r30, 5; setp.ne.u32 %p2, %r2, 4; setp.gt.u32 %p3, %r30, 900;
             mov.b32 %r5, 7; mov.b64 %rd5, 7; mov.f32 %f5, 0f3f800000; mov.f64 %fd5, 0d3ff0000000000000;
             add.u64 %rd2, %rd_in, %rd1; @%p2 ld.global.{ty} {register}5, [%rd2+64];
             mul.wide.u32 %rd3, %thread, 8; add.u64 %rd3, %rd_out, %rd3;
             st.global.{ty_of_result} [%rd3], {register}5;
             add.u64 %rd4, %rd_out, %rd1; @!%p2 st.global.{store} [%rd4+8192], {register}5;
             @%p3 st.global.{store} [%rd_in+-8], {register}5;
             mov.u32 %r9, tile; mul.lo.u32 %r7, %r30, 8; add.u32 %r7, %r7, %r9;
             @!%p2 st.shared.b64 [%r7], %rd1; add.u32 %r8, %r9, %r3; bar.sync 0;
             @%p2 ld.shared.{ty} {register}5, [%r8]; @%p2 st.shared.{store} [%r8+1024], {register}5;
             st.global.{ty_of_result} [%rd3+4096], {register}5; bar.sync 0;
             setp.lt.u32 %p4, %r30, 11; @%p4 bra LESS; cvt.u64.u32 %rd7, %r8;
             ld.shared.{ty} {register}5, [%rd7+1024]; ld.{ty} {register}6, [%rd2];
             st.global.{ty_of_result} [%rd3+16384], {register}5;
             st.global.{ty_of_result} [%rd3+20480], {register}6; LESS:"
        ));
    });
}

#[test]
fn groups_of_accesses_equal_the_interpreter() {
    for_all(|start, ty, bytes, register| {
        let store = ty.replace('s', "u");
        let wide = if bytes == 8 { "b64" } else { "b32" };
        let ty_of_result = if register.starts_with("%f") { ty } else { wide };
        let near = bytes;
        run(&format!(
            "{start} add.u64 %rd2, %rd_in, %rd1; mul.wide.u32 %rd3, %thread, 8; add.u64 %rd3, %rd_out, %rd3;
             mov.b32 %r5, 7; mov.b64 %rd5, 7; mov.f32 %f5, 0f3f800000; mov.f64 %fd5, 0d3ff0000000000000;
             ld.global.{ty} {register}4, [%rd2+64]; ld.global.{ty} {register}5, [%rd2+{near}];
             ld.global.{ty} {register}6, [%rd2]; st.global.{ty_of_result} [%rd3], {register}4;
             st.global.{ty_of_result} [%rd3+4096], {register}5; st.global.{ty_of_result} [%rd3+8192], {register}6;
             add.u64 %rd8, %rd_out, %rd1; add.u64 %rd8, %rd8, 20480;
             st.global.{store} [%rd8], {register}4; st.global.{store} [%rd8+4096], {register}5;
             ld.global.{ty} {register}6, [%rd8+-{near}]; st.global.{ty_of_result} [%rd3+12288], {register}6;
             mov.u32 %r9, tile; mul.lo.u32 %r7, %r30, 8; add.u32 %r7, %r7, %r9; st.shared.b64 [%r7], %rd1;
             st.shared.b64 [%r7+1024], %rd1; add.u32 %r8, %r9, %r3; bar.sync 0;
             ld.shared.{ty} {register}4, [%r8]; ld.shared.{ty} {register}5, [%r8+{near}];
             ld.shared.{ty} {register}6, [%r8+1024]; bar.sync 0;
             st.shared.{store} [%r8+16], {register}6; st.shared.{store} [%r8+2048], {register}4; bar.sync 0;
             ld.shared.b64 %rd6, [%r7]; st.global.b64 [%rd3+16384], %rd6;
             ld.shared.b64 %rd6, [%r7+2048]; st.global.b64 [%rd3+40960], %rd6;"
        ));
    });
}

#[test]
fn lanes_outside_of_the_guard_may_lie_before_the_start() {
    if !has_native() {
        return;
    }
    for (ty, bytes, register) in ELEMENTS {
        let store = ty.replace('s', "u");
        let wide = if bytes == 8 { "b64" } else { "b32" };
        let ty_of_result = if register.starts_with("%f") { ty } else { wide };
        run(&format!(
            "mul.wide.u32 %rd3, %thread, 8; add.u64 %rd3, %rd_out, %rd3; mov.u32 %r9, tile;
             mul.lo.u32 %r7, %r30, 8; add.u32 %r8, %r9, %r7; mov.b64 %rd2, -1; st.shared.b64 [%r8], %rd2; bar.sync 0;
             st.shared.b32 [%r8], %r30; bar.sync 0; setp.ge.u32 %p2, %r30, 5; sub.u32 %r1, %r30, 5;
             mul.lo.u32 %r1, %r1, {bytes}; add.u32 %r1, %r1, %r9;
             mov.b32 %r5, 7; mov.b64 %rd5, 7; mov.f32 %f5, 0f3f800000; mov.f64 %fd5, 0d3ff0000000000000;
             @%p2 ld.shared.{ty} {register}5, [%r1]; st.global.{ty_of_result} [%rd3], {register}5; bar.sync 0;
             @%p2 st.shared.{store} [%r1], {register}5; cvt.s64.s32 %rd1, %r1; bar.sync 0;
             @%p2 ld.shared.{ty} {register}5, [%rd1]; st.global.{ty_of_result} [%rd3+8192], {register}5;
             mul.lo.u32 %r2, %thread, {bytes}; cvt.u64.u32 %rd4, %r2; sub.u64 %rd4, %rd4, {bytes};
             add.u64 %rd4, %rd_in, %rd4; setp.ne.u32 %p3, %thread, 0;
             @%p3 ld.global.{ty} {register}5, [%rd4]; st.global.{ty_of_result} [%rd3+16384], {register}5;"
        ));
    }
}

/// Vectors: count, type, bytes, and the register of an element.
const VECTORS: [(u32, &str, u32, &str); 5] = [
    (2, "u32", 4, "%r"),
    (4, "f32", 4, "%f"),
    (2, "b64", 8, "%rd"),
    (2, "f64", 8, "%fd"),
    (4, "u16", 2, "%rs"),
];

#[test]
fn vector_accesses_equal_the_interpreter() {
    if !has_native() {
        return;
    }
    for pattern in PATTERNS {
        for (count, ty, bytes, register) in VECTORS {
            let list: Vec<String> = (0..count).map(|n| format!("{register}{}", n + 4)).collect();
            let (list, width) = (format!("{{{}}}", list.join(", ")), count * bytes);
            let v = format!("v{count}.{ty}");
            run(&format!(
                "{pattern} mul.lo.u32 %r3, %r1, {width}; and.b32 %r3, %r3, 1023; cvt.u64.u32 %rd1, %r3;
                 add.u64 %rd2, %rd_in, %rd1; ld.global.{v} {list}, [%rd2+64];
                 mul.wide.u32 %rd3, %thread, {width}; add.u64 %rd3, %rd_out, %rd3; st.global.{v} [%rd3], {list};
                 mov.u32 %r9, tile; add.u32 %r10, %r9, %r3; st.shared.{v} [%r10], {list}; bar.sync 0;
                 and.b32 %r2, %r30, 3; setp.ne.u32 %p2, %r2, 1;
                 @%p2 ld.shared.{v} {list}, [%r10+16]; @%p2 st.global.{v} [%rd3+8192], {list};
                 ld.{v} {list}, [%rd2]; add.u64 %rd9, %rd_out, %rd1; @%p2 st.{v} [%rd9+16384], {list};"
            ));
        }
    }
}

#[test]
fn atomic_updates_equal_the_interpreter() {
    if !has_native() {
        return;
    }
    let kinds =
        ["add.u32", "and.b32", "or.b32", "xor.b32", "min.u32", "max.u32", "min.s32", "max.s32", "exch.b32"];
    let wide = ["add.u64", "and.b64", "or.b64", "xor.b64", "min.u64", "max.u64", "min.s64", "max.s64"];
    let kinds = kinds.map(|kind| (kind, 4, "%r")).into_iter().chain(wide.map(|kind| (kind, 8, "%rd")));
    for (kind, bytes, register) in kinds {
        for pattern in PATTERNS {
            let ty = if bytes == 8 { "u64" } else { "u32" };
            run(&format!(
                "{pattern} mul.lo.u32 %r3, %r1, {bytes}; cvt.u64.u32 %rd1, %r3; and.b32 %r2, %r30, 3;
                 setp.ne.u32 %p2, %r2, 1; mul.wide.u32 %rd3, %thread, 8; add.u64 %rd3, %rd_out, %rd3;
                 mul.wide.u32 %rd4, %r30, 8; add.u64 %rd4, %rd_in, %rd4; ld.global.{ty} {register}5, [%rd4];
                 add.u64 %rd2, %rd_out, %rd1; atom.global.{kind} {register}6, [%rd2+8192], {register}5;
                 st.global.{ty} [%rd3], {register}6; atom.global.{kind} {register}7, [%rd2+8192], {register}5;
                 mov.u32 %r9, tile; mul.lo.u32 %r12, %r30, {bytes}; add.u32 %r12, %r12, %r9;
                 st.shared.{ty} [%r12], {register}5; add.u32 %r10, %r9, %r3; bar.sync 0;
                 @%p2 atom.shared.{kind} {register}6, [%r10], {register}5;
                 st.global.{ty} [%rd3+4096], {register}6;
                 @%p2 atom.{kind} {register}8, [%rd2+8192], {register}6;
                 atom.shared.{kind} {register}6, [%r10], {register}5; bar.sync 0;
                 ld.shared.{ty} {register}6, [%r12]; st.global.{ty} [%rd3+16384], {register}6;"
            ));
        }
    }
}

#[test]
fn faults_name_the_same_lane_and_address() {
    if !has_native() {
        return;
    }
    let bodies = [
        // Beyond the input: the last lanes of a warp, all lanes, one lane.
        "mul.wide.u32 %rd1, %thread, 4; add.u64 %rd1, %rd1, %rd_out; ld.global.u32 %r1, [%rd1+65300];",
        "mul.wide.u32 %rd1, %thread, 4; add.u64 %rd1, %rd1, %rd_in; ld.global.u32 %r1, [%rd1+1048576];",
        "mov.u64 %rd1, 0; ld.global.u32 %r1, [%rd1];",
        "ld.global.u32 %r1, [%rd_in+-4];",
        // Misaligned.
        "mul.wide.u32 %rd1, %thread, 4; add.u64 %rd1, %rd1, %rd_in; ld.global.u32 %r1, [%rd1+2];",
        "st.global.u64 [%rd_out+4], %rd_in;",
        "mul.wide.u32 %rd1, %thread, 4; add.u64 %rd1, %rd1, %rd_out; st.global.u32 [%rd1+65500], %r30;",
        "mul.lo.u32 %r1, %r30, 4; st.shared.u32 [%r1+4090], %r30;",
        "mul.lo.u32 %r1, %r30, 4; ld.shared.u32 %r2, [%r1+4088];",
        "mov.u32 %r1, -64; ld.shared.u32 %r2, [%r1];",
        // One access of a group.
        "mul.wide.u32 %rd1, %thread, 4; add.u64 %rd1, %rd1, %rd_out; ld.global.u32 %r1, [%rd1];
         ld.global.u32 %r2, [%rd1+65300];",
        "ld.global.u32 %r1, [%rd_in]; ld.global.u32 %r2, [%rd_in+-4];",
        "mul.lo.u32 %r3, %r30, 4; st.shared.u32 [%r3], %r30; st.shared.u32 [%r3+4000], %r30;",
        "mov.u32 %r3, -8; ld.shared.u32 %r1, [%r3+8]; ld.shared.u32 %r2, [%r3+4];",
        "ld.global.v2.u32 {%r1, %r2}, [%rd_in]; ld.global.v2.u32 {%r1, %r2}, [%rd_in+-8];",
        // One lane of scattered ones, under a guard and without.
        "setp.eq.u32 %p1, %r30, 17; selp.u64 %rd1, 4096, %rd_in, %p1; ld.global.u32 %r1, [%rd1];",
        "setp.ne.u32 %p1, %r30, 17; setp.eq.u32 %p2, %r30, 9; selp.u64 %rd1, %rd_in, %rd_out, %p2;
         @%p2 add.u64 %rd1, %rd1, 65534; @%p1 st.global.u32 [%rd1], %r30;",
        "setp.eq.u32 %p1, %r30, 3; selp.u32 %r1, 4090, 8, %p1; @%p1 ld.shared.u32 %r2, [%r1];",
        "setp.eq.u32 %p1, %r30, 3; selp.u32 %r1, 4096, 8, %p1; atom.shared.add.u32 %r2, [%r1], 1;",
        "mul.wide.u32 %rd1, %thread, 16; add.u64 %rd1, %rd1, %rd_out; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+65008];",
        "mul.wide.u32 %rd1, %thread, 16; add.u64 %rd1, %rd1, %rd_out; st.global.v2.u32 [%rd1+4], {%r30, %r30};",
        "ld.global.v2.u64 {%rd1, %rd2}, [%rd_in+8];",
    ];
    for body in bodies {
        // A result before the fault shows that the lanes did the same until then.
        let body = format!(
            "mov.u32 %r9, tile; mul.wide.u32 %rd9, %thread, 4; add.u64 %rd9, %rd9, %rd_out;
             st.global.u32 [%rd9], %r30; {body} st.global.u32 [%rd9+2048], %r1;"
        );
        let native = agree(&Case { body: &body, grid: 1, block: [96, 1, 1], input: input() });
        assert!(native.outcome.is_err(), "{body}");
    }
}
