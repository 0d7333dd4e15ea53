//! What launches do is counted by unit and access.

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::launch::{LaunchConfig, launch};
use functional::memory::AllocationKind;
use functional::module::Module;
use functional::work::{NAMES, UNITS, Work};

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

#[test]
fn units_sectors_and_atomic_lanes_of_each_warp_are_counted() {
    let work = Arc::new(Work::default());
    let device = Device::new(DeviceSpec::default(), Settings::default()).unwrap();
    let device = Arc::new(device.watched_by(Arc::<Work>::clone(&work)));
    let source = Arc::new(ptx_frontend::Module::parse(PTX, "work.ptx").unwrap());
    let module = Module::load(&device, vec![source]).unwrap();
    let cells = device.memory.allocate(4096, 256, AllocationKind::Device).unwrap();
    let config = LaunchConfig {
        grid: [3, 1, 1],
        block: [64, 1, 1],
        parameters: cells.to_le_bytes().to_vec(),
        ..LaunchConfig::default()
    };
    let executed = launch(&device, &module.kernel("work").unwrap(), config).unwrap();
    let counts = work.take();
    let of = |name| counts[NAMES.iter().position(|it| *it == name).unwrap()];
    let warps = 6;
    // Four consecutive sectors are read, and one is written by each lane.
    assert_eq!(of("sectors_read"), 4 * warps);
    assert_eq!(of("sectors_written"), 32 * warps);
    assert_eq!(of("atomic_lanes"), 32 * warps);
    assert_eq!(of("shared_accesses"), warps);
    // 64 threads write to a sector each; what they read lies in these.
    assert_eq!((of("sectors_new"), of("sectors_far")), (64, 64));
    assert!(of("fp64") >= warps);
    // All warps do the same: each loads once from global memory, and adds there once.
    assert_eq!(of("longest_instructions"), executed.warp_instructions / warps);
    assert_eq!(of("longest_global"), 2);
    // Each lane stores to a sector of its own, four of which are a line; all warps add to the first word.
    assert_eq!(of("hottest_writes"), 4 * 3 + 6);
    assert_eq!(of("instructions_new"), of("longest_instructions"));
    assert_eq!(counts[..UNITS].iter().sum::<u64>(), executed.warp_instructions);
    assert_eq!(work.take().iter().sum::<u64>(), 0, "taken counts begin anew");
}
