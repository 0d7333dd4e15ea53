//! Calls, declarations, aliases and offsets that a module cannot have.

use ptx_frontend::{Error, Module};

/// Returns the first error of kernel `k` in a module of functions and this body, or `none`.
fn of_call(functions: &str, body: &str) -> String {
    let text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.global .u32 gv[4];\n{functions}\n\
         .visible .entry k(.param .u64 o) {{ .reg .u32 %r<4>; .reg .u64 %d<4>; .reg .pred %p<4>; .reg .u16 %h<4>;\n\
         .reg .f32 %f<4>; .reg .v2 .u32 %v; .param .u32 q; .param .u64 w; .param .align 4 .b8 s[8];\n{body}\nret; }}"
    );
    match Module::parse(text, "calls").unwrap().function("k") {
        Ok(_) => "none".to_owned(),
        Err(Error::Invalid { problems, .. }) => problems[0].problem.to_string(),
        Err(other) => other.to_string(),
    }
}

const ONE: &str = ".func (.reg .u32 r) f(.reg .u32 a) { mov.u32 r, a; ret; }";
const TWO: &str =
    ".func (.reg .u32 r, .reg .pred p) f(.reg .u32 a) { mov.u32 r, a; setp.eq.u32 p, a, 0; ret; }";

/// ptxas 11.8, 12.9 and 13.5 accept these calls.
#[test]
fn calls_pass_values_of_compatible_types() {
    for (functions, body) in [
        (ONE, "call (%r1), f, (5);"),
        (ONE, "call (%r1), f, (q);"),
        (ONE, "call (q), f, (%r1);"),
        (ONE, "call (_), f, (%r1);"),
        (TWO, "call (%r1, %p1), f, (%r2);"),
        (TWO, "@%p2 call (%r1, %p1), f, (%r2);"),
        (".func f(.reg .v2 .u32 a) { ret; }", "call f, (%v);"),
        (".func f(.reg .u64 a) { ret; }", "call f, (%v);"),
        (".func f(.reg .b16 a) { ret; }", "call f, (%h1);"),
        (".func f(.param .f32 a) { ret; }", "call f, (1.5);"),
        (".func f(.param .align 4 .b32 a[2]) { ret; }", "call f, (s);"),
        (".extern .func f(.param .b64 a, .param .align 4 .b8 b[]);", "call f, (w, s);"),
    ] {
        assert_eq!(of_call(functions, body), "none", "{functions} {body}");
    }
}

/// These assemblers refuse these calls.
#[test]
fn calls_incompatible_with_the_declaration_are_refused() {
    let of_argument = |given: &str, declared: &str| {
        format!("argument 1 in the call of `f` is {given}, but the declaration has {declared}")
    };
    let convention = |ty: &str| {
        format!(
            "the call of `f` passes a .{ty}; predicates and typed integers of 8 and 16 bits are passed only in a \
             module with a function of several results"
        )
    };
    let whole = |name: &str| format!("expected a whole register or .param variable, found `{name}`");
    let several = |what: &str| format!("{what}: not in a module with a function of several results");
    for (functions, body, expected) in [
        (ONE, "call (%r1), f, (%f1);", of_argument(".reg .f32", ".reg .u32")),
        (ONE, "call (%r1), f, (%v);", of_argument(".reg .v2 .u32", ".reg .u32")),
        (ONE, "call (%r1), f, (w);", of_argument(".param .u64", ".reg .u32")),
        (ONE, "call (%r1), f, (%v.x);", whole("%v")),
        (ONE, "call (%r1), f, (%r1+1);", whole("%r1")),
        (
            ONE,
            "call (%r1), f, (o);",
            "expected a .param variable of the function's body, found `o`".to_owned(),
        ),
        (ONE, "call (%r1), f, (gv);", "expected a register or .param variable, found `gv`".to_owned()),
        (
            ".func f(.param .align 8 .b8 a[8]) { ret; }",
            "call f, (s);",
            of_argument(".param .align 4 .b8[8]", ".param .align 8 .b8[8]"),
        ),
        (".func f(.reg .pred p) { ret; }", "call f, (%p1);", convention("pred")),
        (".func (.reg .s16 r) f() { ret; }", "call (%h1), f;", convention("s16")),
        (".func f(.param .u8 a) { ret; }", ".param .u8 b; call f, (b);", convention("u8")),
        (
            TWO,
            "mov.u64 %d1, f; P: .callprototype (.reg .u32 _) _ (.reg .u32 _); call (%r1), %d1, (%r2), P;",
            several("a call through a register"),
        ),
        (
            ONE,
            "mov.u64 %d1, f; call (%r1), %d1, (%r2);",
            "a call through a register: only with a .callprototype or .calltargets".to_owned(),
        ),
    ] {
        assert_eq!(of_call(functions, body), expected, "{functions} {body}");
    }
}

#[test]
fn declarations_invalid_in_their_space_are_refused() {
    let initial = "has an initial value, which only .global and .const variables may have";
    for (declaration, expected) in [
        (".reg .u32 x = 5;", format!("`x` {initial}")),
        (".reg .f32 a, x = 1.0;", format!("`x` {initial}")),
        (".shared .u32 x = 5;", format!("`x` {initial}")),
        (".local .u32 x = 5;", format!("`x` {initial}")),
        (".reg .u32 x[2];", "`x` is an array and cannot be in .reg space".to_owned()),
        (".local .pred x;", "`x` is a predicate and must be in .reg space".to_owned()),
        (".reg .v2 .pred x;", "`x` is a vector of predicates; predicates are scalar".to_owned()),
        (".param .v2 .u32 x;", "`x` is a vector and cannot be in .param space".to_owned()),
    ] {
        assert_eq!(of_call("", declaration), expected, "{declaration}");
    }
    let results = ".func (.param .u32 r, .param .u32 s) f() { ret; }";
    let module = Module::parse(format!(".version 7.8\n.target sm_80\n{results}"), "m").unwrap();
    let refused = module.function("f").unwrap_err().to_string();
    assert!(refused.contains("`r` is one of several results and must be in .reg space"), "{refused}");
}

#[test]
fn invalid_aliases_are_module_diagnostics() {
    let declared = ".visible .func g();\n.visible .func f() { ret; }\n";
    for (functions, rule) in [
        (format!("{declared}.alias g, f;"), None),
        (
            ".visible .func f() { ret; }\n.alias g, f;".to_owned(),
            Some("`g` is an alias and must be declared as a function"),
        ),
        (
            format!("{declared}.visible .func h();\n.alias g, f;\n.alias h, g;"),
            Some("`h` refers to a function that the module does not define"),
        ),
        (
            ".func g() { ret; }\n.func f() { ret; }\n.alias g, f;".to_owned(),
            Some("`g` is an alias and cannot have a body"),
        ),
        (
            ".func g();\n.weak .func f() { ret; }\n.alias g, f;".to_owned(),
            Some("`g` refers to a .weak function, which cannot have aliases"),
        ),
        (
            ".func g();\n.func (.reg .u32 r) f() { ret; }\n.alias g, f;".to_owned(),
            Some("`g` has other parameters than the function that it refers to"),
        ),
        (
            ".entry g();\n.entry f() { ret; }\n.alias g, f;".to_owned(),
            Some("`g` is or refers to a kernel; kernels cannot have aliases"),
        ),
    ] {
        let module = Module::parse(format!(".version 7.8\n.target sm_80\n{functions}"), "m").unwrap();
        let found = module.problems().first().map(|problem| problem.problem.to_string());
        assert_eq!(found.as_deref(), rule, "{functions}");
    }
}

#[test]
fn offsets_require_whole_integer_registers() {
    for (body, expected) in [
        ("st.u32 [%d1], %r1 + 1;", "none"),
        ("st.v2.u32 [%d1], %v + 1;", "none"),
        ("add.u64 %d1, %d2, gv + 8;", "none"),
        ("st.f32 [%d1], %f1 + 1;", "expected an integer register before an offset, found `%f1`"),
        ("mov.pred %p1, %p2 + 1;", "expected an integer register before an offset, found `%p2`"),
        ("st.v2.u32 [%d1], {%r1+1, %r2};", "expected a register without an offset, found `%r1`"),
        ("st.u32 [%d1], %v.x+1;", "expected a register without an offset, found `%v`"),
        ("mov.u32 %r1+1, %r2;", "expected a register without an offset, found `%r1`"),
    ] {
        assert_eq!(of_call("", body), expected, "{body}");
    }
}
