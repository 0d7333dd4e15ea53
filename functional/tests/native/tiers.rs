//! Runs of one kernel in both tiers.

use std::sync::Arc;
use std::time::Duration;

use functional::device::{Device, DeviceSpec, Settings, Tier};
use functional::launch::{LaunchConfig, LaunchStatistics, launch};
use functional::memory::AllocationKind;
use functional::module::Module;
use warp_stream::LaunchShape;

/// Bytes of the buffer to which kernels write.
pub(crate) const RESULT_BYTES: usize = 1 << 16;

/// A kernel `test` with the parameters `%rd_in` and `%rd_out`, and its launch.
pub(crate) struct Case<'c> {
    /// Body, after the declarations of [`text`].
    pub(crate) body: &'c str,
    pub(crate) grid: u32,
    pub(crate) block: [u32; 3],
    /// Contents of the input buffer.
    pub(crate) input: Vec<u8>,
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) bytes: Vec<u8>,
    /// Counts, or the text of a fault.
    pub(crate) outcome: Result<LaunchStatistics, String>,
}

/// True on hosts with a native tier; tests on others hold trivially.
pub(crate) fn has_native() -> bool {
    functional::engine::native::is_supported()
}

fn text(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64
         .visible .entry test(.param .u64 in, .param .u64 out) {{
         .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<9>;
         .reg .f64 %fd<9>; .reg .b64 %rd_in, %rd_out; .reg .b32 %thread;
         .shared .align 16 .b8 tile[4096];
         ld.param.u64 %rd_in, [in]; ld.param.u64 %rd_out, [out];
         mov.u32 %r30, %tid.x; mov.u32 %r31, %ctaid.x; mov.u32 %r32, %ntid.x;
         mad.lo.u32 %thread, %r31, %r32, %r30;
         {body}
         ret; }}"
    )
}

/// Runs a case in a tier.
pub(crate) fn run(case: &Case<'_>, tier: Tier, watchdog: Option<Duration>) -> Run {
    run_again(case, tier, watchdog, 0)
}

/// Runs a case in a tier, after some launches of the same program.
fn run_again(case: &Case<'_>, tier: Tier, watchdog: Option<Duration>, before: u32) -> Run {
    let settings = Settings { threads: 1, tier, watchdog, ..Settings::default() };
    let spec = DeviceSpec { memory_bytes: 64 << 20, ..DeviceSpec::default() };
    let device = Arc::new(Device::new(spec, settings).unwrap());
    let ptx = Arc::new(ptx_frontend::Module::parse(text(case.body), "test.ptx").unwrap());
    let module = Module::load(&device, vec![ptx]).unwrap();
    let place = |bytes: &[u8]| {
        let address = device.memory.allocate(bytes.len() as u64, 256, AllocationKind::Device).unwrap();
        device.memory.write(address, bytes).unwrap();
        address
    };
    let (input, output) = (place(&case.input), place(&vec![0xaa; RESULT_BYTES]));
    let config = LaunchConfig {
        shape: LaunchShape::new([case.grid, 1, 1], case.block),
        parameters: [input, output].iter().flat_map(|address| address.to_le_bytes()).collect(),
        ..LaunchConfig::default()
    };
    let program = module.kernel("test").unwrap_or_else(|error| panic!("{error}\n{}", case.body));
    for _ in 0..before {
        launch(&device, &program, config.clone()).unwrap();
    }
    let outcome = launch(&device, &program, config).map_err(|error| relative(&error.to_string(), input));
    let mut bytes = vec![0; RESULT_BYTES];
    device.memory.read(output, &mut bytes).unwrap();
    Run { bytes, outcome }
}

/// The text with addresses of the device as distances from `base`: each device lies elsewhere.
fn relative(text: &str, base: u64) -> String {
    let mut parts = text.split("0x");
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(part.len());
        match u64::from_str_radix(&part[..end], 16) {
            Ok(address) if address >> 32 != 0 => {
                changed += &format!("base{:+}{}", address.wrapping_sub(base) as i64, &part[end..]);
            }
            _ => changed += &format!("0x{part}"),
        }
    }
    changed
}

#[test]
fn addresses_become_distances_wherever_they_stand() {
    let text = "address 0x200000000010, 0x1f000000fffc: 4 bytes at 0x10";
    assert_eq!(
        relative(text, 0x2000_0000_0000),
        format!("address base+16, base{}: 4 bytes at 0x10", 0x1f00_0000_fffc_i64 - 0x2000_0000_0000)
    );
}

/// Runs a case in both tiers and compares; returns the native run.
pub(crate) fn agree(case: &Case<'_>) -> Run {
    let interpreted = run(case, Tier::Interpreter, None);
    let native = run(case, Tier::Native, None);
    let what = case.body;
    match (&interpreted.outcome, &native.outcome) {
        (Ok(interpreted), Ok(native)) => {
            let counts = |run: &LaunchStatistics| (run.warp_instructions, run.lane_instructions);
            assert_eq!(counts(interpreted), counts(native), "counts of {what}");
            assert!(interpreted.native_instructions == 0 && native.native_instructions > 0, "{what}");
        }
        (interpreted, native) => {
            let text = |outcome: &Result<_, String>| outcome.as_ref().err().cloned();
            assert_eq!(text(interpreted), text(native), "{what}");
        }
    }
    let different = interpreted.bytes.iter().zip(&native.bytes).position(|(a, b)| a != b);
    if let Some(at) = different {
        let at = at & !7;
        let shown = |bytes: &[u8]| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        panic!(
            "byte {at}: interpreter {:#018x}, native {:#018x}, block {:?}\n{what}",
            shown(&interpreted.bytes),
            shown(&native.bytes),
            case.block
        );
    }
    native
}

#[test]
fn a_kernel_is_compiled_once_it_is_hot() {
    // 32 warps with 20,000 turns of three instructions each: more than a million in a launch.
    let body = "mov.u32 %r1, 0; LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 20000; @%p1 bra LOOP;";
    let case = Case { body, grid: 32, block: [32, 1, 1], input: vec![0; 16] };
    let native = |before| run_again(&case, Tier::Auto, None, before).outcome.unwrap().native_instructions;
    // A thread compiles beside the launches.
    assert_eq!([0, 10, 100, 1000].into_iter().any(|before| native(before) > 0), has_native());
    let cold = Case { body: "mov.u32 %r1, 0;", ..case };
    assert_eq!(run_again(&cold, Tier::Auto, None, 20).outcome.unwrap().native_instructions, 0);
}

/// Random numbers (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
