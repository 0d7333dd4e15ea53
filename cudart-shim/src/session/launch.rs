//! Kernel launches: sizes are checked at the call, execution happens in stream order.

use crate::abi::error::{Error, Result};
use crate::abi::launch_sizes::Sizes;
use crate::host::environment::options;
use crate::host::log;
use crate::objects::fault::DeviceFault;
use crate::objects::module::Kernel;
use crate::objects::sass_only;
use crate::session::device_runtime::DeviceRuntime;
use crate::session::model::{self, Begun, Model, StopAt};
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::session::{accesses, annotations, capture, recording, sanitizer_report, summary};
use crate::work::kernel_launch::{Arguments, KernelLaunch};
use crate::work::operation::Operation;
use functional::engine::program::Program;
use functional::fault::{Fault, FaultKind};
use functional::launch::{LaunchConfig, LaunchError, launch};
use functional::parameters::ParameterReads;
use functional::sanitizer::LaunchOrigin;
use functional::suspend::{
    ResumeError, SuspendError, SuspendedLaunch, UnfinishedLaunch, Window, launch_from, launch_until,
};
use functional::timed::TimedError;
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use stream_engine::{Context, StreamId};

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
    /// The launch as findings of the checks name it.
    origin: LaunchOrigin,
}

impl Ticket {
    /// The ticket for the next launch, of this kernel.
    pub(crate) fn next(session: &'static Session, kernel: &CStr) -> Ticket {
        let number = numbered(session.process().launches.fetch_add(1, Ordering::Relaxed) + 1);
        let kernel = kernel.to_string_lossy();
        let marks = annotations::here(session);
        let recorded = || recording::wants(session, &kernel, number, &marks).then_some(Way::Recorded);
        let way = model::way(session, &kernel, number, &marks).or_else(recorded).unwrap_or(Way::Untimed);
        let origin = sanitizer_report::origin_of(session, &kernel, number, &marks);
        Ticket { number, way, order: capture::order(session, &kernel, number, &marks), origin }
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

impl KernelLaunch {
    /// Runs the kernel.
    pub(crate) fn run(
        &self,
        simulator: &'static Simulator,
        context: &Context<DeviceFault>,
        Ticket { number, way, order, origin }: Ticket,
        Resumption { begun, parameter_reads }: Resumption<'_>,
    ) -> std::result::Result<(), DeviceFault> {
        let mut config = LaunchConfig { parameter_reads, origin, ..self.config(simulator) };
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
            summary::add(simulator.session, &program.kernel().name, statistics);
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
        summary::add(simulator.session, &self.program.kernel().name, &statistics);
        Ok(())
    }

    fn config(&self, simulator: &'static Simulator) -> LaunchConfig {
        LaunchConfig {
            shape: self.sizes.shape,
            dynamic_shared: self.shared,
            parameters: self.parameters().to_vec(),
            cooperative: self.sizes.attributes.cooperative,
            cluster: self.cluster,
            textures: Arc::clone(&self.textures),
            runtime: Some(DeviceRuntime::of(simulator, &self.kernel.module)),
            launcher: None,
            depth: 0,
            deadline: None,
            simt_stack: false,
            parameter_reads: None,
            origin: LaunchOrigin::default(),
        }
    }
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
            format!("kernel {name}: grid {:?}, CTA {:?}", sizes.grid(), sizes.block())
        });
        self.enqueue(stream, Operation::Kernel(Arc::new(launch)))
    }

    fn run(
        &self,
        program: &Arc<Program>,
        config: LaunchConfig,
        (number, way): (u64, Way),
        context: &Context<DeviceFault>,
    ) -> std::result::Result<(), DeviceFault> {
        let _unfinished = summary::begin(self.session, &program.kernel().name);
        let statistics = match (way, &self.model) {
            (Way::Timed, Some(model)) => model.launch(self, program, config, None, number, context)?,
            (Way::Warming, Some(model)) => model.warm(self, program, config, number, context)?,
            (Way::Recorded, _) if !recording::has_given_up(self.session) => {
                recording::launch(self, program, config, number, context)?
            }
            (Way::Untimed, _) if accesses::covers(self.session, program, &config) => {
                accesses::launch(self, program, config, number, context)?
            }
            _ => launch(&self.device, program, config).map_err(|error| self.launch_fault(&error))?,
        };
        summary::add(self.session, &program.kernel().name, &statistics);
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
        let _unfinished = summary::begin(self.session, &program.kernel().name);
        let statistics = match self.model.as_ref().filter(|_| way == Way::Timed) {
            Some(model) => model.launch(self, program, config, Some(begun), number, context)?,
            None => launch_from(&self.device, program, config, begun)
                .map_err(|error| self.resume_fault(&error))?,
        };
        summary::add(self.session, &program.kernel().name, &statistics);
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
            LaunchError::Native { .. } => Error::NotSupported,
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
        FaultKind::IllegalAddress { .. } | FaultKind::Unmapped { .. } | FaultKind::Protected { .. } => {
            Error::IllegalAddress
        }
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
