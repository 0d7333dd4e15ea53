//! Kernels that somebody else executes instruction by instruction: what they leave behind, and what he is told.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::fault::FaultKind;
use functional::launch::{LaunchConfig, LaunchError};
use functional::memory::AllocationKind;
use functional::module::Module;
use functional::texture::{Filter, Format, Image, ImageKind, Level, Numeric, Sampler, Texture};
use functional::timed::turns::{Issued, Order, TurnsError, execute};
use functional::timed::{Identity, TimedError, launch};
use warp_stream::{
    Execution, MachineInstruction, MemorySpace, Moment, Next, OperationClass, Residence, SourceError,
    WarpSlot, WarpSource,
};

/// In turn, and by chance.
const ORDERS: [Order; 4] = [Order::InTurn, Order::Random(1), Order::Random(2), Order::Random(3)];

struct Bench {
    device: Arc<Device>,
    module: Module,
}

/// An instruction that was issued.
#[derive(Debug, Clone)]
struct Step {
    cta: u64,
    warp: u32,
    instruction: MachineInstruction,
    active: u32,
    space: MemorySpace,
    addresses: [u64; 32],
    texels: Vec<u64>,
    deferred: bool,
    sleep: u32,
}

impl Bench {
    fn new(body: &str) -> Bench {
        let settings = Settings { timed: true, ..Settings::default() };
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

    /// Launches on two SMs with room for two CTAs each.
    fn launch(&self, order: Order, grid: u32, block: u32, out: u64) -> Result<Vec<Step>, LaunchError> {
        let config = LaunchConfig { grid: [grid, 1, 1], block: [block, 1, 1], ..LaunchConfig::default() };
        self.launch_as(order, config, out)
    }

    fn launch_as(&self, order: Order, config: LaunchConfig, out: u64) -> Result<Vec<Step>, LaunchError> {
        let program = self.module.kernel("test").unwrap();
        let config = LaunchConfig { parameters: out.to_le_bytes().to_vec(), ..config };
        let mut steps = Vec::new();
        let launched = launch(&self.device, &program, config, Identity { launch: 1, stream: 0 }, |source| {
            let code = Arc::clone(&source.kernel().code);
            execute(source, (2, 2), order, |issued: Issued<'_>| {
                let execution = issued.execution;
                steps.push(Step {
                    cta: issued.cta,
                    warp: issued.warp,
                    instruction: code.instructions[issued.position as usize],
                    active: execution.active,
                    space: execution.space,
                    addresses: execution.addresses,
                    texels: execution.texels.clone(),
                    deferred: execution.deferred.is_some(),
                    sleep: execution.sleep,
                });
            })
        });
        match launched {
            Ok(()) => Ok(steps),
            Err(TimedError::Launch(error)) => Err(error),
            Err(other) => panic!("{other}"),
        }
    }
}

const HEAD: &str = "
    .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1;
    mul.wide.s32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;";

fn kernel(body: &str) -> String {
    format!(".visible .entry test(.param .u64 out) {{ {HEAD} {body} }}")
}

/// Launches in each order, and compares what the kernel leaves behind.
fn leaves(text: &str, (grid, block): (u32, u32), expected: &[u32]) {
    for order in ORDERS {
        let bench = Bench::new(text);
        let out = bench.words(&vec![0; expected.len()]);
        bench.launch(order, grid, block, out).unwrap();
        assert_eq!(bench.read(out, expected.len()), expected, "{order:?}");
    }
}

#[test]
fn every_thread_of_more_ctas_than_fit_writes_its_own_word() {
    let expected: Vec<u32> = (0..1000).collect();
    leaves(&kernel("st.global.u32 [%rd3], %r4; ret;"), (10, 100), &expected);
}

#[test]
fn lanes_that_part_meet_again() {
    let expected: Vec<u32> = (0..32).map(|lane| if lane < 7 { 100 } else { 10 }).collect();
    leaves(
        &kernel(
            "setp.lt.u32 %p1, %r1, 7; mov.u32 %r5, 1; @%p1 bra THEN; add.u32 %r5, %r5, 10; bra.uni DONE;
             THEN: add.u32 %r5, %r5, 100;
             DONE: activemask.b32 %r6; add.u32 %r5, %r5, %r6; st.global.u32 [%rd3], %r5; ret;",
        ),
        (1, 32),
        &expected,
    );
}

#[test]
fn a_loop_runs_as_often_as_each_lane_says() {
    let expected: Vec<u32> = (0..64).map(|n: u32| n * n.wrapping_sub(1) / 2 * u32::from(n > 0)).collect();
    leaves(
        &kernel(
            "mov.u32 %r5, 0; mov.u32 %r6, 0;
             LOOP: setp.ge.u32 %p1, %r6, %r1; @%p1 bra DONE; add.u32 %r5, %r5, %r6; add.u32 %r6, %r6, 1; bra LOOP;
             DONE: st.global.u32 [%rd3], %r5; ret;",
        ),
        (1, 64),
        &expected,
    );
}

#[test]
fn a_barrier_lets_warps_see_each_other_through_shared_memory() {
    let expected: Vec<u32> = (0..512).map(|n| n / 256 * 256 + 255 - n % 256).collect();
    leaves(
        &kernel(
            ".shared .align 4 .b8 buffer[1024];
             mov.u32 %r5, buffer; mad.lo.u32 %r6, %r1, 4, %r5; st.shared.u32 [%r6], %r4; bar.sync 0;
             mad.lo.u32 %r7, %r1, -4, %r5; add.u32 %r7, %r7, 1020; ld.shared.u32 %r8, [%r7];
             st.global.u32 [%rd3], %r8; ret;",
        ),
        (2, 256),
        &expected,
    );
}

#[test]
fn a_barrier_counts_the_lanes_whose_predicate_holds() {
    leaves(
        &kernel(
            "setp.lt.u32 %p1, %r1, 40; barrier.red.popc.u32 %r5, 0, %p1; st.global.u32 [%rd3], %r5; ret;",
        ),
        (1, 96),
        &[40; 96],
    );
}

#[test]
fn a_function_is_called_by_each_lane_as_deep_as_it_needs() {
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
    let expected: Vec<u32> = (0..64).map(|n| n * (n + 1) / 2).collect();
    leaves(&body, (1, 64), &expected);
}

#[test]
fn lanes_of_both_sides_of_a_branch_exchange_values() {
    let expected: Vec<u32> = (0..32).map(|lane| lane ^ 16).collect();
    leaves(
        &kernel(
            "setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW; shfl.sync.bfly.b32 %r5, %r1, 16, 31, -1; bra DONE;
             LOW: shfl.sync.bfly.b32 %r5, %r1, 16, 31, -1;
             DONE: st.global.u32 [%rd3], %r5; ret;",
        ),
        (1, 32),
        &expected,
    );
}

#[test]
fn atomic_operations_of_all_threads_are_all_done() {
    for order in ORDERS {
        let bench = Bench::new(&kernel(
            "atom.global.add.u32 %r5, [%rd1], 1; add.s64 %rd4, %rd1, 8; mul.wide.u32 %rd5, %r5, 4;
             add.s64 %rd5, %rd5, %rd4; st.global.u32 [%rd5], 1; red.global.add.u32 [%rd1+4], %r4; ret;",
        ));
        let out = bench.words(&[0; 322]);
        bench.launch(order, 5, 64, out).unwrap();
        let left = bench.read(out, 322);
        assert_eq!(left[..2], [320, 320 * 319 / 2], "{order:?}");
        assert!(left[2..].iter().all(|&word| word == 1), "each number was given once");
    }
}

#[test]
fn a_thread_sees_its_own_reduction() {
    let expected: Vec<u32> = (0..64).map(|n| n + 5).collect();
    leaves(
        &kernel(
            "st.global.u32 [%rd3], %r4; red.global.add.u32 [%rd3], 2; red.global.add.u32 [%rd3], 2;
             ld.global.u32 %r5, [%rd3]; add.u32 %r5, %r5, 1; st.global.u32 [%rd3], %r5; ret;",
        ),
        (1, 64),
        &expected,
    );
}

#[test]
fn an_operand_may_be_overwritten_while_its_reduction_is_under_way() {
    leaves(
        &kernel(
            "mov.u32 %r5, 0;
             LOOP: red.global.add.u32 [%rd3], %r5; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 10; @%p1 bra LOOP;
             ret;",
        ),
        (1, 64),
        &[45; 64],
    );
}

#[test]
fn reductions_in_shared_memory_are_seen_behind_a_barrier() {
    leaves(
        &kernel(
            ".shared .align 4 .u32 sum; setp.ne.u32 %p1, %r1, 0; @!%p1 st.shared.u32 [sum], 0; bar.sync 0;
             red.shared.add.u32 [sum], 3; bar.sync 0; ld.shared.u32 %r5, [sum]; st.global.u32 [%rd3], %r5; ret;",
        ),
        (2, 128),
        &[384; 256],
    );
}

/// Each lane takes a lock, adds 1, and gives the lock back.
const LOCK: &str = "
    TAKE: atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TAKE;
    ld.volatile.global.u32 %r6, [%rd1+4]; add.u32 %r6, %r6, 1; st.volatile.global.u32 [%rd1+4], %r6;
    membar.gl; atom.global.exch.b32 %r7, [%rd1], 0; ret;";

#[test]
fn lanes_of_a_warp_take_a_lock_one_after_another() {
    for order in ORDERS {
        let bench = Bench::new(&kernel(LOCK));
        let out = bench.words(&[0; 2]);
        bench.launch(order, 2, 64, out).unwrap();
        assert_eq!(bench.read(out, 2), [0, 128], "{order:?}");
    }
}

/// Every CTA stores its number, all meet at a barrier in the launch's workspace, then each reads its neighbour's.
const GRID_BARRIER: &str = ".visible .entry test(.param .u64 out) {
    .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<10>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;
    mov.u32 %r4, %envreg1; mov.u32 %r5, %envreg2; mov.b64 %rd2, {%r5, %r4};
    setp.ne.u32 %p1, %r1, 0;
    mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3;
    @!%p1 st.global.u32 [%rd4], %r2;
    bar.sync 0;
    @%p1 bra MEET;
    membar.gl;
    atom.global.add.u32 %r6, [%rd2+4], 1;
    SPIN: ld.volatile.global.u32 %r7, [%rd2+4];
    setp.lt.u32 %p2, %r7, %r3;
    @%p2 bra SPIN;
    MEET: bar.sync 0;
    add.u32 %r8, %r2, 1; rem.u32 %r8, %r8, %r3;
    mul.wide.u32 %rd5, %r8, 4; add.s64 %rd6, %rd1, %rd5;
    ld.volatile.global.u32 %r9, [%rd6];
    mul.wide.u32 %rd7, %r3, 4; add.s64 %rd8, %rd4, %rd7;
    @!%p1 st.global.u32 [%rd8], %r9;
    ret; }";

#[test]
fn all_ctas_of_a_cooperative_launch_meet_at_a_grid_barrier() {
    for order in ORDERS {
        let bench = Bench::new(GRID_BARRIER);
        let out = bench.words(&[u32::MAX; 40]);
        let config = LaunchConfig {
            grid: [20, 1, 1],
            block: [64, 1, 1],
            cooperative: true,
            ..LaunchConfig::default()
        };
        bench.launch_as(order, config, out).unwrap();
        let expected: Vec<u32> = (0..20).map(|cta| (cta + 1) % 20).collect();
        assert_eq!(bench.read(out + 80, 20), expected, "{order:?}");
    }
}

#[test]
fn what_a_kernel_prints_is_printed() {
    let bench = Bench::new(&format!(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
         .global .align 1 .b8 text[8] = {{104, 101, 108, 108, 111, 10, 0, 0}};
         .visible .entry test(.param .u64 out) {{ {HEAD} mov.u64 %rd5, text; cvta.global.u64 %rd6, %rd5; mov.u64 %rd7, 0;
         {{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd6; st.param.b64 [a], %rd7;
         call.uni (r), vprintf, (f, a); }} ret; }}"
    ));
    let out = bench.words(&[0]);
    bench.launch(Order::InTurn, 1, 3, out).unwrap();
    assert_eq!(bench.device.take_printed(), b"hello\nhello\nhello\n");
}

#[test]
fn a_wild_address_is_a_fault_that_names_thread_and_instruction() {
    let bench = Bench::new(&kernel(
        "setp.ne.u32 %p1, %r1, 5; @%p1 bra DONE; mov.u64 %rd4, 64; st.global.u32 [%rd4], %r4; DONE: ret;",
    ));
    let out = bench.words(&[0; 64]);
    let LaunchError::Fault(fault) = bench.launch(Order::InTurn, 2, 32, out).unwrap_err() else { panic!() };
    assert_eq!(fault.kind, FaultKind::IllegalAddress { address: 64, width: 4, lane: 5 });
    assert_eq!(fault.thread, Some([5, 0, 0]));
    assert_eq!(fault.spot.instruction, "st.global.u32 [%rd4], %r4;");
}

#[test]
fn a_reduction_at_a_wild_address_is_a_fault_where_it_stands() {
    let bench = Bench::new(&kernel("mov.u64 %rd4, 64; red.global.add.u32 [%rd4], %r4; ret;"));
    let out = bench.words(&[0; 64]);
    let LaunchError::Fault(fault) = bench.launch(Order::InTurn, 1, 32, out).unwrap_err() else { panic!() };
    assert_eq!(fault.kind, FaultKind::IllegalAddress { address: 64, width: 4, lane: 0 });
    assert_eq!(fault.spot.instruction, "red.global.add.u32 [%rd4], %r4;");
}

#[test]
fn a_barrier_that_some_threads_never_reach_is_a_deadlock() {
    let bench = Bench::new(&kernel("setp.lt.u32 %p1, %r1, 32; @%p1 bra DONE; bar.sync 0, 64; DONE: ret;"));
    let out = bench.words(&[0; 64]);
    let LaunchError::Fault(fault) = bench.launch(Order::InTurn, 1, 64, out).unwrap_err() else { panic!() };
    assert!(matches!(fault.kind, FaultKind::Deadlock(_)));
}

#[test]
fn clusters_are_refused_by_name() {
    let bench = Bench::new(&kernel("ret;"));
    let program = bench.module.kernel("test").unwrap();
    let config = LaunchConfig {
        grid: [2, 1, 1],
        block: [32, 1, 1],
        cluster: Some([2, 1, 1]),
        parameters: vec![0; 8],
        ..LaunchConfig::default()
    };
    let identity = Identity { launch: 1, stream: 0 };
    let refused = launch(&bench.device, &program, config, identity, |_| Ok::<(), TurnsError>(()));
    assert_eq!(refused.unwrap_err().to_string(), "test cannot be timed: it has clusters of CTAs");
}

/// The steps of instructions with a memory side, and whether their accesses are put off.
fn accesses(steps: &[Step], class: OperationClass) -> Vec<&Step> {
    steps.iter().filter(|step| step.instruction.class == class).collect()
}

#[test]
fn addresses_are_told_lane_by_lane_with_their_space() {
    let bench = Bench::new(&kernel(
        ".shared .align 8 .b8 buffer[512]; .local .align 8 .b8 own[64];
         setp.lt.u32 %p1, %r1, 8; @%p1 ld.global.u32 %r5, [%rd3+4];
         mov.u32 %r6, buffer; mad.lo.u32 %r6, %r1, 8, %r6; st.shared.u32 [%r6+16], %r5;
         mov.u32 %r7, own; st.local.u32 [%r7+8], %r6;
         cvta.shared.u64 %rd6, 0; cvt.u64.u32 %rd7, %r6; add.s64 %rd6, %rd6, %rd7; ld.u32 %r8, [%rd6+32]; ret;",
    ));
    let out = bench.words(&[0; 64]);
    let steps = bench.launch(Order::InTurn, 1, 32, out).unwrap();
    let told = |space, first: usize| {
        let of_space = |step: &&Step| step.instruction.memory.is_some() && step.space == space;
        steps.iter().filter(of_space).nth(first).unwrap().clone()
    };
    let load = told(MemorySpace::Global, 0);
    assert_eq!(load.active, 0xff);
    assert_eq!((load.addresses[0], load.addresses[7]), (out + 4, out + 32));
    let store = told(MemorySpace::Shared, 0);
    assert_eq!((store.active, store.addresses[0], store.addresses[31]), (u32::MAX, 16, 16 + 31 * 8));
    let generic = told(MemorySpace::Shared, 1);
    assert_eq!((generic.addresses[0], generic.addresses[3]), (32, 56));
    let local = told(MemorySpace::Local, 0);
    assert_eq!(local.addresses[1] - local.addresses[0], 4, "words of neighbouring lanes are neighbours");
    assert_eq!(local.addresses[0] % 128, 0);
}

#[test]
fn only_what_others_take_part_in_is_put_off() {
    let bench = Bench::new(&kernel(
        ".shared .align 4 .u32 sum; ld.global.u32 %r5, [%rd3]; ld.volatile.global.u32 %r6, [%rd3];
         atom.global.add.u32 %r7, [%rd3], 1; add.u32 %r7, %r7, %r6; ld.volatile.shared.u32 %r8, [sum];
         atom.shared.add.u32 %r9, [sum], %r7; add.u32 %r9, %r9, %r5; add.u32 %r9, %r9, %r8;
         st.global.u32 [%rd3], %r9; ret;",
    ));
    let out = bench.words(&[0; 32]);
    let steps = bench.launch(Order::InTurn, 1, 32, out).unwrap();
    let of = |space| -> Vec<bool> {
        let reads = |step: &&Step| {
            step.instruction.memory.is_some_and(|memory| memory.kind != warp_stream::AccessKind::Store)
                && step.space == space
        };
        steps.iter().filter(reads).map(|step| step.deferred).collect()
    };
    assert_eq!(of(MemorySpace::Global), [false, true, true]);
    assert_eq!(of(MemorySpace::Shared), [false, true]);
}

#[test]
fn clocks_tell_simulated_time_and_places_are_the_models() {
    let bench = Bench::new(&kernel(
        "mov.u64 %rd4, %clock64; mov.u64 %rd5, %clock64; sub.s64 %rd6, %rd5, %rd4; cvt.u32.u64 %r5, %rd6;
         mov.u32 %r6, %smid; shl.b32 %r6, %r6, 16; mov.u32 %r7, %warpid; or.b32 %r6, %r6, %r7;
         setp.eq.u32 %p1, %r5, 0; @%p1 mov.u32 %r6, -1; st.global.u32 [%rd3], %r6; ret;",
    ));
    let out = bench.words(&[0; 128]);
    bench.launch(Order::InTurn, 2, 64, out).unwrap();
    let left = bench.read(out, 128);
    assert_eq!([left[0], left[32], left[64], left[96]], [0, 1, 1 << 16, 1 << 16 | 1]);
}

#[test]
fn a_sleeping_warp_says_for_how_long() {
    let bench = Bench::new(&kernel("add.u32 %r5, %r1, 100; nanosleep.u32 %r5; ret;"));
    let out = bench.words(&[0]);
    let steps = bench.launch(Order::InTurn, 1, 32, out).unwrap();
    assert_eq!(steps.iter().map(|step| step.sleep).max(), Some(131));
}

#[test]
fn warps_end_with_an_exit_and_start_at_the_first_instruction() {
    let bench = Bench::new(&kernel("st.global.u32 [%rd3], %r4; ret;"));
    let out = bench.words(&[0; 128]);
    let steps = bench.launch(Order::InTurn, 2, 64, out).unwrap();
    for (cta, warp) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let own: Vec<u32> = steps
            .iter()
            .filter(|step| (step.cta, step.warp) == (cta, warp))
            .map(|step| step.instruction.address)
            .collect();
        assert_eq!(own[0], 0);
        assert!(own.windows(2).all(|pair| pair[1] == pair[0] + 16), "one after the other: {own:?}");
    }
    assert_eq!(accesses(&steps, OperationClass::Exit).len(), 4);
}

/// A texture of 8 by 8 single-precision numbers, whose handle is 77, read between texels; its first texel's address.
fn place_texture(bench: &Bench) -> u64 {
    let address = bench.words(&[0; 64]);
    let level = Level { address, width: 8, height: 8, depth: 1, pitch: 32, slice: 256 };
    let image = Image {
        kind: ImageKind::Array,
        format: Format::new(Numeric::Float, 32, 1).unwrap(),
        dimensions: 2,
        layers: 1,
        cube: false,
        levels: vec![level],
    };
    let sampler = Sampler { filter: Filter::Linear, ..Sampler::default() };
    let texture = Texture { image, sampler, normalized_reads: false, srgb: false };
    bench.device.textures.change(|table| table.textures.insert(77, Arc::new(texture)));
    address
}

#[test]
fn the_texels_between_which_a_texture_is_read_are_told() {
    let bench = Bench::new(&kernel(
        ".reg .f32 %f<6>; mov.u64 %rd4, 77; mov.f32 %f1, 0f40200000; mov.f32 %f2, 0f3F800000;
         setp.eq.u32 %p1, %r1, 3; @%p1 tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f0}, [%rd4, {%f1, %f2}]; ret;",
    ));
    let (out, texels) = (bench.words(&[0]), place_texture(&bench));
    let config = LaunchConfig {
        grid: [1; 3],
        block: [32, 1, 1],
        textures: bench.device.textures.snapshot(),
        ..LaunchConfig::default()
    };
    let steps = bench.launch_as(Order::InTurn, config, out).unwrap();
    let [read] = accesses(&steps, OperationClass::Texture)[..] else { panic!("one read") };
    let mut told = read.texels.clone();
    told.sort_unstable();
    // (2.5, 1) lies in the middle of texel 2 of its row, and between rows 0 and 1.
    assert_eq!((read.active, told), (1 << 3, vec![texels + 8, texels + 40]));
}

/// Executes a CTA of one warp to its end, what it puts off at once.
fn run_to_end(warps: &mut dyn WarpSource, cta: u64) {
    let (warp, now) = (WarpSlot { cta: 0, warp: 0 }, Moment::default());
    let mut execution = Execution::default();
    warps.start_cta(0, cta, Residence { sm: 0, first_warp: 0 }).unwrap();
    while let Next::Instruction(_) = warps.next(warp).unwrap() {
        warps.issue(warp, now, &mut execution).unwrap();
        if let Some(deferred) = execution.deferred {
            warps.perform(deferred, now).unwrap();
        }
    }
    warps.end_cta(0);
}

#[test]
fn sms_can_be_simulated_by_threads_of_their_own() {
    let bench = Bench::new(&kernel("red.global.add.u32 [%rd1], 1; ret;"));
    let out = bench.words(&[0]);
    let program = bench.module.kernel("test").unwrap();
    let config = LaunchConfig {
        grid: [1000, 1, 1],
        block: [32, 1, 1],
        parameters: out.to_le_bytes().to_vec(),
        ..LaunchConfig::default()
    };
    let identity = Identity { launch: 1, stream: 0 };
    let launched = launch(&bench.device, &program, config, identity, |source| {
        std::thread::scope(|scope| {
            for sm in 0..2 {
                scope.spawn(move || {
                    let mut warps = source.warps(sm);
                    (0..500).for_each(|cta| run_to_end(&mut *warps, 2 * cta + u64::from(sm)));
                });
            }
        });
        Ok::<(), TurnsError>(())
    });
    assert!(launched.is_ok());
    assert_eq!(bench.read(out, 1), [32_000]);
}

#[test]
fn a_warp_that_is_not_ready_cannot_be_issued_from() {
    let bench = Bench::new(&kernel("bar.sync 0; ret;"));
    let (out, program) = (bench.words(&[0]), bench.module.kernel("test").unwrap());
    let config = LaunchConfig {
        grid: [1; 3],
        block: [64, 1, 1],
        parameters: out.to_le_bytes().to_vec(),
        ..LaunchConfig::default()
    };
    let identity = Identity { launch: 1, stream: 0 };
    let launched = launch(&bench.device, &program, config, identity, |source| {
        let (mut warps, now) = (source.warps(0), Moment::default());
        let (warp, mut execution) = (WarpSlot { cta: 0, warp: 0 }, Execution::default());
        assert!(warps.next(warp).is_err(), "no CTA has started");
        warps.start_cta(0, 0, Residence { sm: 0, first_warp: 0 })?;
        while let Next::Instruction(_) = warps.next(warp)? {
            warps.issue(warp, now, &mut execution)?;
        }
        assert!(warps.issue(warp, now, &mut execution).is_err());
        assert!(warps.perform(0, now).is_err());
        Ok::<(), SourceError>(())
    });
    assert!(launched.is_ok());
}

#[test]
fn a_kernel_bound_for_a_model_runs_without_one_too() {
    let bench = Bench::new(&kernel(
        "mov.u32 %r5, 0; mov.u32 %r6, 0;
         LOOP: setp.ge.u32 %p1, %r6, %r1; @%p1 bra DONE; add.u32 %r5, %r5, %r6; add.u32 %r6, %r6, 1; bra LOOP;
         DONE: st.global.u32 [%rd3], %r5; ret;",
    ));
    let out = bench.words(&[0; 32]);
    let program = bench.module.kernel("test").unwrap();
    let config = LaunchConfig {
        grid: [1; 3],
        block: [32, 1, 1],
        parameters: out.to_le_bytes().to_vec(),
        ..LaunchConfig::default()
    };
    functional::launch::launch(&bench.device, &program, config).unwrap();
    assert_eq!(bench.read(out, 32), (0..32).map(|n: u32| n * n.saturating_sub(1) / 2).collect::<Vec<_>>());
}

#[test]
fn lanes_that_have_parted_wait_for_each_other_with_an_instruction_that_both_parts_issue() {
    let stores = "st.global.u32 [%rd3], %r1; st.global.u32 [%rd3], %r2; st.global.u32 [%rd3], %r3;";
    let bench = Bench::new(&kernel(&format!(
        "setp.lt.u32 %p1, %r1, 7; @%p1 bra THEN; {stores} add.u32 %r5, %r1, 1; bra DONE;
         THEN: {stores} add.u32 %r5, %r1, 2;
         DONE: shfl.sync.bfly.b32 %r6, %r5, 1, 31, -1; st.global.u32 [%rd3], %r6; ret;",
    )));
    let out = bench.words(&[0; 32]);
    let steps = bench.launch(Order::InTurn, 1, 32, out).unwrap();
    let waits = accesses(&steps, OperationClass::Branch);
    let masks_at = |address: u32| -> Vec<u32> {
        let here = waits.iter().filter(|step| step.instruction.address == address);
        here.map(|step| step.active).collect()
    };
    let twice: Vec<Vec<u32>> = waits
        .iter()
        .map(|step| masks_at(step.instruction.address))
        .filter(|masks| masks.len() == 2)
        .collect();
    assert_eq!(twice[0], [!0x7f, 0x7f]);
    let [exchange] = accesses(&steps, OperationClass::Shuffle)[..] else { panic!("one exchange") };
    assert_eq!(exchange.active, u32::MAX);
}
