//! A loaded module. Variables are allocated in device memory at load; a kernel is bound at its first
//! launch.
//!
//! Several PTX modules can be loaded as one, with names resolved among them (`-rdc=true`).

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use ptx_frontend::Module as PtxModule;
use ptx_frontend::ir::{self, Initial, Linkage, Space};
use ptx_frontend::isa::ScalarType;
use ptx_frontend::link::{LinkError, Program as LinkedProgram};
use ptx_frontend::lower::Target;
use ptx_frontend::parse::FunctionKind;

use crate::assembled::{Assembled, AssembledKernels};
use crate::bind::{
    BindError, KernelResources, KnownFunctions, ModuleAddresses, SymbolAddress, bind, resources, static_name,
};
use crate::device::Device;
use crate::engine::probe::Watcher;
use crate::engine::program::Program;
use crate::memory::{AllocationKind, MemoryError};
use crate::sanitizer::Origin;
use crate::texture::sampler_of;

/// Bytes of constant memory of a program (CUDA programming guide, technical specifications).
const CONSTANT_BYTES: u64 = 64 << 10;

/// Reason for which a module could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// No device memory for a variable.
    #[error("variable `{name}`: {error}")]
    Memory {
        /// Variable.
        name: String,
        /// Cause.
        error: MemoryError,
    },
    /// Constant variables beyond the size of constant memory.
    #[error("constant variables take {bytes} bytes; the limit is {CONSTANT_BYTES}")]
    Constant {
        /// Bytes of all constant variables.
        bytes: u64,
    },
    /// The modules cannot be linked.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// An initializer names a symbol that no module defines.
    #[error("the initializer of `{name}` uses `{symbol}`, which no loaded module defines")]
    Unresolved {
        /// Variable.
        name: String,
        /// Missing symbol.
        symbol: String,
    },
}

/// A variable in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadedVariable {
    /// Generic address.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// Constant or global memory.
    pub space: Space,
    /// Element type; references to textures, surfaces and samplers have types of their own.
    pub ty: ScalarType,
}

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    device: Arc<Device>,
    program: LinkedProgram,
    /// All variables in device memory, including managed ones.
    variables: HashMap<String, LoadedVariable>,
    managed: Arc<ManagedVariables>,
    shared: HashMap<String, (u64, u32)>,
    state: Mutex<ModuleCache>,
    /// Cached sizes of functions.
    known: KnownFunctions,
    /// Resources of kernels that replace those of lowered code.
    assembled: Option<Box<dyn AssembledKernels>>,
}

/// Managed variables, shared by all devices that load the same code. The memory is freed with the last
/// module that uses it.
#[derive(Debug)]
pub struct ManagedVariables {
    device: Arc<Device>,
    variables: HashMap<String, LoadedVariable>,
}

impl ManagedVariables {
    /// True if a managed variable is called `name`.
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
struct ModuleCache {
    /// Allocated function addresses by name.
    functions: HashMap<String, u64>,
    /// Static variables declared in functions, by [`static_name`].
    statics: HashMap<String, u64>,
    /// Address ranges of constant variables.
    constants: Vec<Range<u64>>,
    programs: HashMap<String, Result<Arc<Program>, BindError>>,
    /// Cached resources of kernels.
    resources: HashMap<String, Result<Arc<KernelResources>, BindError>>,
}

/// Variables of a module whose code was discarded. Dropping this value keeps all but managed variables
/// allocated.
#[derive(Debug, Default)]
pub struct PlacedVariables {
    /// All variables, including managed ones.
    variables: HashMap<String, LoadedVariable>,
    managed: Option<Arc<ManagedVariables>>,
    /// Allocated function addresses, which variables may hold.
    functions: HashMap<String, u64>,
}

impl PlacedVariables {
    /// The managed variables of another device with the same code, and no others.
    pub fn shared(managed: Arc<ManagedVariables>) -> Self {
        Self { variables: managed.variables.clone(), managed: Some(managed), functions: HashMap::new() }
    }

    /// A variable in device memory.
    pub fn get(&self, name: &str) -> Option<LoadedVariable> {
        self.variables.get(name).copied()
    }

    /// Frees the variables.
    pub fn free(self, device: &Device) {
        own(&self.variables, self.managed.as_deref()).for_each(|address| free(device, address));
    }
}

impl Module {
    /// Loads PTX modules as one.
    pub fn load(device: &Arc<Device>, sources: Vec<Arc<PtxModule>>) -> Result<Module, LoadError> {
        Module::load_around(device, sources, PlacedVariables::default())
    }

    /// The module with resources of kernels that replace those of lowered code.
    pub fn with_assembled(self, assembled: Box<dyn AssembledKernels>) -> Module {
        Module { assembled: Some(assembled), ..self }
    }

    /// Resources of a kernel that replace those of its lowered code.
    pub fn assembled(&self, kernel: &str) -> Option<Assembled> {
        self.assembled.as_ref()?.of(kernel)
    }

    /// Discards the code, mostly text, until [`Module::load_around`] supplies the code again.
    pub fn into_variables(self) -> PlacedVariables {
        let Module { variables, managed, state, .. } = self;
        PlacedVariables { variables, managed: Some(managed), functions: state.into_inner().functions }
    }

    /// Loads PTX modules as one, around variables that are already in device memory.
    pub fn load_around(
        device: &Arc<Device>,
        sources: Vec<Arc<PtxModule>>,
        placed: PlacedVariables,
    ) -> Result<Module, LoadError> {
        let state = ModuleCache { functions: placed.functions, ..ModuleCache::default() };
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
            assembled: None,
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
                // Properties of a texture or surface come from its binding.
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

    /// Managed variables of the module.
    pub fn managed(&self) -> &Arc<ManagedVariables> {
        &self.managed
    }

    /// Names of the variables in device memory.
    pub fn variables(&self) -> impl Iterator<Item = (&str, LoadedVariable)> {
        self.variables.iter().map(|(name, variable)| (name.as_str(), *variable))
    }

    /// PTX modules that a kernel needs: its own first, then the linked modules if its own has unresolved
    /// symbols.
    pub fn sources_of(&self, kernel: &str) -> Vec<Arc<PtxModule>> {
        let Some(own) = self.program.module_of(kernel) else { return Vec::new() };
        let others = self.program.modules().iter().filter(|other| !Arc::ptr_eq(other, own));
        let elsewhere = self.program.needs_others(own);
        std::iter::once(own).chain(others.filter(|_| elsewhere)).cloned().collect()
    }

    /// True if a source defines this kernel.
    pub fn has_kernel(&self, name: &str) -> bool {
        self.program.defines(name)
    }

    /// The kernel, bound at the first call.
    pub fn kernel(&self, name: &str) -> Result<Arc<Program>, BindError> {
        if let Some(known) = self.state.lock().programs.get(name) {
            return known.clone();
        }
        let program = match self.function(name) {
            Some(function) => function.and_then(|function| bind(function, self)).map(|program| {
                // Only a timing model asks for resources.
                let assembled = program.machine.as_ref().and_then(|_| self.assembled(name));
                Arc::new(Program { assembled, ..program })
            }),
            None => Err(BindError::Unresolved { function: "the launch".to_owned(), symbol: name.to_owned() }),
        };
        let mut state = self.state.lock();
        state.programs.entry(name.to_owned()).or_insert(program).clone()
    }

    /// Memory and registers of a kernel, computed at the first call without binding the kernel.
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

    /// The kernel at a function address, as device-side launches name it.
    pub fn kernel_at(&self, address: u64) -> Option<Result<Arc<Program>, BindError>> {
        let known = |functions: &HashMap<String, u64>| {
            functions.iter().find(|(_, known)| **known == address).map(|(name, _)| name.clone())
        };
        let name = known(&self.state.lock().functions)?;
        self.is_kernel(&name).then(|| self.kernel(&name))
    }

    /// Allocates addresses for the machine code of a program and of the kernels that it may launch.
    pub fn place_code(&self, program: &Arc<Program>) {
        if !program.place_code(&self.device.memory) {
            return;
        }
        let externals = program.functions.iter().flat_map(|function| &function.source.externals);
        let kernels = externals.filter(|external| self.is_kernel(&external.name));
        // A kernel that cannot be bound is never launched.
        let bound = kernels.filter_map(|external| self.kernel(&external.name).ok());
        bound.for_each(|kernel| self.place_code(&kernel));
    }

    fn is_kernel(&self, name: &str) -> bool {
        self.program.kind(name) == Some(FunctionKind::Kernel)
    }

    /// Frees the module's memory.
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

/// Addresses of the unmanaged variables.
fn own<'a>(
    variables: &'a HashMap<String, LoadedVariable>,
    managed: Option<&'a ManagedVariables>,
) -> impl Iterator<Item = u64> + 'a {
    let is_managed = move |name: &str| managed.is_some_and(|managed| managed.has(name));
    variables.iter().filter(move |(name, _)| !is_managed(name)).map(|(_, variable)| variable.address)
}

fn free(device: &Device, address: u64) {
    device.textures.change(|table| table.remove(address));
    // The program may already have freed the variable.
    let _ = device.memory.free(address);
}

fn allocate(device: &Device, variable: &ir::Variable) -> Result<u64, LoadError> {
    let kind = if variable.managed { AllocationKind::Managed } else { AllocationKind::Module };
    let address = device
        .memory
        .allocate(variable.size, u64::from(variable.align.max(1)), kind)
        .map_err(|error| LoadError::Memory { name: variable.name.clone(), error })?;
    if let Some(checker) = device.checker() {
        let origin = Origin::Variable(variable.name.clone());
        checker.allocated(&device.memory, address, origin, None);
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
        // The order of code addresses must not depend on the order of a map.
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

    fn target(&self) -> Target {
        self.device.settings.target
    }

    fn watchers(&self) -> &[Arc<dyn Watcher>] {
        &self.device.watchers
    }
}
