//! Whole kernels on the engine: addressing, divergence, barriers, calls, faults.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::fault::FaultKind;
use functional::launch::{LaunchConfig, LaunchError, launch};
use functional::memory::AllocationKind;
use functional::module::Module;
use warp_stream::LaunchShape;

struct Bench {
    device: Arc<Device>,
    module: Module,
}

impl Bench {
    fn new(body: &str) -> Bench {
        Bench::with(body, Settings::default())
    }

    fn with(body: &str, settings: Settings) -> Bench {
        let text = format!(".version 7.5\n.target sm_70\n.address_size 64\n{body}");
        let device = Arc::new(Device::new(DeviceSpec::default(), settings).unwrap());
        let ptx = Arc::new(ptx_frontend::Module::parse(text, "test.ptx").unwrap());
        let module = Module::load(&device, vec![ptx]).unwrap();
        Bench { device, module }
    }

    fn words(&self, values: &[u32]) -> u64 {
        let address =
            self.device.memory.allocate(values.len() as u64 * 4, 4, AllocationKind::Device).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.device.memory.write(address, &bytes).unwrap();
        address
    }

    fn read(&self, address: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; count * 4];
        self.device.memory.read(address, &mut bytes).unwrap();
        bytes.chunks(4).map(|chunk| u32::from_le_bytes(chunk.try_into().unwrap())).collect()
    }

    fn launch(&self, grid: u32, block: u32, parameters: &[u64]) -> Result<(), LaunchError> {
        self.launch_as(false, grid, block, parameters)
    }

    fn launch_cooperatively(&self, grid: u32, block: u32, parameters: &[u64]) -> Result<(), LaunchError> {
        self.launch_as(true, grid, block, parameters)
    }

    fn launch_as(
        &self,
        cooperative: bool,
        grid: u32,
        block: u32,
        parameters: &[u64],
    ) -> Result<(), LaunchError> {
        let program = self.module.kernel("test").unwrap();
        let config = LaunchConfig {
            shape: LaunchShape::new([grid, 1, 1], [block, 1, 1]),
            parameters: parameters.iter().flat_map(|value| value.to_le_bytes()).collect(),
            cooperative,
            ..LaunchConfig::default()
        };
        launch(&self.device, &program, config).map(|_| ())
    }
}

const HEAD: &str = "
    .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1;
    mul.wide.s32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;";

/// First line of [`kernel`]'s body in the text.
const LINE_OF_BODY: u32 = 10;

fn kernel(body: &str) -> String {
    format!(".visible .entry test(.param .u64 out) {{ {HEAD} {body} }}")
}

#[test]
fn every_thread_writes_its_own_word() {
    let bench = Bench::new(&kernel("st.global.u32 [%rd3], %r4; ret;"));
    let out = bench.words(&[0; 1000]);
    bench.launch(10, 100, &[out]).unwrap();
    assert_eq!(bench.read(out, 1000), (0..1000).collect::<Vec<_>>());
}

#[test]
fn diverged_lanes_reconverge() {
    let bench = Bench::new(&kernel(
        "setp.lt.u32 %p1, %r1, 7; mov.u32 %r5, 1; @%p1 bra THEN; add.u32 %r5, %r5, 10; bra.uni DONE;
         THEN: add.u32 %r5, %r5, 100;
         DONE: activemask.b32 %r6; add.u32 %r5, %r5, %r6; st.global.u32 [%rd3], %r5; ret;",
    ));
    let out = bench.words(&[0; 32]);
    bench.launch(1, 32, &[out]).unwrap();
    let expected: Vec<u32> = (0..32).map(|lane| if lane < 7 { 100 } else { 10 }).collect();
    assert_eq!(
        bench.read(out, 32),
        expected,
        "all 32 lanes are active after reconvergence: u32::MAX + 1 + n wraps to n"
    );
}

#[test]
fn registers_of_waiting_lanes_are_preserved() {
    let each = |of: &dyn Fn(u32) -> String| (10..18).map(of).collect::<String>();
    let values = each(&|n| format!("mul.lo.u32 %r{n}, %r1, {n};"));
    let words = each(&|n| format!("add.u32 %r6, %r6, %r{n};"));
    let wide = each(&|n| format!("mul.wide.u32 %rd{n}, %r1, {n};"))
        + &each(&|n| format!("cvt.u32.u64 %r20, %rd{n}; sub.u32 %r6, %r6, %r20;"));
    let begin = format!("setp.lt.u32 %p1, %r1, 16; mov.u32 %r6, 5; {values} @%p1 bra OTHER;");
    // The waiting lanes hold values, and their code lies after or before that of the others.
    let bodies = [
        format!("{begin} {wide} bra DONE; OTHER: {words} DONE:"),
        format!("{begin} {words} bra DONE; OTHER: {wide} DONE:"),
        format!("bra BEGIN; OTHER: {words} bra DONE; BEGIN: {begin} {wide} DONE:"),
    ];
    let sum: u32 = (10..18).sum();
    for (body, with_words) in bodies.into_iter().zip([0..16, 16..32, 0..16_u32]) {
        let bench = Bench::new(&kernel(&format!("{body} st.global.u32 [%rd3], %r6; ret;")));
        let out = bench.words(&[0; 32]);
        bench.launch(1, 32, &[out]).unwrap();
        let expected = |lane: u32| match with_words.contains(&lane) {
            true => 5 + sum * lane,
            false => 5_u32.wrapping_sub(sum * lane),
        };
        assert_eq!(bench.read(out, 32), (0..32).map(expected).collect::<Vec<_>>(), "{body}");
    }
}

#[test]
fn loop_counts_may_differ_per_lane() {
    let bench = Bench::new(&kernel(
        "mov.u32 %r5, 0; mov.u32 %r6, 0;
         LOOP: setp.ge.u32 %p1, %r6, %r1; @%p1 bra DONE; add.u32 %r5, %r5, %r6; add.u32 %r6, %r6, 1; bra LOOP;
         DONE: st.global.u32 [%rd3], %r5; ret;",
    ));
    let out = bench.words(&[0; 64]);
    bench.launch(1, 64, &[out]).unwrap();
    assert_eq!(
        bench.read(out, 64),
        (0..64).map(|n: u32| n * n.wrapping_sub(1) / 2 * u32::from(n > 0)).collect::<Vec<_>>()
    );
}

#[test]
fn barrier_orders_shared_memory_between_warps() {
    let bench = Bench::new(&kernel(
        ".shared .align 4 .b8 buffer[1024];
         mov.u32 %r5, buffer; mad.lo.u32 %r6, %r1, 4, %r5; st.shared.u32 [%r6], %r4; bar.sync 0;
         mad.lo.u32 %r7, %r1, -4, %r5; add.u32 %r7, %r7, 1020; ld.shared.u32 %r8, [%r7];
         st.global.u32 [%rd3], %r8; ret;",
    ));
    let out = bench.words(&[0; 512]);
    bench.launch(2, 256, &[out]).unwrap();
    let expected: Vec<u32> = (0..512).map(|n| n / 256 * 256 + 255 - n % 256).collect();
    assert_eq!(bench.read(out, 512), expected);
}

#[test]
fn calls_pass_arguments_and_results() {
    let body = format!(
        ".func (.param .b32 result) triangle(.param .b32 n) {{
            .reg .pred %p<3>; .reg .b32 %r<9>;
            ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, 0; @%p1 bra DONE;
            add.u32 %r3, %r1, -1;
            {{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r3; call.uni (v), triangle, (a); ld.param.b32 %r4, [v]; }}
            add.u32 %r2, %r4, %r1;
            DONE: st.param.b32 [result], %r2; ret; }}
         .visible .entry test(.param .u64 out) {{ {HEAD}
            {{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r1; call.uni (v), triangle, (a); ld.param.b32 %r5, [v]; }}
            st.global.u32 [%rd3], %r5; ret; }}"
    );
    let bench = Bench::new(&body);
    let out = bench.words(&[0; 64]);
    bench.launch(1, 64, &[out]).unwrap();
    assert_eq!(bench.read(out, 64), (0..64).map(|n| n * (n + 1) / 2).collect::<Vec<u32>>());
}

#[test]
fn endless_recursion_overflows_the_stack() {
    let body = format!(
        ".func forever() {{ call.uni forever, (); ret; }}
         .visible .entry test(.param .u64 out) {{ {HEAD} call.uni forever, (); ret; }}"
    );
    let bench = Bench::new(&body);
    let out = bench.words(&[0; 32]);
    let error = bench.launch(1, 32, &[out]).unwrap_err();
    assert!(
        matches!(error, LaunchError::Fault(fault) if matches!(fault.kind, FaultKind::StackOverflow { .. }))
    );
}

#[test]
fn wild_address_fault_names_thread_and_line() {
    let bench = Bench::new(&kernel(
        "setp.ne.u32 %p1, %r1, 5; @%p1 bra DONE; mov.u64 %rd4, 64; st.global.u32 [%rd4], %r4; DONE: ret;",
    ));
    let out = bench.words(&[0; 64]);
    match bench.launch(2, 32, &[out]).unwrap_err() {
        LaunchError::Fault(fault) => {
            assert_eq!(fault.kind, FaultKind::IllegalAddress { address: 64, width: 4, lane: 5 });
            assert_eq!(fault.thread, Some([5, 0, 0]));
            assert!(fault.spot.place.line >= 4);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn address_off_by_one_is_misaligned() {
    let bench = Bench::new(&kernel("add.s64 %rd3, %rd3, 1; st.global.u32 [%rd3], %r4; ret;"));
    let out = bench.words(&[0; 64]);
    let error = bench.launch(1, 32, &[out]).unwrap_err();
    assert!(
        matches!(error, LaunchError::Fault(fault) if matches!(fault.kind, FaultKind::MisalignedAddress { .. }))
    );
}

#[test]
fn word_past_an_allocation_is_out_of_range() {
    let bench = Bench::new(&kernel("st.global.u32 [%rd3], %r4; ret;"));
    let out = bench.words(&[0; 33]);
    let error = bench.launch(2, 32, &[out]).unwrap_err();
    let LaunchError::Fault(fault) = error else { panic!("{error}") };
    assert_eq!(fault.kind, FaultKind::IllegalAddress { address: out + 33 * 4, width: 4, lane: 1 });
}

#[test]
fn freed_memory_is_out_of_range() {
    let bench = Bench::new(&kernel("st.global.u32 [%rd3], %r4; ret;"));
    let out = bench.words(&[0; 32]);
    bench.launch(1, 32, &[out]).unwrap();
    bench.device.memory.free(out).unwrap();
    assert!(matches!(bench.launch(1, 32, &[out]).unwrap_err(), LaunchError::Fault(_)));
}

#[test]
fn barrier_missed_by_some_threads_deadlocks() {
    let bench = Bench::new(&kernel("setp.lt.u32 %p1, %r1, 32; @%p1 bra DONE; bar.sync 0, 64; DONE: ret;"));
    let out = bench.words(&[0; 64]);
    let LaunchError::Fault(fault) = bench.launch(1, 64, &[out]).unwrap_err() else { panic!("no fault") };
    assert!(matches!(fault.kind, FaultKind::Deadlock(_)));
    assert_eq!((fault.spot.instruction.as_str(), fault.spot.place.line), ("bar.sync 0, 64;", LINE_OF_BODY));
}

#[test]
fn watchdog_ends_an_endless_loop() {
    let settings = Settings { watchdog: Some(std::time::Duration::from_millis(200)), ..Settings::default() };
    let bench = Bench::with(&kernel("LOOP: add.u32 %r4, %r4, 1; bra.uni LOOP;"), settings);
    let out = bench.words(&[0; 64]);
    let LaunchError::Fault(fault) = bench.launch(1, 64, &[out]).unwrap_err() else { panic!("no fault") };
    assert!(matches!(fault.kind, FaultKind::Timeout { .. }));
    assert_eq!(
        (fault.spot.instruction.as_str(), fault.spot.place.line),
        ("add.u32 %r4, %r4, 1;", LINE_OF_BODY)
    );
}

#[test]
fn cta_may_wait_for_a_later_cta() {
    let bench = Bench::with(
        &kernel(
            "setp.eq.u32 %p1, %r2, 3; @%p1 bra LAST;
             WAIT: ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT; ret;
             LAST: st.volatile.global.u32 [%rd1], 1; ret;",
        ),
        Settings { deterministic: true, ..Settings::default() },
    );
    let out = bench.words(&[0; 64]);
    bench.launch(4, 32, &[out]).unwrap();
}

#[test]
fn oversized_launches_are_refused() {
    let bench = Bench::new(&kernel("ret;"));
    let out = bench.words(&[0; 4]);
    assert!(matches!(bench.launch(1, 1025, &[out]), Err(LaunchError::Configuration { .. })));
    assert!(matches!(bench.launch(0, 32, &[out]), Err(LaunchError::Configuration { .. })));
    assert!(matches!(bench.launch(1, 32, &[]), Err(LaunchError::Configuration { .. })));
}

const GRID_BARRIER: &str = include_str!("kernels/grid_barrier.ptx");

#[test]
fn cooperative_ctas_meet_at_a_grid_barrier() {
    const CTAS: u32 = 1000;
    for threads in [1, 2] {
        let settings = Settings { threads, ..Settings::default() };
        let bench = Bench::with(GRID_BARRIER, settings);
        for _ in 0..2 {
            let out = bench.words(&[u32::MAX; 2 * CTAS as usize]);
            bench.launch_cooperatively(CTAS, 64, &[out]).unwrap();
            let expected: Vec<u32> = (0..CTAS).map(|cta| (cta + 1) % CTAS).collect();
            assert_eq!(bench.read(out + u64::from(CTAS) * 4, CTAS as usize), expected);
        }
    }
}
