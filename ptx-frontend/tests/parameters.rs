//! Parameter bytes that a kernel reads.

#![allow(clippy::single_range_in_vec_init)]

mod common;

use common::kernel;
use ptx_frontend::analyse::ParametersRead;

fn read(body: &str) -> ParametersRead {
    ParametersRead::of(&kernel(body))
}

#[test]
fn bytes_between_loaded_fields_are_not_read() {
    let read =
        read("ld.param.u64 %rd1, [p0]; ld.param.u8 %r1, [p2+1]; ld.param.v2.u32 {%r2, %r3}, [p2+8]; ret;");
    assert_eq!(read, ParametersRead::Known(vec![0..8, 17..18, 24..32]));
}

#[test]
fn taking_a_parameter_address_makes_the_read_bytes_a_minimum() {
    let read = read("ld.param.u64 %rd1, [p0]; mov.u64 %rd1, p2; ret;");
    assert_eq!(read, ParametersRead::Indexed(vec![0..8]));
}

#[test]
fn texture_parameters_are_read_handles() {
    let read = read("tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [p1, {%r5}]; ret;");
    assert_eq!(read, ParametersRead::Known(vec![8..16]));
}

#[test]
fn a_kernel_that_loads_nothing_reads_nothing() {
    assert_eq!(read("ret;"), ParametersRead::Known(vec![]));
}
