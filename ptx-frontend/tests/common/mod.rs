//! Kernels made from snippets.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that meets an error has failed")]

use ptx_frontend::ir::Function;
use ptx_frontend::{Diagnostic, Error, Module};

/// Returns a module with `globals` and a kernel `k` with registers of all kinds and body `body`.
pub(crate) fn module(globals: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{globals}\n\
         .visible .entry k(.param .u64 p0, .param .u32 p1, .param .align 8 .b8 p2[24]) {{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .u32 %u<9>; .reg .f32 %f<9>;\n\
         .reg .b64 %rd<9>; .reg .f64 %fd<9>; .reg .b128 %q<3>;\n{body}\n}}\n"
    );
    Module::parse(text, "test.ptx").unwrap()
}

/// Lines before a snippet's body, without globals.
pub(crate) const LINES_BEFORE: u32 = 7;

/// Decodes a kernel without errors.
pub(crate) fn kernel(body: &str) -> Function {
    kernel_with("", body)
}

/// Decodes a kernel of a module with `globals`.
pub(crate) fn kernel_with(globals: &str, body: &str) -> Function {
    match module(globals, body).function("k") {
        Ok(function) => (*function).clone(),
        Err(error) => panic!("{error}"),
    }
}

/// Returns the diagnostics of an invalid kernel.
pub(crate) fn problems(globals: &str, body: &str) -> Vec<Diagnostic> {
    match module(globals, body).function("k") {
        Err(Error::Invalid { problems, .. }) => problems,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("no error in {body}"),
    }
}

/// Returns the message of the first diagnostic.
pub(crate) fn message(body: &str) -> String {
    problems("", body).first().map(|problem| problem.problem.to_string()).unwrap_or_default()
}
