//! The front end returns a module or an error for any text.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod common;

use proptest::prelude::*;
use ptx_frontend::Module;
use ptx_frontend::analyse::{ControlFlow, Liveness};

const ASSORTED: &str = include_str!("data/assorted.ptx");

/// Parses a module, decodes and analyses every function, and formats every error.
fn exercise(text: &str) -> (usize, usize) {
    let (mut good, mut bad) = (0, 0);
    match Module::parse(text, "m") {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            bad += 1;
        }
        Ok(module) => {
            for item in &module.outline().functions {
                match module.function(item.name.of(text)) {
                    Ok(function) => {
                        Liveness::of(&function, &ControlFlow::of(&function));
                        good += 1;
                    }
                    Err(error) => {
                        assert!(!error.to_string().is_empty());
                        bad += 1;
                    }
                }
            }
        }
    }
    (good, bad)
}

#[test]
fn a_real_module_has_no_errors() {
    // Two functions are declared and defined; vprintf is only declared.
    assert_eq!(exercise(ASSORTED), (6, 1));
}

#[test]
fn truncated_modules_are_parsed_or_refused() {
    for end in 0..ASSORTED.len() {
        exercise(&ASSORTED[..end]);
    }
}

#[test]
fn truncated_bodies_are_decoded_or_refused() {
    let module = Module::parse(ASSORTED, "m").unwrap();
    let item = module.outline().functions.iter().rfind(|item| item.body.is_some()).unwrap();
    let (header, body) = (item.header.of(ASSORTED), item.body.unwrap().of(ASSORTED));
    for end in (0..body.len()).step_by(3) {
        exercise(&format!("{header} {{ {} }}", &body[..end]));
    }
}

#[test]
fn deep_nesting_is_an_error_without_stack_overflow() {
    for (open, close) in [("(", ")"), ("{", "}"), ("[", "]")] {
        for depth in [64, 65, 10_000] {
            let nest = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            exercise(&format!(".entry k() {{ mov.b32 %r1, {nest}; }}"));
            exercise(&format!(".entry k() {{ {nest} }}"));
            exercise(&format!(".entry k() {{ call {nest}, f, {nest}; }}"));
            exercise(&format!(".global .b32 x = {nest};"));
            exercise(&format!(".global .b32 x{nest} = {{1}};"));
            exercise(&format!(".entry k({nest}) {{ }}"));
        }
    }
    let choices = "1?".repeat(10_000);
    exercise(&format!(".entry k() {{ .reg .b32 %r<2>; mov.b32 %r1, {choices}1; }}"));
    let signs = "-".repeat(100_000);
    assert_eq!(exercise(&format!(".entry k() {{ .reg .b32 %r<2>; mov.b32 %r1, {signs}1; }}")), (1, 0));
}

#[test]
fn thousands_of_unmatched_braces_are_refused_quickly() {
    for text in ["{".repeat(200_000), "}".repeat(200_000), "/*".repeat(100_000), "\"".repeat(100_001)] {
        exercise(&text);
        exercise(&format!(".entry k() {{ {text}"));
        exercise(&format!(".entry k() {{ {text} }}"));
    }
}

#[test]
fn huge_counts_cost_no_memory() {
    let body = ".reg .b32 %r<4294967295>; .reg .b64 %d<99999999999999>; .local .b8 x[99999999999];
                .shared .b8 y[4294967296][4294967296]; mov.b32 %r7, 1;";
    assert_eq!(exercise(&format!(".entry k() {{ {body} }}")), (0, 1));
    exercise(".global .b8 x[99999999999] = {1}; .global .b8 y[][18446744073709551615] = {{1}, {2}};");
    exercise(".global .b16 y[][4611686018427387904] = {{1}, {2}, {3}, 4};");
    exercise(".global .align 18446744073709551615 .b8 x[4]; .global .b8 z[99999999999999999999999];");
    exercise(".entry k(.param .b8 p[4294967295], .param .b8 q[4294967295]) { ret; }");
    exercise(
        ".version 99999999999999.1 .entry k() .maxntid 99999999999 { .loc 99999999999 99999999999 1 ret; }",
    );
}

/// Tokens of PTX texts.
const WORDS: &[&str] = &[
    ".version 7.0\n",
    ".entry k() {",
    ".func (.param .b32 r) f(.param .b32 a) {",
    "}",
    "{",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ".reg .b32 %r<4>;",
    ".reg .pred %p;",
    ".shared .b32 s[4];",
    ".global .b32 g = {",
    "ld.global.u32 %r1, [%r2+4];",
    "@%p bra L;",
    "L:",
    "T: .branchtargets L;",
    "brx.idx %r1, T;",
    "call (%r1), f, (%r2);",
    "add.s32 %r1, %r2, 3;",
    "ret;",
    "|",
    "!",
    "+",
    "-",
    "?",
    ":",
    "0f3F800000",
    "0x",
    "1",
    ".align",
    ".loc 1 2 3",
    "\"",
    "/*",
    "*/",
    "//",
    "%",
    ".",
    "\0",
    "é",
    "WARP_SZ",
    "_",
    "mov.b64 {%r1, %r2}, %r3;",
    ".pragma \"x\";",
    ".callprototype",
    ".alias a, b;",
    "generic(g)",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_parsed_or_refused(text in any::<String>()) {
        exercise(&text);
        exercise(&format!(".entry k() {{ {text} }}"));
        exercise(&format!(".global .b32 x[] = {{ {text} }};"));
    }

    #[test]
    fn arbitrary_token_sequences_are_parsed_or_refused(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        exercise(&words.concat());
        exercise(&format!(".entry k() {{ .reg .b32 %r<9>; .reg .pred %p; {} }}", words.join(" ")));
    }

    #[test]
    fn changed_bytes_are_parsed_or_refused(at in 0..ASSORTED.len(), byte in 0u8..128) {
        let mut bytes = ASSORTED.as_bytes().to_vec();
        bytes[at] = byte;
        if let Ok(text) = std::str::from_utf8(&bytes) {
            exercise(text);
        }
    }
}
