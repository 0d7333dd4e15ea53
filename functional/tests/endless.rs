//! Endless launches: the watchdog ends them close to its limit, whatever the warps execute. CTAs that only
//! spin yield to CTAs that they wait for.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use functional::device::{Device, DeviceSpec, Settings};
use functional::fault::FaultKind;
use functional::launch::{LaunchConfig, LaunchError, LaunchStatistics, launch};
use functional::memory::AllocationKind;
use functional::module::Module;
use warp_stream::LaunchShape;

struct Bench {
    device: Arc<Device>,
    module: Module,
}

impl Bench {
    fn with(text: &str, settings: Settings) -> Bench {
        let text = format!(".version 7.5\n.target sm_75\n.address_size 64\n{text}");
        let device = Arc::new(Device::new(DeviceSpec::default(), settings).unwrap());
        let ptx = Arc::new(ptx_frontend::Module::parse(text, "test.ptx").unwrap());
        let module = Module::load(&device, vec![ptx]).unwrap();
        Bench { device, module }
    }

    fn allocate(&self, bytes: u64) -> u64 {
        let address = self.device.memory.allocate(bytes, 4, AllocationKind::Device).unwrap();
        self.device.memory.write(address, &vec![0; bytes as usize]).unwrap();
        address
    }

    fn word(&self, address: u64) -> u32 {
        let mut bytes = [0; 4];
        self.device.memory.read(address, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }

    fn launch(
        &self,
        grid: [u32; 3],
        block: u32,
        parameters: &[u64],
    ) -> Result<LaunchStatistics, LaunchError> {
        let program = self.module.kernel("test").unwrap();
        let parameters = parameters.iter().flat_map(|value| value.to_le_bytes()).collect();
        let block = [block, 1, 1];
        launch(
            &self.device,
            &program,
            LaunchConfig { shape: LaunchShape::new(grid, block), parameters, ..LaunchConfig::default() },
        )
    }
}

const LIMIT: Duration = Duration::from_millis(300);
/// Tolerance of the limit on a loaded machine with an unoptimised build.
const BEYOND: Duration = Duration::from_millis(1000);

fn watched(threads: usize) -> Settings {
    Settings { watchdog: Some(LIMIT), threads, ..Settings::default() }
}

/// Launches an endless kernel body and checks that the watchdog ends it in time.
fn check_ends(name: &str, (declarations, body): (&str, &str), grid: [u32; 3], block: u32, threads: usize) {
    let text = format!(
        "{declarations}
         .visible .entry test(.param .u64 p) {{
             .reg .pred %p<9>; .reg .b32 %r<40>; .reg .f64 %d<9>; .reg .b64 %a<20>;
             .shared .align 16 .b8 shared[1024];
             ld.param.u64 %a1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %a2, %r1, 4; add.u64 %a3, %a1, %a2;
             mov.f64 %d1, 0d3ff8000000000000;
             {body}
         }}"
    );
    let bench = Bench::with(&text, watched(threads));
    let memory = bench.allocate(1 << 21);
    let before = Instant::now();
    let ended = bench.launch(grid, block, &[memory]);
    let took = before.elapsed();
    match ended {
        Err(LaunchError::Fault(fault)) if matches!(fault.kind, FaultKind::Timeout { .. }) => {}
        Err(LaunchError::Overdue { .. }) => {}
        other => panic!("{name}: {other:?}"),
    }
    assert!(took < LIMIT + BEYOND, "{name}: {took:?} with {threads} threads");
}

fn repeated(times: usize, text: &str) -> String {
    text.repeat(times)
}

#[test]
fn watchdog_ends_all_kinds_of_loops_in_time() {
    let heavy =
        repeated(2000, "fma.rn.f64 %d2, %d1, %d1, %d2; sqrt.rn.f64 %d2, %d2; div.rn.f64 %d2, %d1, %d2;\n");
    let divergent = "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra B; A: bra.uni A; B: bra.uni B;";
    let kinds = [
        ("empty loop", "A: bra.uni A;".to_owned()),
        ("straight double precision", format!("A: {heavy} bra.uni A;")),
        ("atomics", "A: red.global.add.u32 [%a3], 1; bra.uni A;".to_owned()),
        (
            "polling",
            "A: ld.volatile.global.u32 %r3, [%a1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra A; ret;".to_owned(),
        ),
        (
            "counted polling",
            "mov.u32 %r4, 0; A: add.u32 %r4, %r4, 1; ld.volatile.global.u32 %r3, [%a1];
            setp.eq.u32 %p1, %r3, 0; @%p1 bra A; st.global.u32 [%a1], %r4; ret;"
                .to_owned(),
        ),
        ("barriers", "A: bar.sync 0; bra.uni A;".to_owned()),
        ("sleeping", "A: nanosleep.u32 100; bra.uni A;".to_owned()),
        ("divergent lanes", divergent.to_owned()),
        ("votes", "A: vote.sync.any.pred %p1, 1, 0xffffffff; bra.uni A;".to_owned()),
        (
            "shared memory",
            "A: ld.volatile.shared.u32 %r3, [shared]; st.volatile.shared.u32 [shared], %r3; bra.uni A;"
                .to_owned(),
        ),
    ];
    for threads in [1, 2] {
        for (name, body) in &kinds {
            check_ends(name, ("", body), [8, 1, 1], 256, threads);
        }
    }
}

#[test]
fn watchdog_ends_huge_grids_in_time() {
    for threads in [1, 2] {
        check_ends("empty CTAs", ("", "ret;"), [0x7fff_ffff, 65535, 65535], 1, threads);
    }
}

#[test]
fn watchdog_ends_native_functions_in_time() {
    // A format with 200,000 conversions, and a string of a megabyte for each of them.
    let print = "
        .extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
        .func fill(.param .b64 at, .param .b32 count, .param .b32 pattern) {
            .reg .b64 %a<3>; .reg .b32 %r<4>; .reg .pred %p;
            ld.param.u64 %a1, [at]; ld.param.u32 %r1, [count]; ld.param.u32 %r2, [pattern];
            A: st.u16 [%a1], %r2; add.u64 %a1, %a1, 2; sub.u32 %r1, %r1, 1; setp.ne.u32 %p, %r1, 0; @%p bra A; ret;
        }";
    let strings = "
        { .param .b64 at; .param .b32 count, pattern; st.param.b64 [at], %a1; st.param.b32 [count], 200000;
          st.param.b32 [pattern], 0x7325; call fill, (at, count, pattern); }
        add.u64 %a4, %a1, 400002; mov.u64 %a6, %a4;
        { .param .b64 at; .param .b32 count, pattern; st.param.b64 [at], %a4; st.param.b32 [count], 500000;
          st.param.b32 [pattern], 0x7878; call fill, (at, count, pattern); }
        add.u64 %a5, %a1, 1600000; and.b64 %a5, %a5, -8; mov.u32 %r5, 0;
        A: mul.wide.u32 %a7, %r5, 8; add.u64 %a7, %a7, %a5; st.u64 [%a7], %a6; add.u32 %r5, %r5, 1;
        setp.lt.u32 %p1, %r5, 50000; @%p1 bra A;
        { .param .b64 format, arguments; .param .b32 r; st.param.b64 [format], %a1; st.param.b64 [arguments], %a5;
          call (r), vprintf, (format, arguments); }
        ret;";
    let fill = "
        .extern .func (.param .b32 r) cudaMemset2DAsync(.param .b64 to, .param .b64 pitch, .param .b32 value,
            .param .b64 width, .param .b64 height, .param .b64 stream);";
    let fills = "
        A: { .param .b64 to, pitch, width, height, stream; .param .b32 value, r; st.param.b64 [to], %a1;
          st.param.b64 [pitch], 2; st.param.b32 [value], 0; st.param.b64 [width], 1; st.param.b64 [height], 1000000;
          st.param.b64 [stream], 0; call (r), cudaMemset2DAsync, (to, pitch, value, width, height, stream); }
        add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 10000; @%p1 bra A; ret;";
    let heap = "
        .extern .func (.param .b64 r) malloc(.param .b64 size); .extern .func free(.param .b64 at);";
    let heaps = "
        A: { .param .b64 size, r; st.param.b64 [size], 16; call (r), malloc, (size); ld.param.b64 %a4, [r]; }
        { .param .b64 at; st.param.b64 [at], %a4; call free, (at); } bra.uni A;";
    check_ends("strings", (print, strings), [1, 1, 1], 1, 1);
    check_ends("fills", (fill, fills), [1, 1, 1], 1, 1);
    check_ends("heap", (heap, heaps), [1, 1, 1], 64, 1);
}

#[test]
fn empty_fills_end_at_once() {
    let text = "
        .extern .func (.param .b32 r) cudaMemset2DAsync(.param .b64 to, .param .b64 pitch, .param .b32 value,
            .param .b64 width, .param .b64 height, .param .b64 stream);
        .visible .entry test(.param .u64 p, .param .u64 height, .param .u64 pitch, .param .u64 bytes) {
          .reg .b64 %a<9>; .reg .b32 %r<2>; ld.param.u64 %a1, [p]; ld.param.u64 %a2, [height]; ld.param.u64 %a3, [pitch];
          ld.param.u64 %a4, [bytes];
          { .param .b64 to, pitch, width, height, stream; .param .b32 value, r; st.param.b64 [to], %a1;
          st.param.b64 [pitch], %a3; st.param.b32 [value], 0; st.param.b64 [width], %a4; st.param.b64 [height], %a2;
          st.param.b64 [stream], 0; call (r), cudaMemset2DAsync, (to, pitch, value, width, height, stream);
          ld.param.b32 %r1, [r]; }
          st.global.u32 [%a1+60], %r1; ret; }";
    let bench = Bench::with(text, Settings::default());
    let memory = bench.allocate(64);
    for (height, pitch, bytes, error) in [
        (1 << 28, 0, 0, 0),
        (1 << 60, 0, 0, 0),
        (1 << 60, 0, 1, 1),
        (1 << 60, 1, 1, 1),
        (1 << 60, 1 << 40, 1, 1),
        (8, 4, 4, 0),
    ] {
        let before = Instant::now();
        bench.launch([1, 1, 1], 1, &[memory, height, pitch, bytes]).unwrap();
        assert!(before.elapsed() < BEYOND, "{height:#x} rows");
        assert_eq!(bench.word(memory + 60), error, "{height:#x} rows of {bytes} bytes, {pitch} apart");
    }
}

/// Ways to poll the word that shows the arrival of all CTAs, with result `%r6`.
const POLLS: [(&str, &str); 6] = [
    ("volatile load", "ld.volatile.global.u32 %r6, [%a1];"),
    ("counter", "ld.volatile.global.u32 %r6, [%a1]; add.u32 %r7, %r7, 1;"),
    ("clock", "ld.volatile.global.u32 %r6, [%a1]; mov.u64 %a4, %clock64;"),
    ("atomic", "atom.global.or.b32 %r6, [%a1], 0;"),
    ("plain load", "ld.global.u32 %r6, [%a1];"),
    ("sleep", "nanosleep.u32 20; ld.volatile.global.u32 %r6, [%a1];"),
];

/// Kernel whose CTAs meet `rounds` times at a barrier in global memory. One thread of each CTA polls, or
/// all threads do.
fn software_barrier(poll: &str, all_poll: bool, call: &str) -> String {
    let who = if all_poll { "" } else { "@%p1 bra WAIT;" };
    format!(
        ".func nothing() {{ ret; }}
         .visible .entry test(.param .u64 p, .param .u64 rounds) {{
             .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %a<9>; .shared .b32 before;
             ld.param.u64 %a1, [p]; ld.param.u64 %a2, [rounds]; cvt.u32.u64 %r1, %a2;
             mov.u32 %r2, %tid.x; mov.u32 %r3, %nctaid.x; sub.u32 %r3, %r3, 1; setp.ne.u32 %p1, %r2, 0;
             ROUND: {call}
             @!%p1 ld.volatile.global.u32 %r4, [%a1]; @!%p1 st.shared.u32 [before], %r4;
             bar.sync 0; ld.shared.u32 %r4, [before]; bar.sync 0; @%p1 bra LOOK;
             membar.gl; atom.global.add.u32 %r5, [%a1+4], 1; setp.ne.u32 %p2, %r5, %r3; @%p2 bra LOOK;
             st.volatile.global.u32 [%a1+4], 0; membar.gl; red.global.add.u32 [%a1], 1;
             LOOK: {who}
             POLL: {poll} setp.eq.u32 %p3, %r6, %r4; @%p3 bra POLL;
             WAIT: bar.sync 0; @!%p1 red.global.add.u32 [%a1+8], 1;
             sub.u32 %r1, %r1, 1; setp.ne.u32 %p4, %r1, 0; @%p4 bra ROUND; ret;
         }}"
    )
}

#[test]
fn software_barrier_of_resident_ctas_takes_short_turns() {
    const CTAS: u32 = 400;
    const ROUNDS: u64 = 4;
    let alone = |text: &str, threads, deterministic| {
        let settings = Settings { threads, deterministic, ..Settings::default() };
        let bench = Bench::with(text, settings);
        let memory = bench.allocate(64);
        let statistics = bench.launch([CTAS, 1, 1], 384, &[memory, ROUNDS]).unwrap();
        assert_eq!(u64::from(bench.word(memory + 8)), u64::from(CTAS) * ROUNDS);
        statistics.warp_instructions / u64::from(CTAS) / ROUNDS
    };
    for (name, poll) in POLLS {
        for (all_poll, most) in [(false, 2000), (true, 20_000)] {
            let text = software_barrier(poll, all_poll, "");
            for (threads, deterministic) in [(1, true), (2, false)] {
                // Without polling, a CTA executes about 200 warp instructions per round.
                let per_round = alone(&text, threads, deterministic);
                assert!(
                    per_round < most,
                    "{name}, {threads} threads, all poll: {all_poll}: {per_round} warp instructions of a CTA in a round"
                );
            }
            assert_eq!(alone(&text, 1, true), alone(&text, 1, true), "{name}");
        }
    }
}

/// Functions by which code without optimisation polls, with so many jumps, and the polling instructions.
fn polling_by_calls(jumps: u32, atomic: &str) -> (String, &'static str) {
    // Each hop leads back, so none leads to the next instruction.
    let hops: String = (0..jumps).rev().map(|hop| format!("H{hop}: bra H{}; ", hop + 1)).collect();
    let functions = format!(
        ".func (.param .b32 r) swap(.param .b64 a) {{ .reg .b64 %a<2>; .reg .b32 %r<2>; ld.param.u64 %a1, [a];
           bra H0; {hops} H{jumps}: {atomic} st.param.b32 [r], %r1; ret; }}
         .func (.param .b32 r) look(.param .b64 a) {{ .reg .b64 %a<2>; .reg .b32 %r<2>; .local .b32 found;
           ld.param.u64 %a1, [a]; {{ .param .b64 pa; .param .b32 pr; st.param.b64 [pa], %a1; call (pr), swap, (pa);
           ld.param.b32 %r1, [pr]; }} st.local.u32 [found], %r1; ld.local.u32 %r1, [found]; st.param.b32 [r], %r1; ret; }}"
    );
    let poll = "{ .param .b64 pa; .param .b32 pr; st.param.b64 [pa], %a1; call (pr), look, (pa); ld.param.b32 %r6, [pr]; }";
    (functions, poll)
}

#[test]
fn calls_and_jumps_in_a_spin_loop_do_not_hide_that_it_spins() {
    const CTAS: u32 = 100;
    const ROUNDS: u64 = 4;
    for atomic in ["atom.global.cas.b32 %r1, [%a1], -1, 0;", "atom.global.or.b32 %r1, [%a1], 0;"] {
        for jumps in [1, 6, 8, 10, 20, 36] {
            let (functions, poll) = polling_by_calls(jumps, atomic);
            let text = functions + &software_barrier(poll, false, "");
            let bench = Bench::with(&text, Settings { threads: 1, ..Settings::default() });
            let memory = bench.allocate(64);
            let statistics = bench.launch([CTAS, 1, 1], 64, &[memory, ROUNDS]).unwrap();
            assert_eq!(u64::from(bench.word(memory + 8)), u64::from(CTAS) * ROUNDS);
            let per_round = statistics.warp_instructions / u64::from(CTAS) / ROUNDS;
            assert!(
                per_round < 8000,
                "{atomic} {jumps} jumps: {per_round} warp instructions of a CTA in a round"
            );
        }
    }
}

#[test]
fn ctas_spinning_between_barriers_yield() {
    // All warps of a CTA poll together and meet at a barrier after each poll.
    let text = "
        .visible .entry test(.param .u64 p) {
            .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %a<9>; .shared .b32 seen;
            ld.param.u64 %a1, [p]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %nctaid.x;
            setp.ne.u32 %p1, %r2, 0; sub.u32 %r4, %r4, 1; sub.u32 %r4, %r4, %r3;
            LOOK: @!%p1 ld.volatile.global.u32 %r5, [%a1]; @!%p1 st.shared.u32 [seen], %r5;
            bar.sync 0; ld.shared.u32 %r6, [seen]; bar.sync 0;
            setp.ne.u32 %p2, %r6, %r4; @%p2 bra LOOK;
            @!%p1 red.global.add.u32 [%a1], 1; ret;
        }";
    const CTAS: u32 = 64;
    let bench = Bench::with(text, Settings { threads: 1, ..Settings::default() });
    let memory = bench.allocate(64);
    let statistics = bench.launch([CTAS, 1, 1], 256, &[memory]).unwrap();
    assert_eq!(bench.word(memory), CTAS);
    // The last CTA ends first; each pass over the others ends one more.
    let per_visit = statistics.warp_instructions / u64::from(CTAS * CTAS / 2);
    assert!(per_visit < 8 * 10 * 30, "{per_visit} warp instructions in a turn");
}

#[test]
fn ctas_beyond_host_memory_start_when_all_others_spin() {
    // With a stack of 64 KB per thread, 16 of these CTAs fill a gigabyte.
    let bench = Bench::with(
        &software_barrier(POLLS[0].1, false, "call nothing;"),
        Settings { threads: 2, ..Settings::default() },
    );
    let memory = bench.allocate(64);
    bench.launch([24, 1, 1], 1024, &[memory, 2]).unwrap();
    assert_eq!(bench.word(memory + 8), 48);
}
