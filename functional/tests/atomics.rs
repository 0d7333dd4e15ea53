//! Atomic updates by CTAs on several host threads.

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::launch::{LaunchConfig, launch};
use functional::memory::AllocationKind;
use functional::module::Module;
use warp_stream::LaunchShape;

const PTX: &str = r"
.version 7.8
.target sm_70
.address_size 64

// Every thread updates the same six cells, each by a different operation.
.visible .entry contend(.param .b64 cells)
{
    .reg .b32   %x, %old, %new;
    .reg .b64   %cells, %wide;
    .reg .f32   %half;
    .reg .pred  %again;

    ld.param.b64 %cells, [cells];
    red.global.add.u32 [%cells], 1;
    mov.u64     %wide, 3;
    atom.global.add.u64 %wide, [%cells+8], %wide;
    mov.f32     %half, 0f3F000000;
    red.global.add.f32 [%cells+16], %half;
    mov.u32     %x, %tid.x;
    red.global.max.u32 [%cells+20], %x;
    red.global.inc.u32 [%cells+24], 0xffffffff;
    ld.volatile.global.u32 %old, [%cells+28];
RETRY:
    mov.u32     %x, %old;
    add.u32     %new, %x, 2;
    atom.global.cas.b32 %old, [%cells+28], %x, %new;
    setp.ne.u32 %again, %old, %x;
    @%again bra RETRY;
    ret;
}
";

#[test]
fn no_update_is_lost_between_host_threads() {
    let settings = Settings { threads: 4, ..Settings::default() };
    let device = Arc::new(Device::new(DeviceSpec::default(), settings).unwrap());
    let source = Arc::new(ptx_frontend::Module::parse(PTX, "contend.ptx").unwrap());
    let module = Module::load(&device, vec![source]).unwrap();
    let cells = device.memory.allocate(32, 256, AllocationKind::Device).unwrap();
    let config = LaunchConfig {
        shape: LaunchShape::new([256, 1, 1], [96, 1, 1]),
        parameters: cells.to_le_bytes().to_vec(),
        ..LaunchConfig::default()
    };
    launch(&device, &module.kernel("contend").unwrap(), config).unwrap();
    let mut bytes = [0; 32];
    device.memory.read(cells, &mut bytes).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let threads = 256 * 96;
    assert_eq!(word(0), threads);
    assert_eq!(word(8), 3 * threads);
    assert_eq!(f32::from_bits(word(16)), threads as f32 / 2.0);
    assert_eq!(word(20), 95);
    assert_eq!(word(24), threads);
    assert_eq!(word(28), 2 * threads);
}
