//! Accesses outside of allocated memory.

use crate::bench::{Bench, LINE_OF_CODE, assert_says};

#[test]
fn overrun_names_the_allocation_and_its_call() {
    let bench = Bench::new("memory", ".loc 1 77 5\nst.global.u32 [%rd4], %r1;");
    bench.allocate(4096);
    let out = bench.allocate(400);
    assert!(bench.launch(1, 128, &[out]).is_err());
    let finding = bench.only();
    assert_says(
        &finding,
        &[
            "voltsim check memory: write of 4 bytes right past the end of an allocation",
            "in kernel test",
            "by thread (100,0,0) of CTA (0,0,0)",
            &format!("PTX line {} (kernel.cu:77): st.global.u32 [%rd4], %r1;", LINE_OF_CODE + 1),
            &format!("of 400 bytes at {out:#x}, made by cudaMalloc (API call 2), the nearest"),
        ],
    );
}

#[test]
fn underrun_names_the_distance() {
    let bench = Bench::new("memory", "ld.global.u32 %r5, [%rd1+-8];");
    let out = bench.allocate(400);
    assert!(bench.launch(1, 1, &[out]).is_err());
    assert_says(&bench.only(), &["read of 4 bytes 8 bytes before the start of an allocation"]);
}

#[test]
fn partial_overrun_names_the_bytes_past_the_end() {
    let bench = Bench::new("memory", "st.global.u64 [%rd1+16], %rd1;");
    let out = bench.allocate(20);
    assert!(bench.launch(1, 1, &[out]).is_err());
    assert_says(
        &bench.only(),
        &["write of 8 bytes of which 4 are past the end of an allocation", "is byte 16 of"],
    );
}

#[test]
fn freed_memory_names_malloc_and_free_calls() {
    let bench = Bench::new("memory", "ld.global.u32 %r5, [%rd4];");
    let out = bench.allocate(400);
    bench.free(out);
    assert!(bench.launch(1, 1, &[out]).is_err());
    assert_says(
        &bench.only(),
        &[
            "read of 4 bytes in freed memory",
            "made by cudaMalloc (API call 1) and freed by cudaFree (API call 2)",
        ],
    );
}

#[test]
fn null_pointers_are_recognised() {
    let bench = Bench::new("memory", "ld.global.u32 %r5, [%rd1+12];");
    assert!(bench.launch(1, 1, &[0]).is_err());
    assert_says(&bench.only(), &["at a null pointer", "the address is 0xc"]);
}

#[test]
fn misaligned_access_names_the_alignment() {
    let bench = Bench::new("memory", "ld.global.u32 %r5, [%rd1+2];");
    let out = bench.allocate(400);
    assert!(bench.launch(1, 1, &[out]).is_err());
    assert_says(
        &bench.only(),
        &["read of 4 bytes at the misaligned address", "is no multiple of 4", "is byte 2 of"],
    );
}

#[test]
fn shared_overrun_names_the_nearest_variable() {
    let bench = Bench::new(
        "memory",
        ".shared .align 4 .b8 small[16]; .shared .align 4 .b8 table[64];
         mov.u32 %r5, table; ld.shared.u32 %r6, [small]; ld.shared.u32 %r6, [%r5+72];",
    );
    assert!(bench.launch(1, 32, &[]).is_err());
    assert_says(
        &bench.only(),
        &[
            "read of 4 bytes 8 bytes past the end of shared memory",
            "8 bytes past the 64 bytes of variable test$table",
        ],
    );
}

#[test]
fn local_overrun_names_the_nearest_variable() {
    let bench = Bench::new(
        "memory",
        ".local .align 4 .b8 scratch[32]; mov.u64 %rd5, scratch; st.local.u32 [%rd5+4096], %r1;",
    );
    assert!(bench.launch(1, 32, &[]).is_err());
    assert_says(&bench.only(), &["past the end of local memory", "the 32 bytes of variable scratch"]);
}

#[test]
fn overrun_of_a_module_variable_names_it() {
    let bench = Bench::with_module(
        "memory",
        ".visible .global .align 4 .b8 weights[64];",
        "mov.u64 %rd5, weights; cvta.global.u64 %rd6, %rd5; ld.u32 %r5, [%rd6+64];",
    );
    assert!(bench.launch(1, 1, &[]).is_err());
    assert_says(&bench.only(), &["right past the end of an allocation", "the module's variable weights"]);
}

#[test]
fn accesses_inside_allocations_are_correct() {
    let bench = Bench::new("memory", "st.global.u32 [%rd4], %r1; ld.global.u32 %r5, [%rd4];");
    let out = bench.allocate(400);
    bench.launch(1, 100, &[out]).unwrap();
    bench.nothing_found();
    assert_eq!(bench.checker.summary(), None);
}

#[test]
fn freed_memory_is_known_after_later_allocations() {
    let bench = Bench::new("memory", "ld.global.u32 %r5, [%rd4];");
    let out = bench.allocate(400);
    bench.free(out);
    let later = bench.allocate(400);
    assert_ne!(later, out);
    assert!(bench.launch(1, 1, &[out]).is_err());
    assert_says(&bench.only(), &["read of 4 bytes in freed memory", "freed by cudaFree (API call 2)"]);
}
