//! Workload profiles count instructions per unit and memory accesses.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::launch::{LaunchConfig, launch};
use functional::memory::AllocationKind;
use functional::module::Module;
use functional::texture::{Filter, Format, Image, ImageKind, Level, Numeric, Sampler, Texture};
use functional::workload_profile::{NAMES, UNITS, WorkloadProfile};
use warp_stream::LaunchShape;

const PTX: &str = r"
.version 7.8
.target sm_70
.address_size 64

.visible .entry work(.param .b64 cells)
{
    .shared .align 4 .b8 shared[128];
    .reg .b32   %x, %lane;
    .reg .b64   %cells, %place, %offset;
    .reg .f64   %d;

    ld.param.b64 %cells, [cells];
    mov.u32     %lane, %tid.x;
    mul.wide.u32 %offset, %lane, 4;
    add.u64     %place, %cells, %offset;
    ld.global.u32 %x, [%place];
    st.shared.u32 [shared], %x;
    mul.wide.u32 %offset, %lane, 32;
    add.u64     %place, %cells, %offset;
    st.global.u32 [%place], %x;
    cvt.rn.f64.u32 %d, %x;
    add.rn.f64  %d, %d, %d;
    red.global.add.u32 [%cells], 1;
    ret;
}
";

/// A profiled device with a module.
fn watched(ptx: &str) -> (Arc<WorkloadProfile>, Arc<Device>, Module) {
    let work = Arc::new(WorkloadProfile::default());
    let device = Device::new(DeviceSpec::default(), Settings::default()).unwrap();
    let device = Arc::new(device.watched_by(Arc::<WorkloadProfile>::clone(&work)));
    let source = Arc::new(ptx_frontend::Module::parse(ptx, "work.ptx").unwrap());
    let module = Module::load(&device, vec![source]).unwrap();
    (work, device, module)
}

#[test]
fn units_sectors_and_atomic_lanes_are_counted() {
    let (work, device, module) = watched(PTX);
    let cells = device.memory.allocate(4096, 256, AllocationKind::Device).unwrap();
    let config = LaunchConfig {
        shape: LaunchShape::new([3, 1, 1], [64, 1, 1]),
        parameters: cells.to_le_bytes().to_vec(),
        ..LaunchConfig::default()
    };
    let executed = launch(&device, &module.kernel("work").unwrap(), config).unwrap();
    let counts = work.take();
    let of = |name| counts[NAMES.iter().position(|it| *it == name).unwrap()];
    let warps = 6;
    // Four consecutive sectors are read, and each lane writes one.
    assert_eq!(of("sectors_read"), 4 * warps);
    assert_eq!(of("sectors_written"), 32 * warps);
    assert_eq!(of("atomic_lanes"), 32 * warps);
    assert_eq!(of("shared_accesses"), warps);
    // 64 threads write to a sector each, and they read from these sectors.
    assert_eq!((of("sectors_new"), of("sectors_far")), (64, 64));
    assert!(of("fp64") >= warps);
    // All warps do equal work: one load from global memory and one addition there.
    assert_eq!(of("longest_instructions"), executed.warp_instructions / warps);
    assert_eq!(of("longest_global"), 2);
    // Each lane stores to its own sector, four of which form a line; all warps add to the first word.
    assert_eq!(of("hottest_writes"), 4 * 3 + 6);
    assert_eq!(of("instructions_new"), of("longest_instructions"));
    assert_eq!(of("pages_new"), 1);
    assert_eq!(counts[..UNITS].iter().sum::<u64>(), executed.warp_instructions);
    assert_eq!(work.take().iter().sum::<u64>(), 0, "counts restart at zero");
}

const SAMPLING: &str = r"
.version 7.8
.target sm_70
.address_size 64

.visible .entry sample()
{
    .reg .b32   %lane, %x, %y;
    .reg .b64   %texture, %surface;
    .reg .f32   %u, %v, %r<4>;

    mov.u32     %lane, %tid.x;
    cvt.rn.f32.u32 %u, %lane;
    mov.f32     %v, 0f3F800000;
    mov.u64     %texture, 77;
    tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%texture, {%u, %v}];
    shl.b32     %x, %lane, 2;
    mov.u32     %y, 5;
    mov.u64     %surface, 78;
    sust.b.2d.b32.trap [%surface, {%x, %y}], {%lane};
    ret;
}
";

#[test]
fn texels_count_as_global_memory_sectors() {
    let (work, device, module) = watched(SAMPLING);
    // 32 by 8 numbers: a row is a line.
    let address = device.memory.allocate(1024, 256, AllocationKind::Device).unwrap();
    let image = Image {
        kind: ImageKind::Array,
        format: Format::new(Numeric::Float, 32, 1).unwrap(),
        dimensions: 2,
        layers: 1,
        cube: false,
        levels: vec![Level { address, width: 32, height: 8, depth: 1, pitch: 128, slice: 1024 }],
    };
    let sampler = Sampler { filter: Filter::Linear, ..Sampler::default() };
    let texture = Texture { image: image.clone(), sampler, normalized_reads: false, srgb: false };
    device.textures.change(|table| {
        table.textures.insert(77, Arc::new(texture));
        table.surfaces.insert(78, Arc::new(image));
    });
    let textures = device.textures.snapshot();
    let config =
        LaunchConfig { shape: LaunchShape::new([1; 3], [32, 1, 1]), textures, ..LaunchConfig::default() };
    launch(&device, &module.kernel("sample").unwrap(), config).unwrap();
    let counts = work.take();
    let of = |name| counts[NAMES.iter().position(|it| *it == name).unwrap()];
    // Reads between rows 0 and 1 touch both rows; one row is written.
    assert_eq!((of("sectors_read"), of("sectors_written"), of("sectors_new")), (8, 4, 12));
    assert_eq!((of("texture"), of("longest_global")), (2, 1));
    let lines: Vec<_> = work.reuse_tracker().lock().last().iter().map(|trace| trace.line - address).collect();
    assert_eq!(lines, [0, 128, 5 * 128]);
}
