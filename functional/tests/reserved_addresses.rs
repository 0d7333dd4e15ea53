//! Reserved addresses of module variables.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
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

.visible .global .align 8 .b64 table = 7;

.visible .entry outer(.param .b64 out)
{
    .reg .b64   %out, %address;
    ld.param.b64 %out, [out];
    mov.b64     %address, table;
    st.global.b64 [%out], %address;
    ret;
}

.visible .entry inner(.param .b64 out)
{
    .global .align 8 .b64 table;
    .reg .b64   %out, %address;
    ld.param.b64 %out, [out];
    mov.b64     %address, table;
    st.global.b64 [%out], %address;
    ret;
}
";

#[test]
fn only_module_variables_take_reserved_addresses() {
    let device = Arc::new(Device::new(DeviceSpec::default(), Settings::default()).unwrap());
    let there = device.memory.allocate(4096, 256, AllocationKind::Device).unwrap();
    device.places.set_variables(HashMap::from([("table".to_owned(), there + 512)]));
    let source = Arc::new(ptx_frontend::Module::parse(PTX, "places.ptx").unwrap());
    let module = Module::load(&device, vec![source]).unwrap();
    let word = |address| {
        let mut bytes = [0; 8];
        device.memory.read(address, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    };
    let address_in = |kernel| {
        let config = LaunchConfig {
            shape: LaunchShape::new([1; 3], [1; 3]),
            parameters: there.to_le_bytes().to_vec(),
            ..LaunchConfig::default()
        };
        launch(&device, &module.kernel(kernel).unwrap(), config).unwrap();
        word(there)
    };
    assert_eq!((address_in("outer"), word(there + 512)), (there + 512, 7));
    assert_ne!(address_in("inner"), there + 512);
}
