//! Launches of the experiments.

use cuda_driver::{Driver, DriverError, Module, Sizes};
use warp_stream::LaunchShape;

use crate::failure::Failure;
use crate::libraries;

/// The kernels' text.
const KERNELS: &str = include_str!("kernels.ptx");

/// Elements of an array if nothing is said: three arrays are more than twice what any L2 that is
/// studied holds.
pub(super) const ELEMENTS: u32 = 1 << 20;

/// Elements that an array has at least: factors and product of `multiply`.
pub(super) const FEWEST: u32 = 256 * 256;

/// Strides that [`Workload::Strided`] launches, in this order.
pub(super) const STRIDES: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Kernels that are launched in a process of their own, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Workload {
    /// A warp that loads and stores words at each of [`STRIDES`].
    Strided,
    /// The steps of Khairy et al., Fig. 5: writes of `C[i]` and `C[i+1]`, reads of `C[i]`, `C[i]`
    /// and `C[i+1]`.
    WriteAndRead,
    /// Kernels that memory bounds, each in its own way.
    Memory,
    /// STREAM's triad, once to have the L2 as it always is, then with its loads through L1, then
    /// past it.
    Stream,
    /// Kernels that the SM bounds, and some that memory does.
    Core,
}

/// How many threads a kernel has.
#[derive(Clone, Copy)]
enum Threads {
    /// One for so many elements of an array.
    Of(u32),
    /// A fixed number.
    Fixed(u32),
}

/// Kernels that take three arrays.
const MEMORY: [(&str, Threads); 5] = [
    ("triad", Threads::Of(1)),
    ("gather", Threads::Of(16)),
    ("transpose", Threads::Of(16)),
    ("rows", Threads::Of(32)),
    ("stencil", Threads::Of(1)),
];
const CORE: [(&str, Threads); 5] = [
    ("long_code", Threads::Of(16)),
    ("multiply", Threads::Fixed(FEWEST)),
    ("stencil", Threads::Of(4)),
    ("rows", Threads::Of(32)),
    ("gather", Threads::Of(4)),
];

/// Threads of a CTA.
const BLOCK: u32 = 256;

impl Workload {
    /// Launches the kernels on the first device of our driver, with arrays of so many elements.
    pub(super) fn run(self, elements: u32) -> Result<(), Failure> {
        let failed = |error: DriverError| Failure::new(error);
        let driver = Driver::open(&libraries::folder()?.join("libcuda.so.1")).map_err(failed)?;
        let module = driver.load(&[KERNELS.to_owned()]).map_err(failed)?;
        let mut launcher = Launcher { driver: &driver, module, elements, arrays: [0; 3] };
        for array in &mut launcher.arrays {
            *array = driver.allocate(u64::from(elements) * 4).map_err(failed)?;
        }
        self.launch(&launcher).map_err(failed)
    }

    fn launch(self, launcher: &Launcher<'_>) -> Result<(), DriverError> {
        let [b, c, a] = launcher.arrays.map(Parameter::Address);
        match self {
            Workload::Strided => STRIDES.into_iter().try_for_each(|stride| {
                launcher.launch("strided", (1, 32), &[b, a, Parameter::Number(stride)])
            }),
            Workload::WriteAndRead => {
                for i in [0, 1] {
                    launcher.launch("write_word", (1, 1), &[c, Parameter::Number(i)])?;
                }
                for i in [0, 0, 1] {
                    launcher.launch("read_word", (1, 1), &[c, Parameter::Number(i), a])?;
                }
                Ok(())
            }
            Workload::Memory => launcher.each(&MEMORY),
            Workload::Core => launcher.each(&CORE),
            Workload::Stream => ["triad", "triad", "triad_past_l1"].into_iter().try_for_each(|kernel| {
                // As many CTAs as all SMs hold: each thread has several elements, on however many
                // SMs.
                launcher.launch(kernel, (640, BLOCK), &[b, c, a, Parameter::Number(launcher.elements)])
            }),
        }
    }
}

#[derive(Clone, Copy)]
enum Parameter {
    Address(u64),
    Number(u32),
}

struct Launcher<'a> {
    driver: &'a Driver,
    module: Module,
    /// Of each array.
    elements: u32,
    arrays: [u64; 3],
}

impl Launcher<'_> {
    /// Launches each kernel on the arrays.
    fn each(&self, kernels: &[(&str, Threads)]) -> Result<(), DriverError> {
        let [b, c, a] = self.arrays.map(Parameter::Address);
        kernels.iter().try_for_each(|&(kernel, threads)| {
            let threads = match threads {
                Threads::Of(elements) => self.elements / elements,
                Threads::Fixed(threads) => threads,
            };
            let sizes = (threads.div_ceil(BLOCK), BLOCK);
            self.launch(kernel, sizes, &[b, c, a, Parameter::Number(self.elements)])
        })
    }

    /// Launches a kernel of so many CTAs of so many threads, and waits for its end.
    fn launch(
        &self,
        kernel: &str,
        (grid, block): (u32, u32),
        parameters: &[Parameter],
    ) -> Result<(), DriverError> {
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        for parameter in parameters {
            if let Parameter::Address(_) = parameter {
                bytes.resize(bytes.len().next_multiple_of(8), 0);
            }
            offsets.push(bytes.len());
            match parameter {
                Parameter::Address(address) => bytes.extend(address.to_le_bytes()),
                Parameter::Number(number) => bytes.extend(number.to_le_bytes()),
            }
        }
        let sizes = Sizes::of(LaunchShape::new([grid, 1, 1], [block, 1, 1]));
        let function = self.driver.function(self.module, kernel)?;
        self.driver.launch(function, sizes, &mut bytes, &offsets)?;
        self.driver.synchronize()
    }
}
