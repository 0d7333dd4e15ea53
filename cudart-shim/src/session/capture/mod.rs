//! Captures launches for `voltsim replay` into the directory `VOLTSIM_CAPTURE`. A capture holds the
//! kernel's PTX, the arguments, and all memory reachable through pointers, textures and surfaces,
//! as of the launch's turn in its stream.
//!
//! `VOLTSIM_CAPTURE_ONLY` selects launches (`kernel=GLOB,launch=A..B`). `VOLTSIM_CAPTURE_RESULTS=1`
//! also saves the memory after each launch. The first failure is reported and ends capturing; the
//! program continues.

mod objects;

use crate::abi::error;
use crate::host::environment::options;
use crate::host::{log, output_files, present_call};
use crate::objects::fault::DeviceFault;
use crate::objects::module::LoadedModule;
use crate::profile::Profile;
use crate::session::kernel_stream;
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use functional::device::USUAL_HEAP;
use functional::engine::program::Program;
use functional::launch::LaunchConfig;
use functional::memory::{Allocation, AllocationKind, Memory};
use functional::texture::Table;
use launch_capture::{
    Accessible, Buffer, Capture, Error, FORMAT, Holder, Launch, Marks, Parameter, RESULTS, Ranges,
    ResultsWriter, Selection, Sink, Words, Writer,
};
use objects::Objects;
use ptx_frontend::ir::Space;
use saved_run::outputs::Outcome;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Settings from the environment.
struct Settings {
    folder: PathBuf,
    selection: Selection,
    results: bool,
}

/// State of captures.
pub(crate) struct Captures {
    settings: OnceLock<Option<Settings>>,
    /// Set after a failed capture, because later captures would fail too.
    given_up: AtomicBool,
}

impl Captures {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { settings: OnceLock::new(), given_up: AtomicBool::new(false) }
    }
}

/// Length limit for kernel names in directory names.
const NAME_LENGTH: usize = 60;

fn settings(session: &'static Session) -> Option<&'static Settings> {
    let read = || {
        let folder = options().capture.clone()?;
        let selection = options().capture_only.as_ref().map(|only| only.value.0.clone()).unwrap_or_default();
        let results = options().capture_results == Some(true);
        Some(Settings { folder, selection, results })
    };
    session.captures.settings.get_or_init(read).as_ref()
}

fn give_up(session: &'static Session, kernel: &str, error: &Error) {
    session.captures.given_up.store(true, Ordering::Relaxed);
    if let Some(settings) = settings(session) {
        output_files::note(Outcome::Failed, &settings.folder);
    }
    log::report(|| format!("capture of {kernel}: {error}; captures no further launches. {}", error.remedy()));
}

/// A launch selected for capture.
pub(crate) struct Order {
    /// Settings for a directory of its own, if selected.
    folder: Option<&'static Settings>,
    /// Set if the launch goes to the kernel stream.
    in_stream: bool,
    launch: u64,
    api_call: u64,
}

/// A captured launch that has not ended.
pub(crate) struct Captured {
    folder: Option<CapturedFolder>,
    in_stream: bool,
}

/// A captured launch whose directory lacks only the results.
struct CapturedFolder {
    capture: Capture,
    /// Buffers in the order of the capture.
    memory: Vec<Allocation>,
}

/// Tells whether launches are captured into directories.
pub(crate) fn is_wanted(session: &'static Session) -> bool {
    settings(session).is_some()
}

/// Tells whether NVTX ranges select launches.
pub(crate) fn needs_ranges(session: &'static Session) -> bool {
    settings(session).is_some_and(|settings| settings.selection.needs_ranges())
}

/// Decides at the API call whether to capture a launch.
pub(crate) fn order(session: &'static Session, kernel: &str, launch: u64, marks: &Marks) -> Option<Order> {
    let wants = |settings: &&Settings| {
        let chosen = session.selections.captured.note(settings.selection.contains(kernel, launch, marks));
        chosen && !session.captures.given_up.load(Ordering::Relaxed)
    };
    let folder = settings(session).filter(wants);
    let in_stream = kernel_stream::wants(session, kernel, launch, marks);
    (folder.is_some() || in_stream).then(|| Order {
        folder,
        in_stream,
        launch,
        api_call: present_call::calls(),
    })
}

impl Order {
    /// Saves the launch state before execution.
    pub(crate) fn before(
        &self,
        simulator: &Simulator,
        module: &LoadedModule,
        program: &Program,
        config: &LaunchConfig,
    ) -> Captured {
        let folder = self
            .folder
            .filter(|_| !simulator.session.captures.given_up.load(Ordering::Relaxed))
            .and_then(|settings| {
                let kernel = &program.kernel().name;
                let folder = format!("{:04}-{}", self.launch, file_name(kernel));
                let saved = Writer::new(&settings.folder.join(folder)).and_then(|mut writer| {
                    let (launch, memory) = self.save(simulator, module, program, config, &mut writer)?;
                    Ok(CapturedFolder { capture: writer.finish(launch)?, memory })
                });
                let saved = saved.map_err(|error| give_up(simulator.session, kernel, &error)).ok()?;
                log::line(|| format!("captured {kernel} in {}", saved.capture.path().display()));
                Some(saved)
            });
        if self.in_stream {
            let mut holder = Holder::default();
            match self.save(simulator, module, program, config, &mut holder) {
                Ok((launch, _)) => {
                    let mut held = holder.finish(launch);
                    held.accessible = Some(accessible(&simulator.device.memory.allocations()));
                    kernel_stream::begin(simulator.session, held);
                }
                Err(error) => kernel_stream::give_up(simulator.session, &error),
            }
        }
        Captured { folder, in_stream: self.in_stream }
    }

    /// Writes the reachable memory to the sink. Returns the manifest without it, and the memory.
    fn save(
        &self,
        simulator: &Simulator,
        module: &LoadedModule,
        program: &Program,
        config: &LaunchConfig,
        sink: &mut impl Sink,
    ) -> Result<(Launch, Vec<Allocation>), Error> {
        let memory = &simulator.device.memory;
        let kernel = &program.kernel().name;
        for source in module.sources_of(kernel) {
            sink.module(source.source().text())?;
        }
        let mut reach = Reach::new(memory, module, program, Objects::new(&config.textures));
        let parameters = parameters(program, config, &mut reach);
        let saved = reach.save(memory, sink)?;
        let Objects { images, textures, surfaces, .. } = reach.objects;
        let launch = Launch {
            format: FORMAT,
            voltsim: env!("CARGO_PKG_VERSION").to_owned(),
            program: std::env::current_exe().unwrap_or_default().to_string_lossy().into_owned(),
            launch: self.launch,
            api_call: self.api_call,
            device: Profile::chosen(),
            kernel: kernel.clone(),
            modules: Vec::new(),
            grid: config.shape.grid,
            block: config.shape.block,
            dynamic_shared: config.dynamic_shared,
            cooperative: config.cooperative,
            cluster: config.cluster.filter(|_| program.bounds.required_cluster.is_none()),
            parameter_bytes: program.parameter_bytes,
            heap_limit: Some(simulator.device.heap_limit()).filter(|limit| *limit != USUAL_HEAP),
            omitted: omitted(program, module, &config.textures),
            parameters,
            buffers: Vec::new(),
            images,
            textures,
            surfaces,
        };
        Ok((launch, saved))
    }
}

impl Captured {
    /// Saves the launch's results and outcome, if requested.
    pub(crate) fn after(self, simulator: &Simulator, outcome: &Result<(), DeviceFault>) {
        if self.in_stream && outcome.is_ok() {
            kernel_stream::end(simulator.session);
        }
        let Some(folder) = self.folder else { return };
        if settings(simulator.session).is_some_and(|settings| settings.results)
            && let Err(error) = folder.save(&simulator.device.memory, outcome)
        {
            give_up(simulator.session, &folder.capture.launch().kernel, &error);
        }
    }
}

impl CapturedFolder {
    fn save(&self, memory: &Memory, outcome: &Result<(), DeviceFault>) -> Result<(), Error> {
        let mut writer = ResultsWriter::new(&self.capture.path().join(RESULTS))?;
        let code = outcome.as_ref().err().map_or(0, |fault| fault.error.driver_code());
        if code == 0 {
            for allocation in &self.memory {
                writer.buffer(allocation.address, &contents(memory, allocation))?;
            }
        }
        let name = error::texts(code).and_then(|texts| texts.driver_name);
        writer.finish(&name.map_or_else(|| code.to_string(), |name| name.to_string_lossy().into_owned()))?;
        Ok(())
    }
}

/// Ranges that kernels can access. Host memory of the program is excluded: a replay has it at other
/// addresses.
fn accessible(allocations: &[Allocation]) -> Accessible {
    let mut accessible = Accessible::default();
    let mut mapped_until = None;
    for Allocation { address, size, kind, .. } in allocations.iter().copied().filter(|one| one.size > 0) {
        match kind {
            AllocationKind::Registered | AllocationKind::Parameters => continue,
            AllocationKind::Heap => accessible.heap.push((address, size)),
            _ => match accessible.ranges.last_mut() {
                Some(last) if kind.is_mapping() && mapped_until == Some(address) => last.1 += size,
                _ => accessible.ranges.push((address, size)),
            },
        }
        mapped_until = kind.is_mapping().then_some(address + size);
    }
    accessible
}

/// Memory reachable by a launch.
struct Reach {
    allocations: Vec<Allocation>,
    ranges: Ranges,
    /// Names of the module's variables, by address.
    variables: BTreeMap<u64, String>,
    /// Indices of the allocations found so far, in discovery order.
    reached: Vec<usize>,
    known: Vec<bool>,
    /// Texture and surface objects found so far.
    objects: Objects,
}

impl Reach {
    /// Starts from the variables that the program references.
    fn new(memory: &Memory, module: &LoadedModule, program: &Program, objects: Objects) -> Self {
        let allocations: Vec<_> =
            memory.allocations().into_iter().filter(|one| one.kind != AllocationKind::Parameters).collect();
        let ranges = Ranges::new(allocations.iter().map(|allocation| (allocation.address, allocation.size)));
        let variables = module.variables().map(|(name, variable)| (variable.address, name.to_owned()));
        let known = vec![false; allocations.len()];
        let variables = variables.collect();
        let mut reach = Self { allocations, ranges, variables, reached: Vec::new(), known, objects };
        for (name, address) in named_variables(program, module) {
            let texels = reach.objects.reach_reference(name, address);
            reach.add(texels.unwrap_or(address));
        }
        reach
    }

    fn add(&mut self, address: u64) {
        let found = self.ranges.find(address).map(|place| place.buffer);
        let is_new = |position: &usize| self.known.get(*position) == Some(&false);
        let Some(found) = found.filter(is_new) else { return };
        for position in self.mapped_beside(found) {
            if let Some(known) = self.known.get_mut(position)
                && !std::mem::replace(known, true)
            {
                self.reached.push(position);
            }
        }
    }

    /// An allocation with the adjacent mapped ones: one range to the program that mapped them.
    fn mapped_beside(&self, position: usize) -> RangeInclusive<usize> {
        let is_followed = |position: usize| {
            let [one, next] = [position, position + 1].map(|position| self.allocations.get(position));
            let (Some(one), Some(next)) = (one, next) else { return false };
            let are_mapped = one.kind.is_mapping() && next.kind.is_mapping();
            are_mapped && one.address.saturating_add(one.size) == next.address
        };
        let first = (0..position).rev().take_while(|one| is_followed(*one)).last();
        let last = (position..).find(|one| !is_followed(*one));
        first.unwrap_or(position)..=last.unwrap_or(position)
    }

    /// Finds the words of `bytes` that are addresses or object handles, and marks their targets as
    /// reachable.
    fn scan(&mut self, address: u64, bytes: &[u8]) -> (Words, Words) {
        let words = self.ranges.pointers(address, bytes);
        for word in words.offsets().filter_map(|offset| launch_capture::word_at(bytes, offset)) {
            self.add(word);
        }
        let mut objects = Words::default();
        for offset in (address.wrapping_neg() % 8..bytes.len() as u64).step_by(8) {
            let handle = launch_capture::word_at(bytes, offset).filter(|_| !words.cover(offset));
            if let Some(texels) = handle.and_then(|handle| self.objects.reach(handle)) {
                objects.push(offset);
                self.add(texels);
            }
        }
        (words, objects)
    }

    /// Writes all reachable memory, found transitively. Texels of arrays are not scanned for
    /// pointers.
    fn save(&mut self, memory: &Memory, sink: &mut impl Sink) -> Result<Vec<Allocation>, Error> {
        let mut saved = Vec::new();
        while let Some(allocation) =
            self.reached.get(saved.len()).and_then(|position| self.allocations.get(*position)).copied()
        {
            let bytes = contents(memory, &allocation);
            let mut buffer = Buffer::new(allocation.address, kind_name(allocation.kind));
            if allocation.kind != AllocationKind::Array {
                (buffer.pointers, buffer.objects) = self.scan(allocation.address, &bytes);
                buffer.functions = code_addresses(memory, allocation.address, &bytes);
                buffer.variable = self.variables.get(&allocation.address).cloned();
            }
            sink.buffer(buffer, bytes)?;
            saved.push(allocation);
        }
        Ok(saved)
    }
}

/// The module's variables that a program references, with their addresses.
fn named_variables<'a>(
    program: &'a Program,
    module: &'a LoadedModule,
) -> impl Iterator<Item = (&'a str, u64)> + 'a {
    let externals = program.functions.iter().flat_map(|function| &function.source.externals);
    externals.filter_map(|external| Some((external.name.as_str(), module.variable(&external.name)?.address)))
}

/// Reachable state that a capture lacks: sampler references, and variables without external
/// linkage.
fn omitted(program: &Program, module: &LoadedModule, table: &Table) -> Vec<String> {
    let is_sampler = |address| table.samplers.contains_key(&address);
    let samplers = named_variables(program, module).filter(|(_, address)| is_sampler(*address));
    let mut omitted: Vec<String> = samplers.map(|(name, _)| format!("sampler reference {name}")).collect();
    for source in program.functions.iter().map(|function| &function.source) {
        let is_static = |space| matches!(space, Space::Global | Space::Const);
        let statics = source.variables.iter().filter(|variable| is_static(variable.space));
        omitted.extend(statics.map(|variable| format!("variable {} of {}", variable.name, source.name)));
    }
    omitted
}

/// The arguments by parameter name. Their words are scanned for pointers.
fn parameters(program: &Program, config: &LaunchConfig, reach: &mut Reach) -> Vec<Parameter> {
    let declared = program.kernel().source.parameters.iter();
    declared
        .map(|parameter| {
            let from = parameter.offset as usize;
            let value = config.parameters.get(from..from.saturating_add(parameter.size as usize));
            let bytes = value.unwrap_or_default().to_vec();
            let (pointers, objects) = reach.scan(parameter.offset.into(), &bytes);
            Parameter { name: parameter.name.clone(), offset: parameter.offset, bytes, pointers, objects }
        })
        .collect()
}

/// The bytes of an allocation; zeros if it was freed meanwhile.
fn contents(memory: &Memory, allocation: &Allocation) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(allocation.size).unwrap_or(0)];
    let _ = memory.read(allocation.address, &mut bytes);
    bytes
}

/// Words that are addresses of device functions.
fn code_addresses(memory: &Memory, address: u64, bytes: &[u8]) -> Words {
    let mut words = Words::default();
    for offset in (address.wrapping_neg() % 8..bytes.len() as u64).step_by(8) {
        if launch_capture::word_at(bytes, offset).is_some_and(|word| memory.is_code_address(word)) {
            words.push(offset);
        }
    }
    words
}

fn kind_name(kind: AllocationKind) -> &'static str {
    match kind {
        AllocationKind::Device => "device",
        AllocationKind::Array => "array",
        AllocationKind::Managed => "managed",
        AllocationKind::Host => "host",
        AllocationKind::Registered => "registered",
        AllocationKind::Module => "module",
        AllocationKind::Heap => "heap",
        AllocationKind::Parameters => "parameters",
        AllocationKind::Mapped => "mapped",
        AllocationKind::MappedHost => "mapped host",
        AllocationKind::Imported => "imported",
    }
}

/// A shortened kernel name for a directory.
fn file_name(kernel: &str) -> String {
    let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    kernel.chars().take(NAME_LENGTH).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_mappings_are_accessible_as_one_range() {
        let kinds = [
            (0, 8, AllocationKind::Device),
            (8, 8, AllocationKind::Device),
            (16, 8, AllocationKind::Mapped),
            (24, 8, AllocationKind::MappedHost),
            (40, 8, AllocationKind::Mapped),
            (48, 0, AllocationKind::Host),
            (56, 8, AllocationKind::Registered),
            (64, 8, AllocationKind::Heap),
            (72, 8, AllocationKind::Parameters),
            (80, 8, AllocationKind::Module),
        ];
        let allocations = kinds.map(|(address, size, kind)| Allocation {
            address,
            size,
            reserved: size,
            kind,
            serial: 1,
            number: 1,
            idle: false,
        });
        let ranges = vec![(0, 8), (8, 8), (16, 16), (40, 8), (80, 8)];
        assert_eq!(accessible(&allocations), Accessible { ranges, heap: vec![(64, 8)] });
    }
}
