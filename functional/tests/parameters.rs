//! Recording of parameter loads, for kernels that index their parameters.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::launch::{LaunchConfig, launch};
use functional::memory::AllocationKind;
use functional::module::Module;
use functional::parameters::{ParameterReads, ParameterWatcher};
use functional::timed::turns::{Order, execute};
use functional::timed::{self, Identity};
use warp_stream::LaunchShape;

/// Bytes of the parameter block.
const BYTES: usize = 208;

/// Module with a kernel that takes a list of 200 bytes and a buffer. Register `%rd1` holds the list's
/// address, and `%rd2` the buffer's. `%r1` holds the thread, `%rd3` 8 times the thread, and `%rd4` the
/// address of the thread's 8 bytes of the list.
fn module(before: &str, code: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{before}
         .visible .entry test(.param .align 8 .b8 list[200], .param .u64 out) {{
         .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
         mov.b64 %rd1, list; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 8;
         add.s64 %rd4, %rd1, %rd3;
         {code} ret; }}"
    )
}

/// Ranges recorded for two CTAs of 4 threads: start and end of each.
fn noted(text: &str, is_timed: bool) -> Vec<(u64, u64)> {
    let settings = Settings { timed: is_timed, threads: 2, ..Settings::default() };
    let device = Device::new(DeviceSpec::default(), settings).unwrap().watched_by(Arc::new(ParameterWatcher));
    let device = Arc::new(device);
    let source = Arc::new(ptx_frontend::Module::parse(text.to_owned(), "test.ptx").unwrap());
    let module = Module::load(&device, vec![source]).unwrap();
    let out = device.memory.allocate(4096, 256, AllocationKind::Device).unwrap();
    let mut parameters = vec![0; BYTES];
    parameters[200..].copy_from_slice(&out.to_le_bytes());
    let reads = Arc::new(ParameterReads::of(BYTES));
    let config = LaunchConfig {
        shape: LaunchShape::new([2, 1, 1], [4, 1, 1]),
        parameters,
        parameter_reads: Some(Arc::clone(&reads)),
        ..LaunchConfig::default()
    };
    let program = module.kernel("test").unwrap();
    if is_timed {
        let identity = Identity { launch: 1, stream: 0 };
        timed::launch(&device, &program, config, identity, |source| {
            execute(source, (2, 2), Order::InTurn, |_| {})
        })
        .unwrap();
    } else {
        launch(&device, &program, config).unwrap();
    }
    reads.ranges().into_iter().map(|range| (range.start, range.end)).collect()
}

fn noted_both_ways(before: &str, code: &str) -> Vec<(u64, u64)> {
    let text = module(before, code);
    let plainly = noted(&text, false);
    assert_eq!(noted(&text, true), plainly, "stepped");
    plainly
}

#[test]
fn exactly_the_loaded_bytes_are_recorded() {
    assert_eq!(noted_both_ways("", "ld.param.u32 %r2, [%rd4+4];"), [(4, 8), (12, 16), (20, 24), (28, 32)]);
}

#[test]
fn adjacent_loads_form_one_range() {
    let code = "ld.param.v2.u32 {%r2, %r3}, [%rd4+56]; ld.u8 %r4, [%rd1+199];";
    assert_eq!(noted_both_ways("", code), [(56, 88), (199, 200)]);
}

#[test]
fn inactive_lanes_record_nothing() {
    let code = "setp.eq.u32 %p1, %r1, 2; @%p1 ld.u64 %rd5, [%rd4]; setp.gt.u32 %p2, %r1, 8; @%p2 ld.u64 %rd5, [%rd1+96];";
    assert_eq!(noted_both_ways("", code), [(16, 24)]);
}

#[test]
fn other_memory_accesses_record_nothing() {
    let code = "ld.global.u64 %rd5, [%rd2]; add.s64 %rd6, %rd2, %rd3; st.global.u64 [%rd6], %rd5; ld.u16 %r2, [%rd1+6];";
    assert_eq!(noted_both_ways("", code), [(6, 8)]);
}

#[test]
fn loads_in_called_functions_are_recorded() {
    let function = ".func (.reg .b32 %v) get(.reg .b64 %place) { ld.u32 %v, [%place+100]; ret; }";
    assert_eq!(noted_both_ways(function, "call (%r2), get, (%rd1);"), [(100, 104)]);
}

#[test]
fn printed_strings_are_recorded_to_their_end() {
    let before = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
                  .global .align 1 .b8 format[3] = {37, 115, 0};";
    let code = ".local .align 8 .b64 values[1]; .reg .b64 %a<3>;
                add.s64 %rd5, %rd1, 8; mov.b64 %a1, values; st.local.b64 [%a1], %rd5; cvta.local.u64 %a1, %a1;
                mov.b64 %a2, format; cvta.global.u64 %a2, %a2;
                { .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %a2; st.param.b64 [y], %a1;
                call (z), vprintf, (x, y); }";
    assert_eq!(noted(&module(before, code), false), [(8, 9)]);
}

#[test]
fn reads_of_unknown_extent_record_the_whole_block() {
    let code = ".shared .align 16 .b8 room[64]; .reg .b64 %s; mov.b64 %s, room;
                add.s64 %rd5, %rd1, 32; cp.async.ca.shared.global [%s], [%rd5], 4; cp.async.wait_all;";
    assert_eq!(noted_both_ways("", code), [(0, BYTES as u64)]);
}

#[test]
fn loads_by_name_are_not_recorded() {
    assert_eq!(noted_both_ways("", "ld.param.u32 %r2, [list+40];"), []);
}
