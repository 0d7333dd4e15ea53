//! Kernels from snippets, for the tests of this folder.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that meets an error has failed")]

use ptx_frontend::ir::Function;
use ptx_frontend::{Diagnostic, Error, Module};

/// A module with `globals` and a kernel `k` that has registers of all kinds and this body.
pub(crate) fn module(globals: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{globals}\n\
         .visible .entry k(.param .u64 p0, .param .u32 p1, .param .align 8 .b8 p2[24]) {{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .u32 %u<9>; .reg .f32 %f<9>;\n\
         .reg .b64 %rd<9>; .reg .f64 %fd<9>; .reg .b128 %q<3>;\n{body}\n}}\n"
    );
    Module::parse(text, "test.ptx").unwrap()
}

/// Lines before the body of a snippet's kernel, when there are no globals.
pub(crate) const LINES_BEFORE: u32 = 7;

/// The kernel, which must be without errors.
pub(crate) fn kernel(body: &str) -> Function {
    kernel_with("", body)
}

/// The kernel of a module with `globals`.
pub(crate) fn kernel_with(globals: &str, body: &str) -> Function {
    match module(globals, body).function("k") {
        Ok(function) => (*function).clone(),
        Err(error) => panic!("{error}"),
    }
}

/// What is wrong with the kernel.
pub(crate) fn problems(globals: &str, body: &str) -> Vec<Diagnostic> {
    match module(globals, body).function("k") {
        Err(Error::Invalid { problems, .. }) => problems,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("no error in {body}"),
    }
}

/// The first problem's message.
pub(crate) fn message(body: &str) -> String {
    problems("", body).first().map(|problem| problem.problem.to_string()).unwrap_or_default()
}
