//! Instructions that need a later target or PTX version, or end with one.

use crate::refusal;

#[test]
fn instructions_newer_than_the_target_are_refused() {
    let add = "add.bf16 %h1, %h2, %h3;";
    assert_eq!(
        refusal("8.0", "sm_80", add),
        "`add.bf16` requires .target sm_90 or later, but the module targets sm_80 (PTX manual, 9.7.4.1)"
    );
    assert_eq!(refusal("8.0", "sm_90", add), "none");
    let redux = "redux.sync.min.f32 %r1, %r2, -1;";
    assert!(refusal("8.6", "sm_100", redux).contains("requires .target sm_100a"));
    assert_eq!(refusal("8.6", "sm_100a, debug", redux), "none");
}

#[test]
fn instructions_newer_than_the_version_are_refused() {
    let add = "add.u16x2 %r1, %r2, %r3;";
    assert_eq!(
        refusal("7.8", "sm_90", add),
        "`add.u16x2` requires .version 8.0 or later, but the module has 7.8 (PTX manual, 9.7.1.1)"
    );
    assert_eq!(refusal("8.0", "sm_90", add), "none");
}

#[test]
fn rules_of_later_targets_are_enforced() {
    for (instruction, expected) in [
        ("setmaxnreg.inc.sync.aligned.u32 25;", "the number of registers: a multiple of 8"),
        (
            "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 24;",
            "the number of bytes: a multiple of 16",
        ),
        (
            "mbarrier.test_wait.shared.b64 %p|%p, [%r1], %rd1;",
            "results beside the phase's completion: only with .phase_type::primary",
        ),
        (
            "cp.reduce.async.bulk.gpu.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;",
            "a scope: required with .relaxed and forbidden without",
        ),
    ] {
        assert_eq!(refusal("9.3", "sm_90a", instruction), expected);
    }
}

#[test]
fn optional_texture_operands_have_own_requirements() {
    let offset = "tex.1d.v4.u32.f32 {%r1, %r2, %r3, %r0}, [%rd1, {%f1}], {%r1};";
    assert!(refusal("4.2", "sm_30", offset).contains("requires .version 4.3"));
    assert_eq!(refusal("4.3", "sm_30", offset), "none");
    let resident = "tex.1d.v4.u32.f32 {%r1, %r2, %r3, %r0}|%p, [%rd1, {%f1}];";
    assert!(refusal("7.1", "sm_53", resident).contains("requires .target sm_60"));
    assert!(refusal("7.0", "sm_60", resident).contains("requires .version 7.1"));
    assert_eq!(refusal("7.1", "sm_60", resident), "none");
}

#[test]
fn float_wmma_has_no_satfinite_since_ptx_6_5() {
    let fragment = |n| vec!["%r1"; n].join(", ");
    let (four, eight) = (fragment(4), fragment(8));
    let product = format!(
        "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16.satfinite {{{four}}}, {{{eight}}}, {{{eight}}}, {{{four}}};"
    );
    assert_eq!(refusal("6.4", "sm_70", &product), "none");
    assert!(refusal("6.5", "sm_70", &product).contains("only before PTX 6.5"));
}

#[test]
fn votes_without_sync_end_with_ptx_6_4_on_volta() {
    let vote = "vote.all.pred %p, %p;";
    assert!(refusal("6.4", "sm_70", vote).contains("without .sync"));
    assert_eq!(refusal("6.3", "sm_70", vote), "none");
    assert_eq!(refusal("8.0", "sm_60", vote), "none");
}
