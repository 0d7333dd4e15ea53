//! Each API function requires the context given in its line of the API table.

#![allow(clippy::expect_used)]

mod common;

use api_table::{Class, Function, Library, Need, Signature, State};
use std::fmt::Write as _;
use std::path::Path;

/// Positions of the arguments of a type, in general registers and on the stack.
fn places<'a>(function: &'a Function, wanted: &'a str) -> impl Iterator<Item = usize> + 'a {
    let list = function.signature.split_once('(').map_or("", |(_, list)| list.trim_end_matches(')'));
    let classes =
        Signature::parse(function.signature).map(|signature| signature.arguments).unwrap_or_default();
    let arguments = list.split(',').map(str::trim).zip(classes);
    let general = arguments.filter(|(_, class)| !matches!(class, Class::Float | Class::Nothing));
    let is_wanted = move |text: &str| {
        text.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(' ') && !rest.contains('*'))
    };
    general.enumerate().filter(move |(_, (text, _))| is_wanted(text)).map(|(place, _)| place)
}

/// Compiles and runs a table of functions with a program of `tests/settings`.
fn run(name: &str, functions: &[&Function]) {
    let mut text = String::from(
        "static const struct line { const char *name, *need; unsigned streams, contexts; } lines[] = {\n",
    );
    for function in functions {
        let bits = |wanted| places(function, wanted).fold(0, |bits, place| bits | 1 << place);
        let (streams, contexts): (u32, u32) = (bits("CUstream"), bits("CUcontext"));
        let _ = writeln!(
            text,
            "{{ \"{}\", \"{}\", {streams}, {contexts} }},",
            function.name,
            function.need.label()
        );
    }
    text.push_str("};\n");
    let body = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings").join(name).with_extension("c");
    text.insert_str(0, "#define _GNU_SOURCE\n");
    text.push_str(&std::fs::read_to_string(body).expect("the program").replace("#define _GNU_SOURCE\n", ""));
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join(name).with_extension("c");
    std::fs::write(&source, text).expect("the source");
    let output =
        common::command(&common::compile(&source).expect("the program compiles")).output().expect("a run");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {told}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{} calls\n", functions.len()));
}

#[test]
fn driver_calls_need_the_context_of_their_line() {
    let functions = api_table::driver().expect("the table");
    // These calls end the primary context, which holds the runtime's objects.
    let is_end = |name: &str| name.starts_with("cuDevicePrimaryCtxRe") && !name.contains("Retain");
    let checked: Vec<_> = functions
        .iter()
        .filter(|function| matches!(function.state, State::Done(_)) && function.need != Need::Nothing)
        .filter(|function| !is_end(function.name))
        .collect();
    assert!(checked.len() > 500);
    run("needs", &checked);
}

#[test]
fn runtime_calls_create_the_context_of_their_line() {
    let functions = api_table::exports(Library::Cudart13).expect("the table");
    // These calls create a context for a device argument.
    let names_device = |name: &str| matches!(name, "cudaSetDevice" | "cudaInitDevice");
    let checked: Vec<_> = functions
        .iter()
        .filter(|function| {
            matches!(function.state, State::Done(_)) && function.signature.starts_with("cudaError_t")
        })
        .filter(|function| !names_device(function.name))
        .collect();
    assert!(checked.len() > 300);
    run("initialises", &checked);
}
