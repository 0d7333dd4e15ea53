//! A loaded module: its variables in device memory, its kernels bound when they are first launched.
//!
//! Several PTX modules can be loaded as one; names are resolved among them (`-rdc=true`).

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use ptx_frontend::Module as PtxModule;
use ptx_frontend::ir::{self, Initial, Linkage, Space};
use ptx_frontend::isa::ScalarType;
use ptx_frontend::link::{LinkError, Program as LinkedProgram};
use ptx_frontend::parse::FunctionKind;

use crate::bind::{
    BindError, KernelResources, KnownFunctions, ModuleAddresses, SymbolAddress, bind, resources, static_name,
};
use crate::check::Origin;
use crate::device::Device;
use crate::engine::probe::Watcher;
use crate::engine::program::Program;
use crate::memory::{AllocationKind, MemoryError};
use crate::texture::sampler_of;

/// Constant memory for a program's variables, bytes (CUDA programming guide, technical specifications).
const CONSTANT_BYTES: u64 = 64 << 10;

/// Why a module could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// No room for its variables.
    #[error("variable `{name}`: {error}")]
    Memory {
        /// The variable.
        name: String,
        /// Why not.
        error: MemoryError,
    },
    /// More constant memory than a program has.
    #[error("constant variables take {bytes} bytes; there are {CONSTANT_BYTES}")]
    Constant {
        /// What they take together.
        bytes: u64,
    },
    /// The modules do not fit together.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A variable's first contents name something that no module defines.
    #[error("the first contents of `{name}` need `{symbol}`, which no loaded module defines")]
    Unresolved {
        /// The variable.
        name: String,
        /// The missing name.
        symbol: String,
    },
}

/// A variable in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadedVariable {
    /// Generic address.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Constant or global memory.
    pub space: Space,
    /// Type of its elements; a reference to a texture, surface or sampler is known by its own.
    pub ty: ScalarType,
}

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    device: Arc<Device>,
    program: LinkedProgram,
    /// All in device memory, managed ones too.
    variables: HashMap<String, LoadedVariable>,
    managed: Arc<ManagedVariables>,
    shared: HashMap<String, (u64, u32)>,
    state: Mutex<State>,
    /// Sizes of functions.
    known: KnownFunctions,
}

/// Managed variables: one piece of memory for all devices that load the same code. It is given back when the last module
/// that has them is gone.
#[derive(Debug)]
pub struct ManagedVariables {
    device: Arc<Device>,
    variables: HashMap<String, LoadedVariable>,
}

impl ManagedVariables {
    /// Is there one of this name?
    pub fn has(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// Generic addresses.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        self.variables.values().map(|variable| variable.address)
    }
}

impl Drop for ManagedVariables {
    fn drop(&mut self) {
        self.addresses().for_each(|address| free(&self.device, address));
    }
}

#[derive(Debug, Default)]
struct State {
    /// Addresses given to functions, by name.
    functions: HashMap<String, u64>,
    /// Variables declared inside functions, by [`static_name`].
    statics: HashMap<String, u64>,
    /// Where those in constant memory lie.
    constants: Vec<Range<u64>>,
    programs: HashMap<String, Result<Arc<Program>, BindError>>,
    /// Resources of kernels that were asked for.
    resources: HashMap<String, Result<Arc<KernelResources>, BindError>>,
}

/// The variables of a module whose code has been put away. Dropping it leaves them where they are, but for managed ones.
#[derive(Debug, Default)]
pub struct PlacedVariables {
    /// All, managed ones too.
    variables: HashMap<String, LoadedVariable>,
    managed: Option<Arc<ManagedVariables>>,
    /// Addresses that were given to functions, since variables may hold them.
    functions: HashMap<String, u64>,
}

impl PlacedVariables {
    /// The managed variables that another device has of the same code, and nothing of its own.
    pub fn shared(managed: Arc<ManagedVariables>) -> Self {
        Self { variables: managed.variables.clone(), managed: Some(managed), functions: HashMap::new() }
    }

    /// A variable in device memory.
    pub fn get(&self, name: &str) -> Option<LoadedVariable> {
        self.variables.get(name).copied()
    }

    /// Gives their memory back.
    pub fn free(self, device: &Device) {
        own(&self.variables, self.managed.as_deref()).for_each(|address| free(device, address));
    }
}

impl Module {
    /// Loads PTX modules as one.
    pub fn load(device: &Arc<Device>, sources: Vec<Arc<PtxModule>>) -> Result<Module, LoadError> {
        Module::load_around(device, sources, PlacedVariables::default())
    }

    /// Puts the code away, of which text is most, until [`Module::load_around`] is given it anew.
    pub fn into_variables(self) -> PlacedVariables {
        let Module { variables, managed, state, .. } = self;
        PlacedVariables { variables, managed: Some(managed), functions: state.into_inner().functions }
    }

    /// Loads PTX modules as one, with what is in device memory of them already.
    pub fn load_around(
        device: &Arc<Device>,
        sources: Vec<Arc<PtxModule>>,
        placed: PlacedVariables,
    ) -> Result<Module, LoadError> {
        let state = State { functions: placed.functions, ..State::default() };
        let mut module = Module {
            device: Arc::clone(device),
            program: LinkedProgram::link(sources)?,
            variables: placed.variables,
            managed: placed.managed.unwrap_or_else(|| {
                Arc::new(ManagedVariables { device: Arc::clone(device), variables: HashMap::new() })
            }),
            shared: HashMap::new(),
            state: Mutex::new(state),
            known: KnownFunctions::default(),
        };
        let mut fresh = Vec::new();
        let mut managed = HashMap::new();
        let constants = module.program.variables().iter().filter(|variable| variable.space == Space::Const);
        let bytes = constants.map(|variable| variable.size).fold(0, u64::saturating_add);
        if bytes > CONSTANT_BYTES {
            return Err(LoadError::Constant { bytes });
        }
        for variable in module.program.variables() {
            if variable.space == Space::Shared {
                let size = if variable.linkage == Linkage::Extern { 0 } else { variable.size };
                module.shared.insert(variable.name.clone(), (size, variable.align));
                continue;
            }
            if module.variables.contains_key(&variable.name) {
                continue;
            }
            let place = device.places.variable(&device.memory, &variable.name, variable.size);
            let address = place.map_or_else(|| allocate(device, variable), Ok)?;
            fresh.push((variable, address));
            let loaded =
                LoadedVariable { address, size: variable.size, space: variable.space, ty: variable.ty };
            module.variables.insert(variable.name.clone(), loaded);
            if variable.managed {
                managed.insert(variable.name.clone(), loaded);
            }
        }
        if !managed.is_empty() {
            module.managed = Arc::new(ManagedVariables { device: Arc::clone(device), variables: managed });
        }
        for (variable, address) in fresh {
            module.initialise(variable, address)?;
        }
        Ok(module)
    }

    fn initialise(&self, variable: &ir::Variable, address: u64) -> Result<(), LoadError> {
        if variable.ty == ScalarType::Samplerref {
            let sampler = sampler_of(&variable.initial);
            self.device.textures.change(|table| table.samplers.insert(address, sampler));
            return Ok(());
        }
        let memory = |error| LoadError::Memory { name: variable.name.clone(), error };
        for initial in &variable.initial {
            match initial {
                Initial::Bytes { offset, bytes } => {
                    self.device.memory.write(address + offset, bytes).map_err(memory)?;
                }
                Initial::Address { offset, symbol, addend, width, shift, .. } => {
                    let target = match self.symbol(symbol) {
                        Some(SymbolAddress::Global(target) | SymbolAddress::Function(target)) => target,
                        _ => {
                            return Err(LoadError::Unresolved {
                                name: variable.name.clone(),
                                symbol: symbol.clone(),
                            });
                        }
                    };
                    let value = target.wrapping_add_signed(*addend) >> shift;
                    let bytes = value.to_le_bytes();
                    let width = (*width as usize).min(bytes.len());
                    self.device.memory.write(address + offset, &bytes[..width]).map_err(memory)?;
                }
                // Of a texture or surface: what the program binds to it tells them.
                Initial::Property { .. } => {}
            }
        }
        Ok(())
    }

    /// Names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let kernels = self.program.functions().filter(|(_, kind)| *kind == FunctionKind::Kernel);
        kernels.map(|(name, _)| name)
    }

    /// A variable in device memory.
    pub fn variable(&self, name: &str) -> Option<LoadedVariable> {
        self.variables.get(name).copied()
    }

    /// Its managed variables.
    pub fn managed(&self) -> &Arc<ManagedVariables> {
        &self.managed
    }

    /// Names of the variables in device memory.
    pub fn variables(&self) -> impl Iterator<Item = (&str, LoadedVariable)> {
        self.variables.iter().map(|(name, variable)| (name.as_str(), *variable))
    }

    /// The PTX modules that a kernel needs: its own, which comes first, and those it was linked with if its own leaves
    /// something to them.
    pub fn sources_of(&self, kernel: &str) -> Vec<Arc<PtxModule>> {
        let Some(own) = self.program.module_of(kernel) else { return Vec::new() };
        let others = self.program.modules().iter().filter(|other| !Arc::ptr_eq(other, own));
        let elsewhere = self.program.needs_others(own);
        std::iter::once(own).chain(others.filter(|_| elsewhere)).cloned().collect()
    }

    /// Does some source define this kernel?
    pub fn has_kernel(&self, name: &str) -> bool {
        self.program.defines(name)
    }

    /// The kernel, bound at the first call; later calls get the same answer.
    pub fn kernel(&self, name: &str) -> Result<Arc<Program>, BindError> {
        if let Some(known) = self.state.lock().programs.get(name) {
            return known.clone();
        }
        let program = match self.function(name) {
            Some(function) => function.and_then(|function| bind(function, self)).map(Arc::new),
            None => Err(BindError::Unresolved { function: "the launch".to_owned(), symbol: name.to_owned() }),
        };
        let mut state = self.state.lock();
        state.programs.entry(name.to_owned()).or_insert(program).clone()
    }

    /// Memory and registers of a kernel, which is not bound for that; later calls get the same answer.
    pub fn resources(&self, name: &str) -> Result<Arc<KernelResources>, BindError> {
        if let Some(known) = self.state.lock().resources.get(name) {
            return known.clone();
        }
        let found = match self.function(name) {
            Some(function) => {
                function.and_then(|function| resources(&function, self, &self.known)).map(Arc::new)
            }
            None => Err(BindError::Unresolved { function: "the launch".to_owned(), symbol: name.to_owned() }),
        };
        let mut state = self.state.lock();
        state.resources.entry(name.to_owned()).or_insert(found).clone()
    }

    /// The kernel whose function has this address, as kernels name it in launches of their own.
    pub fn kernel_at(&self, address: u64) -> Option<Result<Arc<Program>, BindError>> {
        let known = |functions: &HashMap<String, u64>| {
            functions.iter().find(|(_, known)| **known == address).map(|(name, _)| name.clone())
        };
        let name = known(&self.state.lock().functions)?;
        self.is_kernel(&name).then(|| self.kernel(&name))
    }

    /// Gives machine code a place in memory, if it has none: that of a program, and of the kernels that it names, as it may launch
    /// them.
    pub fn place_code(&self, program: &Arc<Program>) {
        if !program.place_code() {
            return;
        }
        let externals = program.functions.iter().flat_map(|function| &function.source.externals);
        let kernels = externals.filter(|external| self.is_kernel(&external.name));
        // What cannot be bound is not launched.
        let bound = kernels.filter_map(|external| self.kernel(&external.name).ok());
        bound.for_each(|kernel| self.place_code(&kernel));
    }

    fn is_kernel(&self, name: &str) -> bool {
        self.program.kind(name) == Some(FunctionKind::Kernel)
    }

    /// Gives the module's memory back.
    pub fn unload(&self) {
        let statics: Vec<u64> = self.state.lock().statics.drain().map(|(_, address)| address).collect();
        own(&self.variables, Some(&self.managed))
            .chain(statics)
            .for_each(|address| free(&self.device, address));
    }

    fn place_statics(&self, function: &ir::Function) -> Result<(), BindError> {
        for variable in &function.variables {
            if !matches!(variable.space, Space::Global | Space::Const) {
                continue;
            }
            let name = static_name(function, variable);
            if self.state.lock().statics.contains_key(&name) {
                continue;
            }
            let failed = |error: LoadError| BindError::Frontend(format!("{}: {error}", function.name));
            let address = allocate(&self.device, variable).map_err(failed)?;
            self.initialise(variable, address).map_err(failed)?;
            let mut state = self.state.lock();
            state.statics.insert(name, address);
            if variable.space == Space::Const {
                state.constants.push(address..address.saturating_add(variable.size));
            }
        }
        Ok(())
    }
}

/// Addresses of variables that are not managed.
fn own<'a>(
    variables: &'a HashMap<String, LoadedVariable>,
    managed: Option<&'a ManagedVariables>,
) -> impl Iterator<Item = u64> + 'a {
    let is_managed = move |name: &str| managed.is_some_and(|managed| managed.has(name));
    variables.iter().filter(move |(name, _)| !is_managed(name)).map(|(_, variable)| variable.address)
}

fn free(device: &Device, address: u64) {
    device.textures.change(|table| table.remove(address));
    // Whoever freed a module's variable by hand has done this already.
    let _ = device.memory.free(address);
}

fn allocate(device: &Device, variable: &ir::Variable) -> Result<u64, LoadError> {
    let kind = if variable.managed { AllocationKind::Managed } else { AllocationKind::Module };
    let address = device
        .memory
        .allocate(variable.size, u64::from(variable.align.max(1)), kind)
        .map_err(|error| LoadError::Memory { name: variable.name.clone(), error })?;
    if let Some(checker) = device.checker() {
        checker.allocated(&device.memory, address, Origin::Variable(variable.name.clone()));
    }
    Ok(address)
}

impl ModuleAddresses for Module {
    fn symbol(&self, name: &str) -> Option<SymbolAddress> {
        if let Some(variable) = self.variables.get(name) {
            return Some(SymbolAddress::Global(variable.address));
        }
        if let Some(&(size, align)) = self.shared.get(name) {
            return Some(SymbolAddress::Shared { size, align });
        }
        let mut state = self.state.lock();
        if let Some(&address) = state.statics.get(name) {
            return Some(SymbolAddress::Global(address));
        }
        if let Some(&address) = state.functions.get(name) {
            return Some(SymbolAddress::Function(address));
        }
        if self.program.defines(name) {
            let address = self.device.memory.next_code_address();
            state.functions.insert(name.to_owned(), address);
            return Some(SymbolAddress::Function(address));
        }
        None
    }

    fn function(&self, name: &str) -> Option<Result<Arc<ir::Function>, BindError>> {
        let function = self.program.function(name)?;
        let function = function.map_err(|error| BindError::Frontend(error.to_string()));
        Some(function.and_then(|function| self.place_statics(&function).map(|()| function)))
    }

    fn text_of(&self, function: &str) -> Option<Arc<PtxModule>> {
        self.program.module_of(function).cloned()
    }

    fn device_functions(&self) -> Vec<String> {
        let device = self.program.functions().filter(|(_, kind)| *kind == FunctionKind::Device);
        let mut names: Vec<String> = device.map(|(name, _)| name.to_owned()).collect();
        // Where their code lies must not depend on the order of a map.
        names.sort_unstable();
        names
    }

    fn functions_in_variables(&self) -> HashSet<String> {
        let initial = self.program.variables().iter().flat_map(|variable| &variable.initial);
        let symbols = initial.filter_map(|initial| match initial {
            Initial::Address { symbol, .. } => Some(symbol.clone()),
            Initial::Bytes { .. } | Initial::Property { .. } => None,
        });
        symbols.collect()
    }

    fn constants(&self) -> Vec<Range<u64>> {
        let variables = self.program.variables().iter();
        let of_module = variables.filter(|variable| variable.space == Space::Const).filter_map(|variable| {
            let start = self.variables.get(&variable.name)?.address;
            Some(start..start.saturating_add(variable.size))
        });
        let mut constants: Vec<Range<u64>> = of_module.collect();
        constants.extend_from_slice(&self.state.lock().constants);
        constants.sort_unstable_by_key(|range| range.start);
        constants
    }

    fn shared_window(&self) -> u64 {
        self.device.memory.shared_window()
    }

    fn local_window(&self) -> u64 {
        self.device.memory.local_window()
    }

    fn contracts(&self) -> bool {
        self.device.settings.fmad
    }

    fn is_timed(&self) -> bool {
        self.device.settings.timed
    }

    fn watchers(&self) -> &[Arc<dyn Watcher>] {
        &self.device.watchers
    }
}
