//! The stand-in for cuBLAS: programs that link with the vendor's sonames, beside sums in double
//! precision.

#![allow(clippy::expect_used)]

mod common;

use std::path::Path;

/// Runs `settings/NAME.c` on a device of a compute capability; returns what it says.
fn run(name: &str, device: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings").join(name).with_extension("c");
    let folder = common::libraries().join(library_folder::STAND_INS);
    let search = format!("-L{}", folder.display());
    let libraries = [&search, "-l:libcublas.so.12", "-l:libcublasLt.so.12", "-lm"];
    let program = common::compile_with(&source, &libraries).expect("the program compiles");
    let mut command = common::command(&program);
    let path = [&folder, common::libraries()].map(|folder| folder.display().to_string()).join(":");
    let output = command.env("LD_LIBRARY_PATH", path).env("VOLTSIM_DEVICE", device).output();
    let output = output.expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    format!("{}{}", text(output.stdout), text(output.stderr))
}

#[test]
fn products_are_near_sums_in_double_precision() {
    assert_eq!(run("blas_products", "titan-v"), "");
}

#[test]
fn products_of_ampere_kernels_are_near_sums_in_double() {
    assert_eq!(run("blas_products", "rtx3090"), "");
}

#[test]
fn described_products_have_their_epilogues() {
    assert_eq!(run("blas_lt", "rtx3090"), "");
}

#[test]
fn functions_of_all_levels_are_near_sums_in_double() {
    assert_eq!(run("blas_levels", "titan-v"), "");
}

#[test]
fn missing_function_returns_not_supported_and_is_named_once() {
    let said = run("blas_others", "titan-v");
    let expected = "voltsim: cuBLAS stand-in: cublasSgeqrfBatched is not implemented; the call returns \
                    \"not supported\"\n";
    assert_eq!(said, expected);
}
