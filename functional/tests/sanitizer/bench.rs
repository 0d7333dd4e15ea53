//! A checked device with one kernel.

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::launch::{LaunchConfig, LaunchError, launch};
use functional::memory::AllocationKind;
use functional::module::Module;
use functional::sanitizer::{Checker, Finding, Origin, Reporter, Severity};
use warp_stream::LaunchShape;

/// First line of [`Bench::new`]'s code in the text.
pub const LINE_OF_CODE: u32 = 10;

/// A user who hears of nothing and suppresses nothing.
struct Silent;

impl Reporter for Silent {
    fn is_suppressed(&self, _: &Finding) -> bool {
        false
    }

    fn found(&self, _: &Finding, _: bool) {}
}

/// A device with checked kernels.
pub struct Bench {
    pub device: Arc<Device>,
    pub checker: Arc<Checker>,
    module: Module,
    calls: std::cell::Cell<u64>,
}

impl Bench {
    /// A kernel with this code under these checks. Registers `%rd1` and `%rd2` hold the parameters, `%r1`
    /// the thread, and `%r2` the CTA. `%r4` holds the thread in the grid, and `%rd4` the address of its
    /// word in the first buffer.
    pub fn new(checks: &str, code: &str) -> Bench {
        Bench::with_module(checks, "", code)
    }

    /// [`Bench::new`] in a module with these variables (on one line).
    pub fn with_module(checks: &str, variables: &str, code: &str) -> Bench {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"kernel.cu\"\n{variables}\n\
             .visible .entry test(.param .u64 first, .param .u64 second) {{ \
             .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<9>;\n\
             ld.param.u64 %rd1, [first]; ld.param.u64 %rd2, [second];\n\
             mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r4, %r2, %r3, %r1;\n\
             mul.wide.u32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3;\n{code}\nret; }}\n"
        );
        let checker = Arc::new(Checker::new(checks.parse().unwrap(), 100, Box::new(Silent)));
        let device = Device::new(DeviceSpec::default(), Settings { threads: 1, ..Settings::default() });
        let device = Arc::new(device.unwrap().checked_by(Arc::clone(&checker)));
        let ptx = Arc::new(ptx_frontend::Module::parse(text, "test.ptx").unwrap());
        let module = Module::load(&device, vec![ptx]).unwrap();
        Bench { device, checker, module, calls: std::cell::Cell::new(0) }
    }

    pub fn call(&self, name: &str) -> Origin {
        self.calls.set(self.calls.get() + 1);
        Origin::Call { name: name.to_owned(), number: self.calls.get() }
    }

    /// Allocates uninitialised memory.
    pub fn allocate(&self, bytes: u64) -> u64 {
        let address = self.device.memory.allocate(bytes, 256, AllocationKind::Device).unwrap();
        self.checker.allocated(&self.device.memory, address, self.call("cudaMalloc"), None);
        address
    }

    pub fn free(&self, address: u64) {
        self.device.memory.free(address).unwrap();
        self.checker.freed(address, self.call("cudaFree"));
    }

    /// Allocates memory zeroed by the host.
    pub fn zeros(&self, bytes: u64) -> u64 {
        let address = self.allocate(bytes);
        self.checker.written(address, bytes);
        address
    }

    pub fn launch(&self, grid: u32, block: u32, parameters: &[u64]) -> Result<(), LaunchError> {
        self.launch_as(false, grid, block, parameters)
    }

    pub fn launch_as(
        &self,
        cooperative: bool,
        grid: u32,
        block: u32,
        parameters: &[u64],
    ) -> Result<(), LaunchError> {
        self.launch_with(LaunchConfig { cooperative, ..LaunchConfig::default() }, grid, block, parameters)
    }

    /// Launches in clusters of `ctas` CTAs.
    pub fn launch_clusters(
        &self,
        ctas: u32,
        grid: u32,
        block: u32,
        parameters: &[u64],
    ) -> Result<(), LaunchError> {
        let config = LaunchConfig { cluster: Some([ctas, 1, 1]), ..LaunchConfig::default() };
        self.launch_with(config, grid, block, parameters)
    }

    pub fn launch_with(
        &self,
        config: LaunchConfig,
        grid: u32,
        block: u32,
        parameters: &[u64],
    ) -> Result<(), LaunchError> {
        let program = self.module.kernel("test").unwrap();
        let mut parameters = parameters.to_vec();
        parameters.resize(2, 0);
        let config = LaunchConfig {
            shape: LaunchShape::new([grid, 1, 1], [block, 1, 1]),
            parameters: parameters.iter().flat_map(|value| value.to_le_bytes()).collect(),
            ..config
        };
        launch(&self.device, &program, config).map(|_| ())
    }

    /// Findings so far.
    pub fn found(&self) -> Vec<Finding> {
        self.checker.findings().into_iter().map(|(finding, _)| finding).collect()
    }

    /// The only finding.
    pub fn only(&self) -> Finding {
        let mut found = self.found();
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    }

    /// Asserts that there are no findings.
    #[track_caller]
    pub fn nothing_found(&self) {
        let found: Vec<String> = self.found().iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

/// Asserts that the finding is an error whose text contains all `parts`.
#[track_caller]
pub fn assert_says(finding: &Finding, parts: &[&str]) {
    let text = finding.to_string();
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
    assert_eq!(finding.severity, Severity::Error, "{text}");
}
