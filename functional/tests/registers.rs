//! Registers of a kernel: those of the functions that it may call, within what its launch bounds leave.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::module::Module;

/// A function of that name in which so many values are live at once.
fn function(name: &str, live: usize) -> String {
    let mut body = String::new();
    for value in 0..live {
        let _ = writeln!(body, "    ld.volatile.global.u32 %r{value}, [%a+{}];", 4 * value);
    }
    // What is loaded last is used first, so none can be used earlier.
    let last = live - 1;
    for value in 0..last {
        let _ = writeln!(body, "    xor.b32 %r{last}, %r{last}, %r{value};");
    }
    format!(
        ".func (.param .b32 out) {name}(.param .b64 in)
{{
    .reg .b64 %a;
    .reg .b32 %r<{live}>;
    ld.param.b64 %a, [in];
{body}    st.param.b32 [out], %r{last};
    ret;
}}
"
    )
}

/// A kernel that calls through a register what a table names, or what it takes instead.
fn kernel(bounds: &str, takes: &str) -> String {
    format!(
        ".visible .entry test(.param .b64 cells) {bounds}
{{
    .reg .b64 %a, %f;
    .reg .b32 %x;
    .param .b32 result;
    .param .b64 argument;
    ld.param.b64 %a, [cells];
    ld.global.u64 %f, [table];
    {takes}
    st.param.b64 [argument], %a;
    prototype: .callprototype (.param .b32 _) _ (.param .b64 _);
    call (result), %f, (argument), prototype;
    ld.param.b32 %x, [result];
    st.global.u32 [%a], %x;
    ret;
}}
"
    )
}

fn registers(bounds: &str, takes: &str, timed: bool) -> u32 {
    let functions = [("small", 8), ("in_table", 40), ("in_code", 80), ("nowhere", 160)]
        .map(|(name, live)| function(name, live));
    let text = format!(
        ".version 8.0\n.target sm_70\n.address_size 64\n{}.global .b64 table[1] = {{in_table}};\n{}",
        functions.concat(),
        kernel(bounds, takes)
    );
    let device =
        Arc::new(Device::new(DeviceSpec::default(), Settings { timed, ..Settings::default() }).unwrap());
    let ptx = Arc::new(ptx_frontend::Module::parse(text, "registers.ptx").unwrap());
    let module = Module::load(&device, vec![ptx]).unwrap();
    let resources = module.resources("test").unwrap();
    if timed {
        assert_eq!(resources.registers, module.kernel("test").unwrap().registers);
    }
    resources.registers_within_bounds(65_536)
}

#[test]
fn functions_whose_address_nothing_takes_do_not_count() {
    for timed in [false, true] {
        let by_table = registers("", "", timed);
        let by_code = registers("", "mov.b64 %f, in_code;", timed);
        assert!((40..60).contains(&by_table), "{by_table}, timed: {timed}");
        assert!((80..100).contains(&by_code), "{by_code}, timed: {timed}");
    }
}

#[test]
fn a_kernel_has_as_many_whether_its_launches_are_timed_or_not() {
    assert_eq!(registers("", "", false), registers("", "", true));
}

#[test]
fn launch_bounds_leave_no_more_than_fit() {
    let takes = "mov.b64 %f, in_code;";
    assert_eq!(registers(".maxntid 1024, 1, 1", takes, true), 64);
    assert_eq!(registers(".maxntid 256, 1, 1\n.minnctapersm 4", takes, true), 64);
    assert_eq!(registers(".maxnreg 32", takes, true), 32);
    assert_eq!(registers(".maxntid 512, 1, 1", takes, true), registers("", takes, true));
}
