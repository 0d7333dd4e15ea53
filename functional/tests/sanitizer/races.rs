//! Unordered and ordered accesses.

use crate::bench::{Bench, LINE_OF_CODE, assert_says};

/// A kernel with shared memory: `%r7` is the address of each thread's word, `%r8` that of the next
/// thread's.
fn shared(code: &str) -> Bench {
    Bench::new(
        "races",
        &format!(
            ".shared .align 8 .b8 tile[8192]; mov.u32 %r6, tile; mad.lo.u32 %r7, %r1, 4, %r6; add.u32 %r8, %r7, 4;\n{code}"
        ),
    )
}

/// Each thread writes its word of shared memory, runs the code, and reads the next thread's word.
fn exchange(code: &str) -> Bench {
    shared(&format!("st.shared.u32 [%r7], %r1;\n{code}\nld.shared.u32 %r9, [%r8];"))
}

#[test]
fn unsynchronised_read_of_another_warps_write_races() {
    let bench = exchange("bar.warp.sync 0xffffffff;");
    bench.launch(1, 64, &[]).unwrap();
    let finding = bench.found().remove(0);
    // The first warp reads before the second warp's write.
    assert_says(
        &finding,
        &[
            "race between warps of a CTA on shared memory: write after read",
            "write by thread (32,0,0) of CTA (0,0,0)",
            &format!("PTX line {}: st.shared.u32 [%r7], %r1;", LINE_OF_CODE + 1),
            "earlier read by thread (31,0,0) of CTA (0,0,0)",
            &format!("PTX line {}: ld.shared.u32 %r9, [%r8];", LINE_OF_CODE + 3),
            "byte 128 of variable test$tile",
        ],
    );
}

#[test]
fn a_barrier_orders_the_warps_of_a_cta() {
    let bench = exchange("bar.sync 0;");
    bench.launch(3, 256, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn next_write_needs_a_barrier_too() {
    let code = "bar.sync 0; ld.shared.u32 %r9, [%r8]; st.shared.u32 [%r7], %r9;";
    let bench = shared(code);
    bench.launch(1, 64, &[]).unwrap();
    assert_says(&bench.found()[0], &["write after read"]);
}

#[test]
fn only_bar_warp_sync_orders_lanes() {
    let ordered = exchange("bar.warp.sync 0xffffffff;");
    ordered.launch(1, 32, &[]).unwrap();
    ordered.nothing_found();
    let shuffled = exchange("shfl.sync.idx.b32 %r10, %r1, 0, 31, 0xffffffff;");
    shuffled.launch(1, 32, &[]).unwrap();
    assert_says(&shuffled.only(), &["race between threads of a warp on shared memory: read after write"]);
}

#[test]
fn partial_warps_are_ordered_by_their_own_sync() {
    let bench = shared(
        "and.b32 %r10, %r1, 16; shl.b32 %r11, 0xffff, %r10; xor.b32 %r12, %r7, 4;
         st.shared.u32 [%r7], %r1; bar.warp.sync %r11; ld.shared.u32 %r9, [%r12];",
    );
    bench.launch(1, 32, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn counted_barriers_order_arriving_threads() {
    // The first warp produces and arrives, the second waits and consumes, and the third does not take part.
    let code = "setp.ge.u32 %p1, %r1, 64; @%p1 ret; setp.ge.u32 %p2, %r1, 32; @%p2 bra CONSUME;
         st.shared.u32 [%r7], %r1; bar.arrive 1, 64; ret;
         CONSUME: bar.sync 1, 64; ld.shared.u32 %r9, [%r7+-128];";
    let bench = shared(code);
    bench.launch(1, 96, &[]).unwrap();
    bench.nothing_found();
    let bench = shared(&code.replace("bar.sync 1, 64;", "bar.sync 2, 32;").replace("bar.arrive 1, 64;", ""));
    bench.launch(1, 96, &[]).unwrap();
    assert_says(&bench.only(), &["race between warps of a CTA"]);
}

#[test]
fn mbarrier_orders_arrivals_before_waits() {
    let bench = shared(
        "add.u32 %r10, %r6, 8184; setp.ne.u32 %p1, %r1, 0; @%p1 bra READY; mbarrier.init.shared.b64 [%r10], 64;
         READY: bar.sync 0; st.shared.u32 [%r7], %r1; mbarrier.arrive.shared.b64 %rd5, [%r10];
         WAIT: mbarrier.test_wait.shared.b64 %p2, [%r10], %rd5; @!%p2 bra WAIT;
         xor.b32 %r11, %r7, 128; ld.shared.u32 %r9, [%r11];",
    );
    bench.launch(1, 64, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn atomics_race_with_stores_but_not_with_atomics() {
    let bench = shared("atom.shared.add.u32 %r9, [%r6], 1;");
    bench.launch(1, 128, &[]).unwrap();
    bench.nothing_found();
    let bench = shared(
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra COUNT; st.shared.u32 [%r6], 0; COUNT: atom.shared.add.u32 %r9, [%r6], 1;",
    );
    bench.launch(1, 128, &[]).unwrap();
    assert_says(&bench.found()[0], &["atomic access by thread", "earlier write by thread (0,0,0)"]);
}

#[test]
fn plain_read_before_a_shared_cas_is_no_race() {
    let bench = shared("ld.shared.u32 %r9, [%r6]; atom.shared.cas.b32 %r10, [%r6], %r9, %r1;");
    bench.launch(1, 128, &[]).unwrap();
    bench.nothing_found();
    let bench = shared("ld.shared.u32 %r9, [%r6]; atom.shared.add.u32 %r10, [%r6], 1;");
    bench.launch(1, 128, &[]).unwrap();
    assert_says(&bench.found()[0], &["on shared memory"]);
}

#[test]
fn lanes_changing_bytes_of_one_word_do_not_race() {
    let bench = shared(
        "add.u32 %r9, %r1, %r1; add.u32 %r9, %r9, %r6; ld.shared.u16 %h1, [%r9]; add.u16 %h1, %h1, 1; st.shared.u16 [%r9], %h1;",
    );
    bench.launch(1, 128, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn write_after_a_read_by_the_whole_warp_races() {
    for writer in [0, 7, 31] {
        let bench = shared(&format!(
            "ld.shared.u32 %r9, [%r6]; setp.eq.u32 %p1, %r1, {writer}; @%p1 st.shared.u32 [%r6], 5;"
        ));
        bench.launch(1, 32, &[]).unwrap();
        assert_says(&bench.only(), &["race between threads of a warp on shared memory: write after read"]);
    }
}

#[test]
fn reallocated_heap_memory_has_no_history() {
    let bench = Bench::with_module(
        "races",
        ".extern .func (.param .b64 p) malloc(.param .b64 size); .extern .func free(.param .b64 p);",
        "{ .param .b64 size; .param .b64 block; .param .b64 gone; st.param.b64 [size], 64; call (block), malloc, (size);
         ld.param.b64 %rd5, [block]; st.u32 [%rd5], %r4; st.param.b64 [gone], %rd5; call free, (gone); }",
    );
    bench.launch(8, 1, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn adjacent_bytes_do_not_race() {
    let bench = shared("add.u32 %r9, %r6, %r1; st.shared.u8 [%r9], %r1; st.shared.u8 [%r9], 3;");
    bench.launch(1, 128, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn equal_writes_do_not_race_but_different_ones_do() {
    let bench = shared("st.shared.u32 [%r6], 1;");
    bench.launch(1, 128, &[]).unwrap();
    bench.nothing_found();
    let bench = shared("st.shared.u32 [%r6], %r1;");
    bench.launch(1, 32, &[]).unwrap();
    assert_says(&bench.only(), &["write by several lanes at once"]);
    let bench = shared(
        "setp.ne.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r1, 32; @!%p1 st.shared.u32 [%r6], 7; @!%p2 st.shared.u32 [%r6], 8;",
    );
    bench.launch(1, 64, &[]).unwrap();
    assert_says(&bench.only(), &["race between warps of a CTA on shared memory: write after write"]);
}

#[test]
fn async_copy_is_a_write_of_its_thread() {
    let code =
        "mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd1, %rd5; cp.async.ca.shared.global [%r7], [%rd6], 4;
         cp.async.wait_all; BARRIER xor.b32 %r9, %r7, 128; ld.shared.u32 %r10, [%r9];";
    let bench = shared(&code.replace("BARRIER", "bar.sync 0;"));
    let data = bench.zeros(256);
    bench.launch(1, 64, &[data]).unwrap();
    bench.nothing_found();
    let bench = shared(&code.replace("BARRIER", ""));
    let data = bench.zeros(256);
    bench.launch(1, 64, &[data]).unwrap();
    assert_says(&bench.found()[0], &["race between warps of a CTA on shared memory"]);
}

#[test]
fn ctas_writing_one_address_race() {
    let bench = Bench::new(
        "races",
        "mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd1, %rd5;\nst.global.u32 [%rd6], %r4;",
    );
    let out = bench.zeros(256);
    bench.launch(2, 32, &[out]).unwrap();
    assert_says(
        &bench.only(),
        &[
            "race between CTAs on global memory: write after write",
            "write by thread (0,0,0) of CTA (1,0,0)",
            "earlier write by thread (0,0,0) of CTA (0,0,0)",
            &format!("{out:#x} is byte 0 of allocation"),
        ],
    );
}

#[test]
fn consecutive_launches_do_not_race() {
    let bench = Bench::new(
        "races",
        "mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], %rd2;",
    );
    let out = bench.zeros(256);
    bench.launch(1, 32, &[out, 1]).unwrap();
    bench.launch(1, 32, &[out, 2]).unwrap();
    bench.nothing_found();
}

#[test]
fn concurrent_reads_do_not_race() {
    let bench = Bench::new("races", "ld.global.u32 %r5, [%rd2]; st.global.u32 [%rd4], %r5;");
    let (out, table) = (bench.zeros(4096), bench.zeros(4));
    bench.launch(8, 64, &[out, table]).unwrap();
    bench.nothing_found();
}

/// Each CTA writes a word; the last CTA, found by a counter, reads all words.
fn last_block(fence: &str) -> Bench {
    Bench::new(
        "races",
        &format!(
            ".shared .align 4 .b8 last[4]; setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET;
             mul.wide.u32 %rd5, %r2, 4; add.s64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], %r2;
             {fence} atom.global.add.u32 %r5, [%rd2], 1; st.shared.u32 [last], %r5;
             MEET: bar.sync 0; ld.shared.u32 %r6, [last]; mov.u32 %r7, %nctaid.x; sub.u32 %r7, %r7, 1;
             setp.ne.u32 %p2, %r6, %r7; @%p2 ret;
             mul.wide.u32 %rd7, %r1, 4; add.s64 %rd8, %rd1, %rd7; ld.global.u32 %r8, [%rd8];"
        ),
    )
}

#[test]
fn fence_and_atomic_order_the_last_cta() {
    let bench = last_block("membar.gl;");
    let (out, counter) = (bench.zeros(256), bench.zeros(4));
    bench.launch(64, 64, &[out, counter]).unwrap();
    bench.nothing_found();
}

#[test]
fn last_cta_races_without_the_fence() {
    let bench = last_block("");
    let (out, counter) = (bench.zeros(256), bench.zeros(4));
    bench.launch(64, 64, &[out, counter]).unwrap();
    assert_says(&bench.only(), &["race between CTAs on global memory: read after write"]);
}

#[test]
fn chain_of_flags_orders_ctas() {
    // Decoupled look-back: each CTA waits for its predecessor's flag, adds to its value, and sets its own
    // flag.
    let code = "setp.ne.u32 %p1, %r1, 0; @%p1 ret; mul.wide.u32 %rd5, %r2, 4; add.s64 %rd6, %rd1, %rd5;
         add.s64 %rd7, %rd2, %rd5; mov.u32 %r9, 0; setp.eq.u32 %p2, %r2, 0; @%p2 bra FIRST;
         WAIT: ACQUIRE setp.eq.u32 %p3, %r5, 0; @%p3 bra WAIT;
         ld.global.u32 %r9, [%rd6+-4];
         FIRST: add.u32 %r9, %r9, 1; st.global.u32 [%rd6], %r9; RELEASE";
    for (acquire, release) in [
        ("ld.volatile.global.u32 %r5, [%rd7+-4];", "membar.gl; st.volatile.global.u32 [%rd7], 1;"),
        ("ld.acquire.gpu.global.u32 %r5, [%rd7+-4];", "st.release.gpu.global.u32 [%rd7], 1;"),
        ("atom.global.or.b32 %r5, [%rd7+-4], 0;", "fence.acq_rel.gpu; red.global.add.u32 [%rd7], 1;"),
    ] {
        let bench = Bench::new("races", &code.replace("ACQUIRE", acquire).replace("RELEASE", release));
        let (out, flags) = (bench.zeros(256), bench.zeros(256));
        bench.launch(40, 32, &[out, flags]).unwrap();
        bench.nothing_found();
    }
    let relaxed = code
        .replace("ACQUIRE", "ld.relaxed.gpu.global.u32 %r5, [%rd7+-4];")
        .replace("RELEASE", "st.relaxed.gpu.global.u32 [%rd7], 1;");
    let bench = Bench::new("races", &relaxed);
    let (out, flags) = (bench.zeros(256), bench.zeros(256));
    bench.launch(40, 32, &[out, flags]).unwrap();
    assert_says(&bench.only(), &["race between CTAs on global memory: read after write"]);
}

#[test]
fn lock_orders_its_holders() {
    for (block, fence, races) in [(1, "membar.gl;", false), (64, "membar.gl;", false), (64, "", true)] {
        let bench = Bench::new(
            "races",
            &format!(
                "TRY: atom.global.cas.b32 %r5, [%rd2], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra AGAIN;
                 ld.global.u32 %r6, [%rd1]; add.u32 %r6, %r6, 1; st.global.u32 [%rd1], %r6;
                 {fence} atom.global.exch.b32 %r5, [%rd2], 0; bra.uni DONE;
                 AGAIN: bra.uni TRY;
                 DONE: "
            ),
        );
        let (sum, lock) = (bench.zeros(4), bench.zeros(4));
        bench.launch(4, block, &[sum, lock]).unwrap();
        assert_eq!(
            !bench.found().is_empty(),
            races,
            "{block} threads, fence `{fence}`: {:#?}",
            bench.found()
        );
    }
}

#[test]
fn grid_barrier_orders_ctas() {
    // As in cooperative groups: fence, counter and fence between two barriers of the CTA.
    let code = "xor.b32 %r10, %r2, 1; mad.lo.u32 %r11, %r10, %r3, %r1; mul.wide.u32 %rd5, %r11, 4; add.s64 %rd6, %rd1, %rd5;
         st.global.u32 [%rd4], %r4; bar.sync 0; setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET;
         membar.gl; atom.global.add.u32 %r5, [%rd2], 1;
         WAIT: ld.volatile.global.u32 %r5, [%rd2]; setp.lt.u32 %p2, %r5, 8; @%p2 bra WAIT; membar.gl;
         MEET: bar.sync 0; ld.global.u32 %r12, [%rd6];";
    let bench = Bench::new("races", code);
    let (out, counter) = (bench.zeros(4096), bench.zeros(4));
    bench.launch_as(true, 8, 96, &[out, counter]).unwrap();
    bench.nothing_found();
    // Without the first barrier, writes of the other warps may be outstanding.
    let bench = Bench::new("races", &code.replace("%r4; bar.sync 0;", "%r4;"));
    let (out, counter) = (bench.zeros(4096), bench.zeros(4));
    bench.launch_as(true, 8, 96, &[out, counter]).unwrap();
    assert_says(&bench.only(), &["race between CTAs on global memory"]);
}

#[test]
fn cluster_barrier_orders_its_ctas() {
    let code = "st.global.u32 [%rd4], %r4; BARRIER xor.b32 %r10, %r2, 1; mad.lo.u32 %r11, %r10, %r3, %r1;
         mul.wide.u32 %rd5, %r11, 4; add.s64 %rd6, %rd1, %rd5; ld.global.u32 %r12, [%rd6];";
    let ordered = code.replace("BARRIER", "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
    let bench = Bench::new("races", &ordered);
    let out = bench.zeros(4096);
    bench.launch_clusters(2, 4, 64, &[out]).unwrap();
    bench.nothing_found();
    let bench = Bench::new("races", &code.replace("BARRIER", "bar.sync 0;"));
    let out = bench.zeros(4096);
    bench.launch_clusters(2, 4, 64, &[out]).unwrap();
    assert_says(&bench.found()[0], &["race between CTAs on global memory"]);
}

#[test]
fn cluster_shared_memory_is_untracked() {
    let bench = Bench::new(
        "all",
        ".shared .align 4 .b8 tile[4]; mov.u32 %r5, tile; mapa.shared::cluster.u32 %r6, %r5, 1;
         setp.ne.u32 %p1, %r1, 0; @!%p1 st.shared::cluster.u32 [%r6], 7;
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ld.shared.u32 %r7, [tile];",
    );
    bench.launch_clusters(2, 2, 32, &[]).unwrap();
    bench.nothing_found();
}

#[test]
fn plain_read_before_a_cas_is_no_race() {
    let bench = Bench::new("races", "ld.global.u32 %r5, [%rd1]; atom.global.cas.b32 %r5, [%rd1], 0, 1;");
    let out = bench.zeros(4);
    bench.launch(4, 64, &[out]).unwrap();
    bench.nothing_found();
}

#[test]
fn warps_of_a_cta_race_on_global_memory_without_a_barrier() {
    let code = "st.global.u32 [%rd4], %r1; BARRIER xor.b32 %r5, %r4, 32; mul.wide.u32 %rd5, %r5, 4;
         add.s64 %rd6, %rd1, %rd5; ld.global.u32 %r6, [%rd6];";
    let bench = Bench::new("races", &code.replace("BARRIER", "bar.sync 0;"));
    let out = bench.zeros(4096);
    bench.launch(4, 64, &[out]).unwrap();
    bench.nothing_found();
    let bench = Bench::new("races", &code.replace("BARRIER", ""));
    let out = bench.zeros(4096);
    bench.launch(4, 64, &[out]).unwrap();
    assert_says(&bench.found()[0], &["race between warps of a CTA on global memory"]);
}
