//! Effects that are reported for each instruction.

use std::sync::Arc;

use functional::launch::LaunchConfig;
use functional::texture::{Filter, Format, Image, ImageKind, Level, Numeric, Sampler, Texture};
use functional::timed::turns::Order;
use warp_stream::{MemorySpace, OperationClass};

use crate::bench::{Bench, Step, kernel};
use warp_stream::LaunchShape;

/// Steps of instructions with a memory access of this class.
fn accesses(steps: &[Step], class: OperationClass) -> Vec<&Step> {
    steps.iter().filter(|step| step.instruction.class == class).collect()
}

#[test]
fn addresses_are_reported_per_lane_with_their_space() {
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
    assert_eq!(local.addresses[1] - local.addresses[0], 4, "words of neighbouring lanes are adjacent");
    assert_eq!(local.addresses[0] % 128, 0);
}

#[test]
fn merged_loads_report_one_access() {
    let bench = Bench::new(&kernel(
        ".shared .align 4 .b8 first[4]; .shared .align 16 .b8 buffer[1024]; st.shared.u32 [first], %r1;
         mov.u32 %r5, buffer; mad.lo.u32 %r6, %r1, 16, %r5; setp.lt.u32 %p1, %r1, 8;
         @%p1 ld.shared.u32 %r7, [%r6+12]; @%p1 ld.shared.u32 %r8, [%r6+4]; @%p1 ld.shared.u32 %r9, [%r6+8];
         @%p1 st.global.u32 [%rd3], %r7; @%p1 st.global.u32 [%rd3+4], %r8; @%p1 st.global.u32 [%rd3+8], %r9;
         ret;",
    ));
    let out = bench.words(&[0; 64]);
    let steps = bench.launch(Order::InTurn, 1, 32, out).unwrap();
    let loads: Vec<&Step> = accesses(&steps, OperationClass::Load);
    let [load] = loads[..] else { panic!("{loads:?}") };
    assert_eq!((load.space, load.active), (MemorySpace::Shared, 0xff));
    assert_eq!(load.instruction.memory.map(|memory| memory.width), Some(16));
    assert_eq!([0, 1, 7].map(|lane| load.addresses[lane]), [16, 32, 128]);
    assert_eq!(load.instruction.ptx, 3);
}

#[test]
fn merged_stores_report_one_access() {
    let bench = Bench::new(&kernel(
        ".shared .align 16 .b8 buffer[1024]; mov.u32 %r5, buffer; mad.lo.u32 %r6, %r1, 16, %r5;
         st.shared.u32 [%r6+12], %r1; st.shared.u32 [%r6+4], %r2; st.shared.u32 [%r6+8], %r1;
         ld.shared.u32 %r7, [%r6+8]; st.global.u32 [%rd3], %r7; ret;",
    ));
    let out = bench.words(&[0; 64]);
    let steps = bench.launch(Order::InTurn, 1, 32, out).unwrap();
    let stores = accesses(&steps, OperationClass::Store);
    let told = |store: &&Step| (store.instruction.memory.map(|memory| memory.width), store.addresses[1]);
    assert_eq!(stores[..2].iter().map(told).collect::<Vec<_>>(), [(Some(8), 24), (Some(4), 20)]);
}

#[test]
fn indexed_parameters_report_constant_bank_offsets() {
    let bench = Bench::new(&kernel(
        "mov.u64 %rd6, out; and.b32 %r5, %r1, 4; cvt.u64.u32 %rd7, %r5; add.s64 %rd6, %rd6, %rd7;
         ld.param.u32 %r6, [%rd6]; st.global.u32 [%rd3], %r6; ret;",
    ));
    let out = bench.words(&[0; 32]);
    let steps = bench.launch(Order::InTurn, 1, 32, out).unwrap();
    let loads = accesses(&steps, OperationClass::LoadConstant);
    let [load] = loads[..] else { panic!("{steps:?}") };
    assert_eq!((load.space, load.active), (MemorySpace::Constant, u32::MAX));
    assert_eq!([0, 3, 4, 31].map(|lane| load.addresses[lane]), [0x160, 0x160, 0x164, 0x164]);
}

#[test]
fn only_accesses_shared_between_warps_are_deferred() {
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
fn clocks_and_slots_come_from_the_model() {
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
fn nanosleep_reports_its_duration() {
    let bench = Bench::new(&kernel("add.u32 %r5, %r1, 100; nanosleep.u32 %r5; ret;"));
    let out = bench.words(&[0]);
    let steps = bench.launch(Order::InTurn, 1, 32, out).unwrap();
    assert_eq!(steps.iter().map(|step| step.sleep).max(), Some(131));
}

#[test]
fn warps_start_at_the_first_instruction_and_exit() {
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
        assert!(own.windows(2).all(|pair| pair[1] == pair[0] + 16), "consecutive: {own:?}");
    }
    assert_eq!(accesses(&steps, OperationClass::Exit).len(), 4);
}

/// A texture of 8 by 8 singles with handle 77, sampled between texels; returns the address of its first
/// texel.
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
fn sampled_texels_are_reported() {
    let bench = Bench::new(&kernel(
        ".reg .f32 %f<6>; mov.u64 %rd4, 77; mov.f32 %f1, 0f40200000; mov.f32 %f2, 0f3F800000;
         setp.eq.u32 %p1, %r1, 3; @%p1 tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f0}, [%rd4, {%f1, %f2}]; ret;",
    ));
    let (out, texels) = (bench.words(&[0]), place_texture(&bench));
    let config = LaunchConfig {
        shape: LaunchShape::new([1; 3], [32, 1, 1]),
        textures: bench.device.textures.snapshot(),
        ..LaunchConfig::default()
    };
    let steps = bench.launch_as(Order::InTurn, config, out).unwrap();
    let [read] = accesses(&steps, OperationClass::Texture)[..] else { panic!("one read") };
    let mut told = read.texels.clone();
    told.sort_unstable();
    // (2.5, 1) is the centre of texel 2 in its row, and lies between rows 0 and 1.
    assert_eq!((read.active, told), (1 << 3, vec![texels + 8, texels + 40]));
}

#[test]
fn diverged_lanes_meet_at_an_instruction_of_both_sides() {
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
