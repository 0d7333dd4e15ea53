//! Linking of several modules into one program.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

use std::sync::Arc;

use ptx_frontend::Module;
use ptx_frontend::ir::{Initial, Linkage};
use ptx_frontend::link::{LinkError, Program};

fn modules(texts: &[&str]) -> Vec<Arc<Module>> {
    let module = |(number, text): (usize, &&str)| {
        let text = format!(".version 7.0 .target sm_70 .address_size 64 {text}");
        Arc::new(Module::parse(text, &format!("m{number}")).unwrap())
    };
    texts.iter().enumerate().map(module).collect()
}

fn link(texts: &[&str]) -> Program {
    Program::link(modules(texts)).unwrap()
}

fn externals(program: &Program, function: &str) -> Vec<String> {
    let function = program.function(function).unwrap().unwrap();
    function.externals.iter().map(|external| external.name.clone()).collect()
}

#[test]
fn declarations_resolve_to_definitions_in_other_modules() {
    let program = link(&[
        ".extern .func f(); .extern .global .b32 v; .visible .entry k() { .reg .b64 %a; call f; mov.u64 %a, v; ret; }",
        ".visible .func f() { ret; } .visible .global .b32 v = 7;",
    ]);
    assert_eq!(externals(&program, "k"), ["f", "v"]);
    assert_eq!(program.module_of("f").unwrap().name(), "m1");
    assert_eq!(program.variables()[0].initial, [Initial::Bytes { offset: 0, bytes: vec![7, 0, 0, 0] }]);
    assert_eq!(program.unresolved(), []);
}

#[test]
fn private_names_of_two_modules_stay_apart() {
    let text = |value: u32, kernel: &str| {
        format!(
            ".global .b32 s = {value}; .global .u64 p = s; .func f() {{ ret; }}
             .visible .entry {kernel}() {{ .reg .b64 %a; call f; mov.u64 %a, s; ret; }}"
        )
    };
    let program = link(&[&text(1, "k0"), &text(2, "k1")]);
    assert_eq!(externals(&program, "k0"), ["f", "s"]);
    assert_eq!(externals(&program, "k1"), ["f@1", "s@1"]);
    let names: Vec<_> = program.variables().iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["s", "p", "s@1", "p@1"]);
    assert!(matches!(&program.variables()[3].initial[0], Initial::Address { symbol, .. } if symbol == "s@1"));
    assert_eq!(program.function("f@1").unwrap().unwrap().name, "f@1");
}

#[test]
fn visible_names_take_precedence_over_private_names() {
    let program =
        link(&[".func f() { ret; } .visible .entry k() { call f; ret; }", ".visible .func f() { ret; }"]);
    assert_eq!(externals(&program, "k"), ["f@0"]);
    assert_eq!(program.module_of("f").unwrap().name(), "m1");
}

#[test]
fn visible_beats_weak_and_first_weak_beats_later_weak() {
    let weak = ".weak .func f() { ret; } .weak .global .b32 v = 1;";
    assert_eq!(link(&[weak, weak]).module_of("f").unwrap().name(), "m0");
    let program = link(&[weak, ".visible .func f() { ret; } .visible .global .b32 v = 2;", weak]);
    assert_eq!(program.module_of("f").unwrap().name(), "m1");
    assert_eq!(program.variables().len(), 1);
    assert_eq!(program.variables()[0].linkage, Linkage::Visible);
}

#[test]
fn the_largest_common_variable_wins() {
    let program =
        link(&[".common .global .b32 c[2];", ".common .global .b32 c[9];", ".common .global .b32 c[4];"]);
    assert_eq!(program.variables()[0].size, 36);
}

#[test]
fn dynamic_shared_memory_is_the_same_in_every_module() {
    let text = ".extern .shared .align 16 .b8 s[];";
    let program = link(&[text, text]);
    assert_eq!((program.variables().len(), program.unresolved().len()), (1, 0));
}

#[test]
fn two_visible_definitions_are_an_error_that_names_both_modules() {
    for text in [".visible .func f() { ret; }", ".visible .entry f() { ret; }", ".visible .global .b32 f;"] {
        let error = Program::link(modules(&[text, text])).unwrap_err();
        let expected = LinkError::DefinedTwice { name: "f".into(), first: "m0".into(), second: "m1".into() };
        assert_eq!(error, expected);
    }
}

#[test]
fn names_without_definition_are_listed_once() {
    let text = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b); .extern .global .b32 v;";
    let program = link(&[text, text]);
    let listed: Vec<_> =
        program.unresolved().iter().map(|u| (u.name.as_str(), u.module.as_str(), u.is_function)).collect();
    assert_eq!(listed, [("vprintf", "m0", true), ("v", "m0", false)]);
    assert!(program.function("vprintf").is_none());
}

#[test]
fn visible_aliases_resolve_in_all_modules() {
    let program = link(&[
        ".extern .func g(); .visible .entry k() { .reg .b64 %a; call g; mov.u64 %a, g; ret; }",
        ".func impl() { ret; } .visible .func g(); .alias g, impl; .visible .entry m() { call g; ret; }",
        ".func impl() { ret; } .visible .entry n() { call impl; ret; }",
    ]);
    assert_eq!(externals(&program, "k"), ["impl"]);
    assert_eq!(externals(&program, "m"), ["impl"]);
    assert_eq!(externals(&program, "n"), ["impl@2"]);
    assert_eq!(program.unresolved(), []);
    assert!(!program.defines("g"));
}
