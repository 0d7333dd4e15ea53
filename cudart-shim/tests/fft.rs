//! The stand-in for cuFFT: programs that link with the vendor's soname, beside sums in double
//! precision.

#![allow(clippy::expect_used)]

mod common;

use std::path::Path;

/// Runs `settings/NAME.c`; returns what it says.
fn run(name: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings").join(name).with_extension("c");
    let folder = common::libraries().join(library_folder::STAND_INS);
    let search = format!("-L{}", folder.display());
    let program = common::compile_with(&source, &[&search, "-l:libcufft.so.11", "-lm"]);
    let mut command = common::command(&program.expect("the program compiles"));
    let path = [&folder, common::libraries()].map(|folder| folder.display().to_string()).join(":");
    let output = command.env("LD_LIBRARY_PATH", path).env("VOLTSIM_DEVICE", "titan-v").output();
    let output = output.expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    format!("{}{}", text(output.stdout), text(output.stderr))
}

#[test]
fn transforms_of_any_length_are_near_sums_in_double() {
    assert_eq!(run("fft_lengths"), "");
}

#[test]
fn dimensions_and_layouts_are_near_sums_in_double() {
    assert_eq!(run("fft_layouts"), "");
}

#[test]
fn mistakes_of_plans_have_statuses_and_gaps_are_named() {
    let expected =
        ["a transform in half precision or bfloat16", "cufftXtSetCallback", "cufftXtSetGPUs"].map(|name| {
            format!(
                "voltsim: cuFFT stand-in: {name} is not implemented; the call returns \"not supported\"\n"
            )
        });
    assert_eq!(run("fft_others"), expected.concat());
}
