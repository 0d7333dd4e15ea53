//! Register counts of kernels: the maximum over reachable functions, within the launch bounds.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::module::Module;

/// A function called `name` with `live` simultaneously live values.
fn function(name: &str, live: usize) -> String {
    let mut body = String::new();
    for value in 0..live {
        let _ = writeln!(body, "    ld.volatile.global.u32 %r{value}, [%a+{}];", 4 * value);
    }
    // The values are used in reverse order of their loads, so none dies early.
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

/// A kernel that calls a function of a table, or `takes`, through a register.
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
fn functions_without_taken_address_do_not_count() {
    for timed in [false, true] {
        let by_table = registers("", "", timed);
        let by_code = registers("", "mov.b64 %f, in_code;", timed);
        assert!((40..60).contains(&by_table), "{by_table}, timed: {timed}");
        assert!((80..100).contains(&by_code), "{by_code}, timed: {timed}");
    }
}

#[test]
fn register_counts_are_equal_with_and_without_timing() {
    assert_eq!(registers("", "", false), registers("", "", true));
}

#[test]
fn launch_bounds_limit_registers() {
    let takes = "mov.b64 %f, in_code;";
    assert_eq!(registers(".maxntid 1024, 1, 1", takes, true), 64);
    assert_eq!(registers(".maxntid 256, 1, 1\n.minnctapersm 4", takes, true), 64);
    assert_eq!(registers(".maxnreg 32", takes, true), 32);
    assert_eq!(registers(".maxntid 512, 1, 1", takes, true), registers("", takes, true));
}
