//! Which bytes of its parameters a kernel reads.

mod common;

use common::kernel;
use ptx_frontend::analyse::parameter_bytes_read;

#[test]
fn bytes_between_fields_that_are_loaded_are_not_read() {
    let kernel =
        kernel("ld.param.u64 %rd1, [p0]; ld.param.u8 %r1, [p2+1]; ld.param.v2.u32 {%r2, %r3}, [p2+8]; ret;");
    assert_eq!(parameter_bytes_read(&kernel), Some(vec![0..8, 17..18, 24..32]));
}

#[test]
fn a_kernel_that_takes_a_parameters_address_may_read_all() {
    assert_eq!(parameter_bytes_read(&kernel("mov.u64 %rd1, p2; ret;")), None);
}

#[test]
fn a_kernel_that_loads_nothing_reads_nothing() {
    assert_eq!(parameter_bytes_read(&kernel("ret;")), Some(vec![]));
}
