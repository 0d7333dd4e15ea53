//! Reads of uninitialised memory and registers.

use functional::memory::AllocationKind;
use functional::sanitizer::Severity;

use crate::bench::{Bench, LINE_OF_CODE, assert_says};

fn bench(code: &str) -> Bench {
    Bench::new("uninitialised", code)
}

#[test]
fn uninitialised_device_read_is_reported_once() {
    let bench = bench("ld.global.u32 %r5, [%rd4];");
    let data = bench.allocate(256);
    bench.checker.written(data, 40);
    bench.launch(1, 32, &[data]).unwrap();
    bench.launch(1, 32, &[data]).unwrap();
    let finding = bench.only();
    assert_says(
        &finding,
        &[
            "voltsim check uninitialised: read of 4 bytes of uninitialised global memory",
            "read by thread (10,0,0) of CTA (0,0,0)",
            &format!("PTX line {LINE_OF_CODE}: ld.global.u32 %r5, [%rd4];"),
            "is byte 40 of allocation 1 of 256 bytes",
        ],
    );
}

#[test]
fn kernel_and_host_writes_initialise_memory() {
    let bench = bench("st.global.u32 [%rd4], %r1; ld.global.u32 %r5, [%rd4]; ld.global.u32 %r6, [%rd2];");
    let (data, table) = (bench.allocate(256), bench.zeros(4));
    bench.launch(1, 64, &[data, table]).unwrap();
    bench.nothing_found();
}

#[test]
fn host_accessible_memory_counts_as_initialised() {
    for kind in [AllocationKind::Managed, AllocationKind::Host, AllocationKind::Module] {
        let bench = bench("ld.global.u32 %r5, [%rd4];");
        let data = bench.device.memory.allocate(256, 256, kind).unwrap();
        bench.checker.allocated(&bench.device.memory, data, bench.call("cudaMallocManaged"), None);
        bench.launch(1, 64, &[data]).unwrap();
        bench.nothing_found();
    }
}

#[test]
fn reserved_shared_memory_is_exempt() {
    let bench = bench("mov.u32 %r5, %reserved_smem_offset_1; ld.shared.u32 %r6, [%r5];");
    let data = bench.allocate(256);
    bench.launch(1, 64, &[data]).unwrap();
    bench.nothing_found();
}

#[test]
fn reallocated_memory_is_uninitialised_again() {
    let bench = bench("ld.global.u32 %r5, [%rd4];");
    let data = bench.zeros(256);
    bench.free(data);
    let again = bench.allocate(256);
    assert_eq!(again, data, "the test needs equal addresses");
    bench.launch(1, 64, &[again]).unwrap();
    assert_says(&bench.only(), &["of uninitialised"]);
}

#[test]
fn device_copies_transfer_uninitialised_bytes() {
    let bench = bench("ld.global.u32 %r5, [%rd4];");
    let (from, to) = (bench.allocate(256), bench.allocate(256));
    bench.checker.written(from, 128);
    bench.checker.copied(to, from, 256);
    bench.launch(1, 32, &[to]).unwrap();
    bench.nothing_found();
    bench.launch(1, 33, &[to]).unwrap();
    assert_says(&bench.only(), &["thread (32,0,0)", "is byte 128 of allocation 2"]);
}

#[test]
fn vector_load_over_padding_is_correct() {
    let bench = bench("ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1]; ld.global.u64 %rd5, [%rd1];");
    let data = bench.allocate(16);
    bench.checker.written(data, 3);
    bench.launch(1, 1, &[data]).unwrap();
    bench.nothing_found();
}

#[test]
fn uninitialised_shared_read_is_reported() {
    let code = ".shared .align 4 .b8 tile[512]; mov.u32 %r6, tile; mad.lo.u32 %r7, %r1, 4, %r6;
         st.shared.u32 [%r7], %r1; bar.sync 0; ld.shared.u32 %r8, [%r7+OFFSET];";
    let good = bench(&code.replace("OFFSET", "0"));
    good.launch(2, 64, &[]).unwrap();
    good.nothing_found();
    let bad = bench(&code.replace("OFFSET", "4"));
    bad.launch(2, 64, &[]).unwrap();
    assert_says(
        &bad.only(),
        &[
            "read of 4 bytes of uninitialised shared memory",
            "thread (63,0,0) of CTA (0,0,0)",
            "byte 256 of variable test$tile",
        ],
    );
}

#[test]
fn shared_memory_is_uninitialised_for_each_cta() {
    let bench = bench(
        ".shared .align 4 .b8 tile[4]; setp.ne.u32 %p1, %r2, 0; @%p1 bra READ; st.shared.u32 [tile], 1;
         READ: ld.shared.u32 %r5, [tile];",
    );
    bench.launch(2, 1, &[]).unwrap();
    assert_says(&bench.only(), &["CTA (1,0,0)"]);
}

#[test]
fn generic_addresses_alias_shared_memory() {
    let bench = bench(
        ".shared .align 4 .b8 tile[128]; mov.u64 %rd5, tile; cvta.shared.u64 %rd6, %rd5;
         mul.wide.u32 %rd7, %r1, 4; add.s64 %rd8, %rd6, %rd7; st.u32 [%rd8], %r1; ld.shared.u32 %r5, [tile];",
    );
    bench.launch(1, 32, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn async_copy_initialises_shared_memory() {
    let bench = bench(
        ".shared .align 16 .b8 tile[512]; mov.u32 %r6, tile; mad.lo.u32 %r7, %r1, 16, %r6;
         mul.wide.u32 %rd5, %r1, 16; add.s64 %rd6, %rd1, %rd5; cp.async.cg.shared.global [%r7], [%rd6], 16;
         cp.async.wait_all; ld.shared.u64 %rd7, [%r7+8];",
    );
    let data = bench.zeros(512);
    bench.launch(1, 32, &[data]).unwrap();
    bench.nothing_found();
}

#[test]
fn uninitialised_local_read_is_reported() {
    let code = ".local .align 4 .b8 own[64]; mov.u64 %rd5, own; st.local.u32 [%rd5+8], %r1; ld.local.u32 %r5, [%rd5+OFFSET];";
    let good = bench(&code.replace("OFFSET", "8"));
    good.launch(2, 64, &[]).unwrap();
    good.nothing_found();
    let bad = bench(&code.replace("OFFSET", "12"));
    bad.launch(2, 64, &[]).unwrap();
    assert_says(
        &bad.only(),
        &["read of 4 bytes of uninitialised local memory", "offset 0xc of local memory"],
    );
}

#[test]
fn calls_initialise_arguments_and_results() {
    let bench = Bench::with_module(
        "uninitialised",
        ".func (.param .b32 sum) add(.param .align 4 .b8 pair[8]) { .reg .b32 %r<4>; .reg .b64 %rd<4>; \
         mov.u64 %rd1, pair; cvta.local.u64 %rd2, %rd1; ld.u32 %r1, [%rd2]; ld.u32 %r2, [%rd2+4]; \
         add.u32 %r3, %r1, %r2; st.param.u32 [sum], %r3; ret; }",
        "{ .param .align 4 .b8 in[8]; .param .b32 out; st.param.u32 [in], %r1; st.param.u32 [in+4], 5;
         call (out), add, (in); ld.param.u32 %r5, [out]; }",
    );
    bench.launch(1, 32, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn register_without_a_write_is_a_warning() {
    let bench = bench("add.u32 %r5, %r20, 1; st.global.u32 [%rd4], %r5;");
    let out = bench.zeros(128);
    bench.launch(1, 32, &[out]).unwrap();
    let finding = bench.only();
    assert_eq!(finding.severity, Severity::Warning);
    let text = finding.to_string();
    assert!(text.contains("register %r20 is read and never written"), "{text}");
    assert!(text.contains(&format!("PTX line {LINE_OF_CODE}: add.u32 %r5, %r20, 1;")), "{text}");
}

#[test]
fn register_written_under_its_reads_predicate_is_correct() {
    let bench = bench("setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r20, 1; @%p1 st.global.u32 [%rd4], %r20;");
    let out = bench.zeros(128);
    bench.launch(1, 32, &[out]).unwrap();
    bench.nothing_found();
}
