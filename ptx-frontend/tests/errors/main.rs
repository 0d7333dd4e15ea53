//! Error messages for invalid PTX.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod calls;
#[path = "../common/mod.rs"]
mod common;
mod requirements;

use common::{LINES_BEFORE, kernel, message, module, problems};
use ptx_frontend::{Error, Module};

/// Returns the error of an instruction in a module of this version and target, or `none`.
fn refusal(version: &str, target: &str, instruction: &str) -> String {
    let text = format!(
        ".version {version}\n.target {target}\n.entry k() {{ .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; \
         .reg .f32 %f<4>; .reg .pred %p; {instruction} ret; }}"
    );
    match Module::parse(text, "m").unwrap().function("k") {
        Ok(_) => "none".to_owned(),
        Err(Error::Invalid { problems, .. }) => problems[0].problem.to_string(),
        Err(other) => other.to_string(),
    }
}

/// Checks the message of each body's first error.
fn check(table: &[(&str, &str)]) {
    for (body, expected) in table {
        assert_eq!(message(body), *expected, "{body}");
    }
}

#[test]
fn errors_name_unknown_opcodes_modifiers_and_combinations() {
    check(&[
        ("frob.b32 %r1, %r2;", "unknown instruction `frob.b32`"),
        (
            "tcgen05.fence %r1;",
            "instruction `tcgen05.fence` is not supported: needs the tensor memory of sm_100, which no simulated device has",
        ),
        ("add.fancy.s32 %r1, %r2, %r3;", "unknown modifier `.fancy` of `add.fancy.s32`"),
        ("mul.ftz.s32 %r1, %r2, %r3;", "no form of `mul.ftz.s32` has these modifiers"),
        ("sub .u64 .sat %rd1, %rd2, %rd3;", "no form of `sub.u64.sat` has these modifiers"),
    ]);
}

#[test]
fn instructions_of_later_devices_are_refused_by_name() {
    let refused = |body: &str, reason: &str| {
        let opcode = body.split(' ').next().unwrap_or("");
        assert_eq!(message(body), format!("instruction `{opcode}` is not supported: {reason}"), "{body}");
    };
    refused("add.sat.u32 %r1, %r2, %r3;", "needs sm_120a");
    refused("min.u8x4 %r1, %r2, %r3;", "needs sm_120a");
    refused(
        "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w [%rd1, {%r1, %r2, %r3}], {%h1};",
        "needs sm_100a",
    );
}

#[test]
fn incompatible_modifiers_have_no_form() {
    for body in [
        "ld.relaxed.b32 %r1, [%rd1];",
        "ld.gpu.b32 %r1, [%rd1];",
        "ld.relaxed.gpu.ca.b32 %r1, [%rd1];",
        "ld.volatile.cg.b32 %r1, [%rd1];",
        "ld.shared.L1::evict_first.b32 %r1, [%rd1];",
        "ld.nc.b32 %r1, [%rd1];",
        "st.release.b32 [%rd1], %r1;",
        "st.mmio.relaxed.gpu.b32 [%rd1], %r1;",
        "atom.add.f16 %h1, [%rd1], %h2;",
        "atom.shared.add.L2::cache_hint.u32 %r1, [%rd1], %r2, %rd2;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.and.u32 [%rd1], [%rd2], %r1;",
        "sured.b.add.a1d.u32.trap [%rd1, {%r1, %r2}], %r3;",
    ] {
        let opcode = body.split(' ').next().unwrap_or("");
        assert_eq!(message(body), format!("no form of `{opcode}` has these modifiers"));
    }
}

#[test]
fn errors_name_incompatible_operands() {
    check(&[
        (
            "ld.global.L2::cache_hint.b32 %r1, [%rd1];",
            "a cache policy: required with .L2::cache_hint and forbidden without",
        ),
        (
            "ld.global.b32 %r1, [%rd1], %rd2;",
            "a cache policy: required with .L2::cache_hint and forbidden without",
        ),
        (
            "ld.global.L2::evict_first.b32 %r1, [%rd1];",
            "a priority in the L2 cache: only with 256-bit vectors",
        ),
        (
            "tex.cube.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2, %f3, %f4}], {%r1, %r2, %r3, %r4};",
            "offsets of coordinates: not for cubes",
        ),
        (
            "tex.3d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2, %f3, %f4}], %f5;",
            "a depth to compare with: not with integer coordinates or three dimensions",
        ),
        (
            "vmad.s32.s32.s32 %r1, -%r2, %r3, -%r4;",
            "a negation: of the product or of the summand, not of both",
        ),
        ("vmad.s32.s32.s32.po %r1, %r2, %r3, -%r4;", "a negation: not with .po"),
        ("bar.sync 1, 33;", "the number of threads at a barrier: only whole warps"),
        ("bfi.b32 %r1, %r2, %r3, 256, %r4;", "the position is 256; must be 0 to 255"),
        ("ld.shared.v4.b64 {%rd1, %rd2, %rd3, %rd4}, [%rd5];", "the vector has 256 bits; the limit is 128"),
        (
            "ld.global.v4.b64 {%rd1, %rd2, %rd3, %rd4}, [%rd5];",
            "`ld.global.v4.b64` requires .target sm_100 or later, but the module targets sm_80 (PTX manual, 9.7.9.8)",
        ),
    ]);
}

#[test]
fn wmma_requires_aligned_since_ptx_6_3() {
    let load = "wmma.load.a.sync.row.m16n16k16.f16 {%r0, %r1, %r2, %r3, %r0, %r1, %r2, %r3}, [%rd1];";
    assert_eq!(refusal("6.2", "sm_70", load), "none");
    assert_eq!(refusal("6.3", "sm_70", load), "`wmma` without .aligned: only before PTX 6.3");
}

#[test]
fn mad_requires_a_rounding_mode_since_ptx_3_2() {
    let product = "mad.sat.f32 %f1, %f1, %f1, %f1;";
    assert_eq!(refusal("3.1", "sm_30", product), "none");
    assert_eq!(
        refusal("3.2", "sm_30", product),
        "`mad.f32` without a rounding: only before PTX 3.2 or for sm_1x"
    );
}

#[test]
fn bfloat_conversions_require_registers_of_their_width() {
    assert!(refusal("7.8", "sm_90", "cvt.rn.bf16.s8 %h1, %h2;").contains("%h2"));
    assert!(refusal("7.8", "sm_90", "cvt.f32.bf16 %rd1, %h2;").contains("%rd1"));
}

#[test]
fn each_target_has_its_own_first_version() {
    let narrow = "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;";
    assert!(refusal("8.0", "sm_89", narrow).contains("requires .version 8.1"));
    assert!(refusal("8.0", "sm_80", narrow).contains("requires .target sm_89"));
    assert_eq!(refusal("8.1", "sm_89", narrow), "none");
    assert_eq!(refusal("7.8", "sm_90", narrow), "none");
}

#[test]
fn remedies_list_the_known_forms() {
    let shown = problems("", "bra.hop %r1;")[0].to_string();
    assert!(shown.contains("known forms: bra{.uni} a:label"), "{shown}");
}

#[test]
fn errors_name_operands_that_match_no_form() {
    check(&[
        ("add.s32 %r1, %r2;", "the operands of `add.s32` match no form"),
        ("add.s32 %r1, %r2, %r3, %r4;", "the operands of `add.s32` match no form"),
        ("add.s32 [%rd1], %r2, %r3;", "the operands of `add.s32` match no form"),
        ("ld.global.b32 %r1, %rd1;", "the operands of `ld.global.b32` match no form"),
        ("st.global.b32 [%rd1];", "the operands of `st.global.b32` match no form"),
        ("add.s32 4, %r2, %r3;", "the operands of `add.s32` match no form"),
        ("add.s32 %r1|%p1, %r2, %r3;", "the operands of `add.s32` match no form"),
        ("add.s32 %r1, {%r2, %r3}, %r3;", "expected a single value, found `{…}`"),
        ("mov.u32 %tid.x, %r1;", "expected a register that can be written, found `%tid.x`"),
        ("mov.u32 p0, %r1;", "expected a register, found `p0`"),
        ("bra p0;", "no label `p0` in this function"),
        ("add.u32 %r1, _, %r2;", "`_` cannot be read"),
    ]);
}

#[test]
fn names_must_be_declared_once() {
    check(&[
        ("mov.b32 %r1, %r9;", "`%r9` is not declared"),
        ("mov.b32 %r01, 0;", "`%r01` is not declared"),
        ("@%q0x bra L; L: ret;", "`%q0x` is not declared"),
        ("call nothing;", "`nothing` is not declared"),
        (".reg .b32 a, a;", "`a` is declared twice"),
        (".reg .b32 %r<4>;", "`%r` is declared twice"),
        (".reg .b32 %r3;", "`%r3` is declared twice"),
        ("L: ret; L: ret;", "`L` is declared twice"),
        ("{ .reg .b32 inner; } mov.b32 inner, 1;", "`inner` is not declared"),
        ("bra NOWHERE;", "no label `NOWHERE` in this function"),
        ("{ INNER: mov.b32 %r1, 1; } bra INNER;", "no label `INNER` in this function"),
        ("brx.idx %r1, LIST;", "`LIST` is not the name of a .branchtargets, .calltargets or .callprototype"),
    ]);
}

#[test]
fn types_of_operands_must_agree_with_the_instruction() {
    check(&[
        ("add.f32 %f1, %f2, %u1;", "`%u1` is .u32, but the instruction takes .f32"),
        ("add.s32 %r1, %r2, %rd3;", "`%rd3` is .b64, but the instruction takes .s32"),
        ("mov.b32 %r1, %p1;", "`%p1` is .pred, but the instruction takes .b32"),
        ("selp.b32 %r1, %r2, %r3, %r4;", "`%r4` is .b32, but the instruction takes .pred"),
        ("setp.eq.s32 %r1, %r2, %r3;", "`%r1` is .b32, but the instruction takes .pred"),
        ("ld.global.f32 %fd1, [%rd1];", "`%fd1` is .f64, but the instruction takes .f32"),
        ("ld.global.u64 %r1, [%rd1];", "`%r1` is .b32, but the instruction takes .u64"),
        ("ld.global.u32 %r1, [%h1];", "`%h1` is .b16; an address must be a 32-bit or 64-bit integer"),
        ("ld.global.u32 %r1, [%fd1];", "`%fd1` is .f64; an address must be a 32-bit or 64-bit integer"),
        ("@%r1 ret;", "the guard `%r1` is .b32, not .pred"),
        ("add.f32 %f1, %f2, 3;", "expected a value of type .f32, found an integer constant"),
        ("add.s32 %r1, %r2, 1.5;", "expected a value of type .s32, found a floating-point constant"),
        ("mov.b16 %h1, p0;", "an address is .u64, but the instruction takes .b16"),
    ]);
}

#[test]
fn only_loads_stores_and_conversions_accept_wider_registers() {
    kernel(
        "ld.global.u8 %r1, [%rd1]; st.global.u16 [%rd1], %rd2; cvt.u16.u32 %r1, %r2; cvt.u8.u32 %h1, %r1;",
    );
    check(&[("add.u16 %r1, %r2, %r3;", "`%r1` is .b32, but the instruction takes .u16")]);
}

#[test]
fn vector_lengths_must_match_the_instruction() {
    check(&[
        ("ld.global.v4.b32 {%r1, %r2}, [%rd1];", "the operand has 2 elements, but the instruction takes 4"),
        ("ld.global.v2.b32 %r1, [%rd1];", "the operand has 1 elements, but the instruction takes 2"),
        ("st.global.b32 [%rd1], {%r1, %r2};", "the operand has 2 elements, but the instruction takes 1"),
        ("ld.shared.v4.b64 {%rd1, %rd2, %rd3, %rd4}, [%r1];", "the vector has 256 bits; the limit is 128"),
        ("mov.b64 %rd1, {%r1, %h1};", "the braces hold 48 bits, but the value has 64 bits"),
        ("mov.b64 {%r1, %r2, %r3}, %rd1;", "the braces hold 96 bits, but the value has 64 bits"),
    ]);
}

#[test]
fn spaces_of_variables_and_instructions_agree() {
    check(&[
        (
            ".shared .b32 s; ld.global.b32 %r1, [s];",
            "`s` is in .shared space, but the instruction accesses .global space",
        ),
        ("ld.shared.b32 %r1, [p1];", "`p1` is in .param space, but the instruction accesses .shared space"),
        ("st.const.b32 [%rd1], %r1;", "constant memory cannot be written by a kernel"),
        ("st.param.b32 [p1], %r1;", "a kernel's parameter cannot be written by a kernel"),
    ]);
}

#[test]
fn constants_must_be_in_range() {
    check(&[
        ("bfe.u32 %r1, %r2, 256, 3;", "the position is 256; must be 0 to 255"),
        ("lop3.b32 %r1, %r2, %r3, %r4, %r5;", "the truth table must be a constant"),
        ("bar.sync 16;", "the barrier is 16; must be 0 to 15"),
        ("bar.arrive 1, 0;", "the number of threads at a barrier is 0; must be 1 to 4294967295"),
        ("mbarrier.init.shared.b64 [%r1], 0;", "the number of arrivals is 0; must be 1 to 1048575"),
        ("discard.global.L2 [%rd1], 64;", "the number of bytes is 64; must be 128 to 128"),
        ("cp.async.cg.shared.global [%r1], [%rd1], 8;", "the number of bytes: 4, 8 or 16, with .cg 16"),
        (
            "cp.async.ca.shared.global [%r1], [%rd1], 8, 9;",
            "the number of bytes to be read is 9; must be 0 to 8",
        ),
        (
            "createpolicy.fractional.L2::evict_last.b64 %rd1, 2.0;",
            "the fraction of a cache policy: above 0 and at most 1",
        ),
        ("mov.u32 %r1, 1/0;", "division by zero in a constant expression"),
        (
            "mov.u32 %r1, 0f3F;",
            "malformed number (integers: 12, 0x1F, 0b101, 017; floats: 1.5, 0f3F800000, 0d3FF0000000000000)",
        ),
    ]);
}

#[test]
fn calls_must_match_the_declaration() {
    let globals = ".extern .func (.param .b32 r) f(.param .b32 a, .param .b64 b);";
    let message = |body| problems(globals, body)[0].problem.to_string();
    assert_eq!(
        message(".param .b32 a; .param .b32 r; call (r), f, (a);"),
        "1 arguments in the call of `f`, which has 2"
    );
    assert_eq!(
        message(".param .b32 a; .param .b64 b; call f, (a, b);"),
        "0 results in the call of `f`, which has 1"
    );
}

#[test]
fn malformed_declarations_are_errors() {
    check(&[
        (".reg .b32 %x<2>, ; ", "expected a name"),
        (".shared .align 3 .b8 s[4];", "alignment 3 of `s` is not a power of two"),
        (".shared .frob s;", "unknown directive `.frob`"),
        (".local s;", "the declaration of `s` has no type"),
        (".align 4 .b8 s;", "the declaration of `s` has no state space"),
        (".shared .b64 s[9223372036854775807][4];", "`s` is too large"),
        (".global .b32 t[3] = {1, , 3};", "initialiser of `t`: `,` without a value before it"),
        (".global .b32 t[2] = {1, 2, 3};", "initialiser of `t`: more values than the variable has elements"),
    ]);
}

#[test]
fn diagnostics_show_position_line_and_caret() {
    let problems = problems("", "mov.u32 %r1, 0;\n    frob.b32 %r1, %r2;");
    let shown = problems[0].to_string();
    let line = LINES_BEFORE + 2;
    let expected =
        format!("test.ptx:{line}:5: unknown instruction `frob.b32`\n        frob.b32 %r1, %r2;\n        ^");
    assert!(shown.starts_with(&expected), "{shown}\n{expected}");
}

#[test]
fn every_invalid_instruction_is_listed() {
    let problems = problems("", "frob %r1; mov.u32 %r1, 0; bra NOWHERE; add.s32 %r1;");
    assert_eq!(problems.len(), 3);
}

#[test]
fn unknown_forms_in_nested_scopes_cause_no_other_errors() {
    let scope = "{cvt.rn.f16x2.s32 %r1, %r2;}\n";
    for count in [1, 99, 100, 101, 500] {
        let problems = problems("", &scope.repeat(count));
        assert_eq!(problems.len(), count.min(100));
        for problem in &problems {
            let message = problem.problem.to_string();
            assert!(message.contains("`cvt.rn.f16x2.s32`"), "{message}");
        }
    }
    let module = module(".entry good() { ret; }", &scope.repeat(500));
    assert!(module.function("k").is_err());
    assert_eq!(module.function("good").unwrap().instructions.len(), 1);
}

#[test]
fn shared_variables_of_called_functions_count_for_kernels() {
    let judged = |body: &str| {
        let text = format!(
            ".version 7.0 .target sm_70 .address_size 64 .shared .b8 one[30000]; .shared .b8 two[30000]; \
             .func f() {{ st.shared.u32 [two], 1; ret; }} .visible .entry k() {{ {body} ret; }}"
        );
        Module::parse(text, "m.ptx").unwrap().judge().errors
    };
    assert_eq!(judged("st.shared.u32 [one], 1;"), []);
    assert_eq!(judged("call f; call f;"), []);
    let errors = judged("st.shared.u32 [one], 1; call f;");
    assert_eq!(errors.len(), 1);
    let message = "Entry function 'k' uses too much shared data (0xea60 bytes, 0xc000 max)";
    assert_eq!(errors[0].message, message);
}

#[test]
fn valid_functions_beside_an_invalid_one_are_usable() {
    let text = ".version 7.0 .target sm_70 .entry bad() { frob; } .entry good() { ret; }";
    let module = Module::parse(text, "two.ptx").unwrap();
    assert!(matches!(module.function("bad"), Err(Error::Invalid { .. })));
    assert_eq!(module.function("good").unwrap().instructions.len(), 1);
}

#[test]
fn missing_declared_and_duplicate_functions_have_own_errors() {
    let text = ".version 7.0 .target sm_70 .extern .func f(); .entry k() { ret; } .entry k() { ret; }";
    let module = Module::parse(text, "m.ptx").unwrap();
    assert!(matches!(module.function("g"), Err(Error::NoSuchFunction { .. })));
    assert!(matches!(module.function("f"), Err(Error::NotDefined { .. })));
    assert!(matches!(module.function("k"), Err(Error::DefinedTwice { .. })));
}

#[test]
fn errors_in_non_modules_have_positions() {
    for (text, expected) in [
        ("hello", "m:1:1: expected a directive (`.version`, `.entry`, `.global` …), found `hello`"),
        (".version 7.0\n.entry k() { ret;", "m:2:12: `{` is not closed"),
        (".version 7.0\n/* comment", "m:2:1: a comment is not closed"),
        (".entry k() { } }", "m:1:16: expected a directive (`.version`, `.entry`, `.global` …), found `}`"),
        (".version x", "m:1:10: `.version` requires a number such as 7.0"),
        (".func (.param .b32 x) { }", "m:1:1: the function has no name"),
        (".entry (.param .b32 x) { }", "m:1:8: a kernel (`.entry`) has no results"),
    ] {
        let error = Module::parse(text, "m").unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn invalid_variables_are_module_diagnostics() {
    let module = module(".global .b32 ok; .global .frob bad; .global .b32 t[1] = {1, 2};", "ret;");
    assert_eq!(module.variables().len(), 1);
    let problems: Vec<_> = module.problems().iter().map(|problem| problem.problem.to_string()).collect();
    assert_eq!(
        problems,
        ["unknown directive `.frob`", "initialiser of `t`: more values than the variable has elements"]
    );
    let twice = common::module(".extern .global .b32 a; .global .b32 a; .global .b32 a;", "ret;");
    assert_eq!(twice.problems()[0].problem.to_string(), "`a` is declared twice");
    assert!(module.function("k").is_ok());
}

#[test]
fn users_of_invalid_variables_show_the_variable_error() {
    let shown = problems(".global .frob bad;", "mov.u64 %rd1, bad;");
    let shown: Vec<_> = shown.iter().map(|problem| problem.problem.to_string()).collect();
    assert_eq!(shown, ["`bad` is not declared", "unknown directive `.frob`"]);
}
