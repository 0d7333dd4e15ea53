//! Kernel launches: sizes are checked at the call, execution happens in stream order.

use crate::abi::Dim3;
use crate::abi::error::{Error, Result};
use crate::abi::launch_sizes::{Sizes, product};
use crate::host::environment::options;
use crate::host::log;
use crate::objects::fault::DeviceFault;
use crate::objects::module::Kernel;
use crate::objects::sass_only;
use crate::session::device_runtime::DeviceRuntime;
use crate::session::model::{self, Begun, Model, StopAt};
use crate::session::operation::Operation;
use crate::session::process::process;
use crate::session::simulator::Simulator;
use crate::session::{annotations, capture, recording, summary};
use functional::engine::program::Program;
use functional::fault::{Fault, FaultKind};
use functional::launch::{LaunchConfig, LaunchError, launch};
use functional::parameters::ParameterReads;
use functional::suspend::{
    ResumeError, SuspendError, SuspendedLaunch, UnfinishedLaunch, Window, launch_from, launch_until,
};
use functional::texture::Table;
use functional::timed::TimedError;
use ptx_frontend::analyse::ParametersRead;
use std::ffi::{CStr, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use stream_engine::{Context, StreamId};

/// Tags of `extra`, an array of tag and value pairs terminated by `END`.
const END: usize = 0;
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;
/// Most entries of `extra`.
const MAX_EXTRA: usize = 64;

/// A pointer to an array of pointers: kernel arguments, or tags and values.
pub(crate) type Pointers = *const *const c_void;

/// Location of a launch's arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arguments {
    /// An array of pointers to the arguments.
    Pointers(*const *const c_void),
    /// A parameter block.
    Block { start: *const u8, length: usize },
}

impl Arguments {
    /// From `kernelParams`, or from the parameter block in `extra`.
    pub(crate) fn new(kernel_params: Pointers, extra: Pointers) -> Result<Self> {
        match (kernel_params.is_null(), extra.is_null()) {
            (false, false) => Err(Error::InvalidValue),
            (_, true) => Ok(Self::Pointers(kernel_params)),
            (true, false) => described(extra),
        }
    }
}

fn described(extra: Pointers) -> Result<Arguments> {
    let (mut start, mut size) = (std::ptr::null::<u8>(), std::ptr::null::<usize>());
    for index in (0..MAX_EXTRA).step_by(2) {
        // SAFETY: by the API's contract the list ends with the end tag, and a value follows every
        // other tag.
        let tag = unsafe { extra.add(index).read_unaligned() } as usize;
        if tag == END {
            let length = if size.is_null() {
                0
            } else {
                // SAFETY: by the API's contract the value of this tag points to a size.
                unsafe { size.read_unaligned() }
            };
            return Ok(Arguments::Block { start, length });
        }
        // SAFETY: as above.
        let value = unsafe { extra.add(index + 1).read_unaligned() };
        match tag {
            BUFFER_POINTER => start = value.cast(),
            BUFFER_SIZE => size = value.cast(),
            _ => return Err(Error::InvalidValue),
        }
    }
    Err(Error::InvalidValue)
}

impl Dim3 {
    pub(crate) fn array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// Arguments laid out as the kernel declares them.
#[derive(Debug)]
pub(crate) struct ParameterBlock {
    bytes: Box<[u8]>,
    /// Addresses of the arguments in the block.
    pointers: Box<[usize]>,
}

impl ParameterBlock {
    fn new(program: &Program, arguments: Arguments) -> Result<Self> {
        let bytes = parameter_block(program, arguments)?.into_boxed_slice();
        let address = |offset: u32| bytes.as_ptr().wrapping_add(offset as usize) as usize;
        let parameters = &program.kernel().source.parameters;
        let pointers = parameters.iter().map(|parameter| address(parameter.offset)).collect();
        Ok(Self { bytes, pointers })
    }

    /// An array of pointers to the arguments, valid for the life of the block.
    pub(crate) fn pointers(&self) -> *const *const c_void {
        self.pointers.as_ptr().cast()
    }
}

/// Execution mode of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Functional only.
    Untimed,
    /// Functional, with effects on the timing model's caches.
    Warming,
    /// Timed by the model.
    Timed,
    /// Recorded instruction by instruction.
    Recorded,
}

/// Number and execution mode of a launch, assigned at the API call.
pub(crate) struct Ticket {
    /// Number of the launch in the process, from 1.
    pub(crate) number: u64,
    /// Execution mode.
    pub(crate) way: Way,
    /// Capture order, if the launch is saved for a replay.
    order: Option<capture::Order>,
}

impl Ticket {
    /// The ticket for the next launch, of this kernel.
    pub(crate) fn next(kernel: &CStr) -> Ticket {
        let number = numbered(process().launches.fetch_add(1, Ordering::Relaxed) + 1);
        let kernel = kernel.to_string_lossy();
        let marks = annotations::here();
        let recorded = || recording::wants(&kernel, number, &marks).then_some(Way::Recorded);
        let way = model::way(&kernel, number, &marks).or_else(recorded).unwrap_or(Way::Untimed);
        Ticket { number, way, order: capture::order(&kernel, number, &marks) }
    }
}

/// Number of the `count`-th launch. The option `launch_numbers` overrides it in replays, so that
/// launches keep the numbers of the original run.
fn numbered(count: u64) -> u64 {
    let mut left = count - 1;
    for run in options().launch_numbers.iter().flat_map(|numbers| &numbers.0) {
        let length = (run.end() + 1).saturating_sub(*run.start());
        if left < length {
            return run.start() + left;
        }
        left -= length;
    }
    count
}

/// Checkpoint data of a launch.
#[derive(Default)]
pub(crate) struct Resumption<'a> {
    /// State of a partly executed launch.
    pub(crate) begun: Option<&'a SuspendedLaunch>,
    /// Recorder for parameter reads.
    pub(crate) parameter_reads: Option<Arc<ParameterReads>>,
}

/// A checked launch with its arguments.
#[derive(Debug)]
pub(crate) struct KernelLaunch {
    /// The program's name for the kernel: stub address or handle.
    pub(crate) function: usize,
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) sizes: Sizes,
    pub(crate) parameters: Arc<ParameterBlock>,
    program: Arc<Program>,
    cluster: Option<[u32; 3]>,
    /// Dynamic shared memory in bytes.
    shared: u32,
    /// Reference bindings at the API call. The program may rebind references before the launch
    /// runs.
    textures: Arc<Table>,
}

impl KernelLaunch {
    /// Tells whether the grid is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.sizes.grid.array().contains(&0)
    }

    /// Runs the kernel.
    pub(crate) fn run(
        &self,
        simulator: &'static Simulator,
        context: &Context<DeviceFault>,
        Ticket { number, way, order }: Ticket,
        Resumption { begun, parameter_reads }: Resumption<'_>,
    ) -> std::result::Result<(), DeviceFault> {
        let mut config = LaunchConfig { parameter_reads, ..self.config(simulator) };
        if let Some(begun) = begun {
            // Bytes that the kernel does not read may differ.
            config.parameters = begun.parameters().to_vec();
        }
        let captured =
            order.map(|order| order.before(simulator, &self.kernel.module, &self.program, &config));
        let outcome = match begun {
            Some(begun) => simulator.go_on(&self.program, config, begun, (number, way), context),
            None => simulator.run(&self.program, config, (number, way), context),
        };
        if let Some(captured) = captured {
            captured.after(simulator, &outcome);
        }
        outcome.inspect_err(|fault| sass_only::note_launch_of(&self.kernel, fault.error))
    }

    /// Runs the kernel functionally up to a point inside it.
    pub(crate) fn begin(
        &self,
        simulator: &'static Simulator,
        window: &Window,
    ) -> std::result::Result<SuspendedLaunch, SuspendError<'static>> {
        launch_until(&simulator.device, &self.program, self.config(simulator), window)
    }

    /// Runs the kernel in the timing model up to a point inside it.
    pub(crate) fn begin_timed(
        &self,
        simulator: &'static Simulator,
        model: &Model,
        (number, at): (u64, StopAt),
        context: &Context<DeviceFault>,
    ) -> std::result::Result<Begun, DeviceFault> {
        let program = &self.program;
        let begun = model.launch_until(simulator, (program, self.config(simulator)), number, context, at)?;
        if let Begun::Over(statistics, _) = &begun {
            summary::add(&program.kernel().name, statistics);
        }
        Ok(begun)
    }

    /// Runs the rest of a kernel that could not be stopped.
    pub(crate) fn finish(
        &self,
        simulator: &Simulator,
        rest: UnfinishedLaunch<'_>,
    ) -> std::result::Result<(), DeviceFault> {
        let statistics = rest.finish().map_err(|error| simulator.launch_fault(&error))?;
        summary::add(&self.program.kernel().name, &statistics);
        Ok(())
    }

    /// The parameter block.
    pub(crate) fn parameters(&self) -> &[u8] {
        &self.parameters.bytes
    }

    /// The parameter bytes that the kernel reads according to its code.
    pub(crate) fn parameters_read(&self) -> &ParametersRead {
        self.kernel.parameters_read(&self.program)
    }

    fn config(&self, simulator: &'static Simulator) -> LaunchConfig {
        LaunchConfig {
            grid: self.sizes.grid.array(),
            block: self.sizes.block.array(),
            dynamic_shared: self.shared,
            parameters: self.parameters.bytes.to_vec(),
            cooperative: self.sizes.attributes.cooperative,
            cluster: self.cluster,
            textures: Arc::clone(&self.textures),
            runtime: Some(DeviceRuntime::of(simulator, &self.kernel.module)),
            launcher: None,
            depth: 0,
            deadline: None,
            simt_stack: false,
            parameter_reads: None,
        }
    }
}

/// Copies the arguments into a parameter block with the kernel's layout.
fn parameter_block(program: &Program, arguments: Arguments) -> Result<Vec<u8>> {
    let mut block = vec![0_u8; program.parameter_bytes as usize];
    match arguments {
        Arguments::Pointers(pointers) => {
            for (index, parameter) in program.kernel().source.parameters.iter().enumerate() {
                if pointers.is_null() {
                    return Err(Error::InvalidValue);
                }
                // SAFETY: by the API's contract there is one pointer per kernel parameter.
                let argument = unsafe { pointers.add(index).read_unaligned() };
                let end = (parameter.offset as usize).saturating_add(parameter.size as usize);
                let Some(target) = block.get_mut(parameter.offset as usize..end) else { continue };
                if argument.is_null() {
                    return Err(Error::InvalidValue);
                }
                // SAFETY: by the API's contract the pointer targets a value of the parameter's
                // type.
                unsafe { std::ptr::copy_nonoverlapping(argument.cast(), target.as_mut_ptr(), target.len()) };
            }
        }
        Arguments::Block { start, length } => {
            let ends = program.kernel().source.parameters.iter();
            let ends =
                ends.map(|parameter| (parameter.offset as usize).saturating_add(parameter.size as usize));
            // The buffer may be longer than the parameters but not shorter.
            if length < ends.max().unwrap_or(0) || start.is_null() && length > 0 {
                return Err(Error::InvalidValue);
            }
            let count = length.min(block.len());
            // SAFETY: by the API's contract the buffer has `length` bytes, and `count` is not
            // larger.
            unsafe { std::ptr::copy_nonoverlapping(start, block.as_mut_ptr(), count) };
        }
    }
    Ok(block)
}

impl Simulator {
    /// Launches a kernel in a stream. Invalid sizes are returned immediately, faults of the kernel
    /// by later calls.
    pub(crate) fn launch(
        &'static self,
        function: usize,
        kernel: Arc<Kernel>,
        sizes: Sizes,
        arguments: Arguments,
        stream: StreamId,
    ) -> Result<()> {
        self.engine.is_complete(stream_engine::Scope::Stream(stream))?;
        let launch = self.kernel_launch(function, kernel, sizes, arguments)?;
        if launch.is_empty() {
            return Err(Error::InvalidConfiguration);
        }
        log::line(|| {
            let name = launch.kernel.name.to_string_lossy();
            format!("kernel {name}: grid {:?}, CTA {:?}", sizes.grid, sizes.block)
        });
        self.enqueue(stream, Operation::Kernel(Arc::new(launch)))
    }

    /// Checks a launch. `function` is the program's name for the kernel. An empty grid is an error
    /// only at the launch itself, since graph nodes may get their sizes later.
    pub(crate) fn kernel_launch(
        &self,
        function: usize,
        kernel: Arc<Kernel>,
        sizes: Sizes,
        arguments: Arguments,
    ) -> Result<KernelLaunch> {
        let program = kernel.program().inspect_err(|error| sass_only::note_launch_of(&kernel, *error))?;
        // Placement follows the order of calls, which a resumed run repeats.
        kernel.module.place_code(&program);
        let cluster = if sizes.grid.array().contains(&0) {
            None
        } else {
            self.check_sizes(&kernel, &program, sizes)?;
            self.clusters(&kernel, &program.bounds, &sizes)?
        };
        let shared = u32::try_from(sizes.shared).map_err(|_| Error::InvalidValue)?;
        let parameters = Arc::new(ParameterBlock::new(&program, arguments)?);
        let textures = self.device.textures.snapshot();
        Ok(KernelLaunch { function, kernel, sizes, program, cluster, shared, parameters, textures })
    }

    /// The launch with other sizes, checked.
    pub(crate) fn resized_launch(&self, launch: &KernelLaunch, sizes: Sizes) -> Result<KernelLaunch> {
        let KernelLaunch { function, kernel, program, parameters, shared, textures, .. } = launch;
        self.check_sizes(kernel, program, sizes)?;
        let cluster = self.clusters(kernel, &program.bounds, &sizes)?;
        Ok(KernelLaunch {
            function: *function,
            kernel: Arc::clone(kernel),
            sizes,
            parameters: Arc::clone(parameters),
            program: Arc::clone(program),
            cluster,
            shared: *shared,
            textures: Arc::clone(textures),
        })
    }

    /// Checks the limits of the device and the kernel, with the runtime's error codes.
    fn check_sizes(&self, kernel: &Kernel, program: &Program, sizes: Sizes) -> Result<()> {
        let spec = &self.device.spec;
        let within = |size: [u32; 3], limits: [u32; 3]| {
            size.iter().zip(limits).all(|(extent, limit)| (1..=limit).contains(extent))
        };
        let threads = product(sizes.block.array());
        if !within(sizes.grid.array(), spec.grid_limits)
            || !within(sizes.block.array(), spec.cta_limits)
            || threads > u64::from(spec.threads_per_cta)
        {
            return Err(Error::InvalidConfiguration);
        }
        let bounds = &program.bounds;
        let too_many = bounds.maximum_threads.is_some_and(|bound| threads > product(bound));
        if too_many || bounds.required_threads.is_some_and(|required| required != sizes.block.array()) {
            return Err(Error::InvalidValue);
        }
        if sizes.shared as u64 > self.max_dynamic_shared(kernel, program.static_shared) {
            return Err(Error::InvalidValue);
        }
        if sizes.attributes.cooperative {
            let ctas = product(sizes.grid.array());
            let resident =
                u64::from(self.active_ctas(kernel, &*kernel.resources()?, threads as u32, sizes.shared));
            if ctas > resident.saturating_mul(spec.sms.into()) {
                return Err(Error::CooperativeLaunchTooLarge);
            }
        }
        Ok(())
    }

    fn run(
        &self,
        program: &Arc<Program>,
        config: LaunchConfig,
        (number, way): (u64, Way),
        context: &Context<DeviceFault>,
    ) -> std::result::Result<(), DeviceFault> {
        let _unfinished = summary::begin(&program.kernel().name);
        let statistics = match (way, &self.model) {
            (Way::Timed, Some(model)) => model.launch(self, program, config, None, number, context)?,
            (Way::Warming, Some(model)) => model.warm(self, program, config, number, context)?,
            (Way::Recorded, _) if !recording::has_given_up() => {
                recording::launch(self, program, config, number, context)?
            }
            _ => launch(&self.device, program, config).map_err(|error| self.launch_fault(&error))?,
        };
        summary::add(&program.kernel().name, &statistics);
        Ok(())
    }

    /// Runs the rest of a launch.
    fn go_on(
        &self,
        program: &Arc<Program>,
        config: LaunchConfig,
        begun: &SuspendedLaunch,
        (number, way): (u64, Way),
        context: &Context<DeviceFault>,
    ) -> std::result::Result<(), DeviceFault> {
        let _unfinished = summary::begin(&program.kernel().name);
        let statistics = match self.model.as_ref().filter(|_| way == Way::Timed) {
            Some(model) => model.launch(self, program, config, Some(begun), number, context)?,
            None => launch_from(&self.device, program, config, begun)
                .map_err(|error| self.resume_fault(&error))?,
        };
        summary::add(&program.kernel().name, &statistics);
        Ok(())
    }

    /// The sticky error of a launch that could not be resumed to its end.
    pub(crate) fn resume_fault(&self, error: &ResumeError) -> DeviceFault {
        if let ResumeError::Launch(error) = error {
            return self.launch_fault(error);
        }
        log::report(|| error.to_string());
        DeviceFault { device: self.ordinal, error: Error::Unknown }
    }

    /// The sticky error of a failed launch.
    pub(crate) fn launch_fault(&self, error: &LaunchError) -> DeviceFault {
        let code = match error {
            LaunchError::Configuration { .. } => Error::InvalidConfiguration,
            LaunchError::Resources { .. } => Error::LaunchOutOfResources,
            LaunchError::Memory(_) => Error::MemoryAllocation,
            LaunchError::Fault(fault) => {
                print_assertion(fault);
                fault_code(&fault.kind)
            }
            LaunchError::Overdue { .. } => Error::LaunchTimeout,
            LaunchError::Child(error) => return model::child_fault(self, &**error),
        };
        log::report(|| error.to_string());
        DeviceFault { device: self.ordinal, error: code }
    }

    /// The sticky error of a failed launch that was executed step by step; `code` is the driver's
    /// error code.
    pub(crate) fn timed_fault<E: std::fmt::Display>(
        &self,
        error: &TimedError<E>,
        code: impl FnOnce(&E) -> Error,
    ) -> DeviceFault {
        let code = match error {
            TimedError::Launch(error) => return self.launch_fault(error),
            TimedError::Unsupported { .. } => Error::NotSupported,
            TimedError::Drive(error) => code(error),
        };
        log::report(|| error.to_string());
        DeviceFault { device: self.ordinal, error: code }
    }
}

/// The sticky error code of a fault.
fn fault_code(kind: &FaultKind) -> Error {
    match kind {
        FaultKind::IllegalAddress { .. } | FaultKind::Unmapped { .. } => Error::IllegalAddress,
        FaultKind::MisalignedAddress { .. } => Error::MisalignedAddress,
        FaultKind::Trap { .. } | FaultKind::UnknownHandle { .. } | FaultKind::OutsideSurface { .. } => {
            Error::LaunchFailure
        }
        FaultKind::Assert { .. } => Error::Assert,
        FaultKind::StackOverflow { .. } => Error::HardwareStackError,
        FaultKind::InvalidTarget { .. } => Error::InvalidPc,
        FaultKind::Deadlock(_) | FaultKind::Timeout { .. } => Error::LaunchTimeout,
        FaultKind::Unsupported(_) => Error::IllegalInstruction,
    }
}

/// Prints CUDA's message for a failed `assert` in a kernel (programming guide, "Assertion").
fn print_assertion(fault: &Fault) {
    if let FaultKind::Assert { message, file, line, function, .. } = &fault.kind {
        let [x, y, z] = fault.cta;
        let [thread_x, thread_y, thread_z] = fault.thread.unwrap_or_default();
        eprintln!(
            "{file}:{line}: {function}: block: [{x},{y},{z}], thread: [{thread_x},{thread_y},{thread_z}] \
             Assertion `{message}` failed."
        );
    }
}
