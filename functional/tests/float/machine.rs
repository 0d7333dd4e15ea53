//! One instruction, run over columns of operands.

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::launch::{LaunchConfig, launch};
use functional::memory::AllocationKind;
use functional::module::Module;

/// A register that an operand or result stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    B16,
    B32,
    B64,
    Predicate,
}

impl Register {
    /// Wide enough for a type of so many bits.
    pub fn of_bits(bits: u32) -> Register {
        match bits {
            8 | 16 => Register::B16,
            32 => Register::B32,
            64 => Register::B64,
            _ => panic!("no register of {bits} bits"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Register::B16 => "b16",
            Register::B32 => "b32",
            Register::B64 => "b64",
            Register::Predicate => "pred",
        }
    }
}

const THREADS: usize = 128;

/// The results of `mnemonic d, a, b, c` with the operands' bits from the columns, as many as there are.
pub fn run(mnemonic: &str, result: Register, operands: &[(Register, Vec<u64>)]) -> Vec<u64> {
    let count = operands[0].1.len();
    let rows = count.next_multiple_of(THREADS);
    let spec = DeviceSpec { memory_bytes: 1 << 30, ..DeviceSpec::default() };
    let device = Arc::new(Device::new(spec, Settings::default()).unwrap());
    let module =
        Arc::new(ptx_frontend::Module::parse(kernel(mnemonic, result, operands), "one.ptx").unwrap());
    let module = Module::load(&device, vec![module]).unwrap();
    let column = |values: &[u64]| {
        let address = device.memory.allocate(rows as u64 * 8, 256, AllocationKind::Device).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        device.memory.write(address, &bytes).unwrap();
        address
    };
    let output = column(&vec![0; rows]);
    let mut parameters = output.to_le_bytes().to_vec();
    for (_, values) in operands {
        assert_eq!(values.len(), count);
        parameters.extend(column(values).to_le_bytes());
    }
    let config = LaunchConfig {
        grid: [(rows / THREADS) as u32, 1, 1],
        block: [THREADS as u32, 1, 1],
        parameters,
        ..LaunchConfig::default()
    };
    launch(&device, &module.kernel("one").unwrap(), config).unwrap();
    let mut bytes = vec![0; count * 8];
    device.memory.read(output, &mut bytes).unwrap();
    bytes.chunks(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect()
}

/// A kernel in which each thread does the instruction on its row.
fn kernel(mnemonic: &str, result: Register, operands: &[(Register, Vec<u64>)]) -> String {
    let mut parameters = String::from(".param .u64 column_d");
    let mut declarations = format!(".reg .{} %d;", result.name());
    let mut loads = String::new();
    let mut arguments = String::from("%d");
    for (number, (register, _)) in operands.iter().enumerate() {
        let ty = register.name();
        parameters += &format!(", .param .u64 column_{number}");
        declarations += &format!(" .reg .{ty} %x{number};");
        loads += &format!(
            "ld.param.u64 %address, [column_{number}]; add.s64 %address, %address, %offset;
             ld.global.{ty} %x{number}, [%address];\n"
        );
        arguments += &format!(", %x{number}");
    }
    let store = match result {
        Register::Predicate => {
            "mov.u64 %truth, 0; @%d mov.u64 %truth, 1; st.global.b64 [%address], %truth;".to_owned()
        }
        _ => format!("st.global.{} [%address], %d;", result.name()),
    };
    format!(
        ".version 8.8 .target sm_100 .address_size 64
         .visible .entry one({parameters}) {{
            .reg .b32 %r<5>; .reg .b64 %address; .reg .b64 %offset; .reg .b64 %truth; {declarations}
            mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
            mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.s32 %offset, %r4, 8;
            {loads}
            {mnemonic} {arguments};
            ld.param.u64 %address, [column_d]; add.s64 %address, %address, %offset;
            {store} ret;
         }}"
    )
}
