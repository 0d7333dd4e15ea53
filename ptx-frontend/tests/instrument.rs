//! Instrumented kernels: recorded registers, validity and unchanged line numbers.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod common;

use common::module;
use ptx_frontend::Module;
use ptx_frontend::instrument::{InstrumentError, Instrumented, instrument};

fn instrumented(body: &str) -> Instrumented {
    instrument(&module("", body), "k").unwrap()
}

/// Returns `register.type` of each write with its line, counted from the body's first line.
fn writes(body: &str) -> Vec<String> {
    let writes = instrumented(body).writes.into_iter();
    let shown = writes.map(|write| {
        let half = if write.upper { "^" } else { "" };
        format!("{}:{}.{}{half}", write.place.line - common::LINES_BEFORE, write.register, write.ty.name())
    });
    shown.collect()
}

/// Checks that the instrumented text is valid and that each of its lines only has insertions.
fn check(text: &str, name: &str) {
    let source = Module::parse(text, name).unwrap();
    for kernel in source.kernels() {
        let made = instrument(&source, kernel).unwrap();
        assert_eq!(made.text.lines().count(), text.lines().count(), "{name}");
        let module = Module::parse(made.text, name).unwrap();
        for function in module.functions() {
            let has_body = module.function_item(function).is_some_and(|item| item.body.is_some());
            let error = if has_body { module.function(function).err() } else { None };
            assert!(error.is_none(), "{name}: {}", error.unwrap());
        }
        for write in made.writes {
            let inserted = module.source().line(write.place.line).replace(char::is_whitespace, "");
            let before = write.line.replace(char::is_whitespace, "");
            assert!(
                inserted.contains(before.split(';').next().unwrap()),
                "{name}: {} in {inserted}",
                write.line
            );
        }
    }
}

#[test]
fn each_destination_register_is_recorded_separately() {
    let body = "ld.global.v4.f32 {%f1, %f2, _, %f3}, [%rd1];\nsetp.lt.f32 %p1|%p2, %f1, %f2;\n\
                mov.b64 {%r1, %r2}, %rd2;\nst.global.f32 [%rd1], %f1;\nmul.wide.u32 %rd3, %r1, %r2;\n\
                shfl.sync.idx.b32 %r3|%p3, %r1, 0, 31, -1;\nret;";
    assert_eq!(
        writes(body),
        [
            "1:%f1.f32",
            "1:%f2.f32",
            "1:%f3.f32",
            "2:%p1.pred",
            "2:%p2.pred",
            "3:%r1.b32",
            "3:%r2.b32",
            "5:%rd3.u64",
            "6:%r3.b32",
            "6:%p3.pred",
        ]
    );
}

#[test]
fn registers_of_128_bits_are_recorded_in_halves() {
    assert_eq!(writes("mov.b128 %q1, {%rd1, %rd2};"), ["1:%q1.b128", "1:%q1.b128^"]);
}

#[test]
fn narrowing_instructions_record_the_whole_register() {
    assert_eq!(writes("ld.global.u8 %r1, [%rd1];\nld.global.s32 %r2, [%rd1];"), ["1:%r1.b32", "2:%r2.s32"]);
}

#[test]
fn contractible_products_are_not_recorded() {
    let body = "mul.f32 %f1, %f2, %f3;\nneg.f32 %f4, %f1;\nadd.f32 %f5, %f4, %f2;\nmul.rn.f32 %f6, %f2, %f3;\n\
                add.f32 %f7, %f6, %f2;\nmul.f32 %f8, %f2, %f3;\nst.global.f32 [%rd1], %f8;";
    assert_eq!(writes(body), ["3:%f5.f32", "4:%f6.f32", "5:%f7.f32", "6:%f8.f32"]);
}

#[test]
fn guards_are_saved_before_being_overwritten() {
    let text = instrumented("@!%p1 setp.eq.u32 %p1, %r1, %r2;").text;
    let line = text.lines().nth(common::LINES_BEFORE as usize).unwrap();
    assert!(line.contains("not.pred %voltsim_g, %p1; @!%p1 setp.eq.u32 %p1, %r1, %r2;"), "{line}");
}

#[test]
fn only_callable_functions_are_instrumented() {
    let function = |name: &str| format!(".func {name}() {{ .reg .b32 %r1; mov.u32 %r1, 1; ret; }}\n");
    let made = instrument(&module(&(function("used") + &function("unused")), "call used;"), "k").unwrap();
    let functions: Vec<_> = made.writes.iter().map(|write| write.function.as_str()).collect();
    assert_eq!(functions, ["used"]);
}

#[test]
fn instrumented_modules_are_refused() {
    let made = instrumented("mov.u32 %r1, 1;");
    let again = instrument(&Module::parse(made.text, "twice").unwrap(), "k");
    assert!(matches!(again, Err(InstrumentError::NameTaken { .. })));
}

#[test]
fn a_kernel_with_errors_is_refused_with_its_diagnostic() {
    let error = instrument(&module("", "frobnicate.u32 %r1;"), "k").unwrap_err();
    assert!(error.to_string().contains("frobnicate"), "{error}");
}

#[test]
fn instrumented_text_is_valid_and_keeps_its_lines() {
    check(include_str!("data/assorted.ptx"), "assorted.ptx");
    check(include_str!("data/constructs.ptx"), "constructs.ptx");
    check(include_str!("../../examples/demo/kernels.ptx"), "kernels.ptx");
}
