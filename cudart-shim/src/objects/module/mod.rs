//! Loaded modules and their kernels. Registered fat binaries load at first use, other modules when
//! the program loads them.

mod kernel;

use crate::abi::error::{Error, Result};
use crate::abi::handle::DEVICE_SHIFT;
use crate::abi::{FunctionHandle, LibraryHandle, ModuleHandle};
use crate::code::image::{Code, ImageError, MachineCode};
use crate::code::registry::{FatBinaryHandle, Kind, Registered, registry};
use crate::host::log;
use crate::host::mapped::file_at;
use crate::objects::device::DeviceObjects;
use crate::objects::known_resources::KnownResources;
use crate::objects::lazy_modules::Deferred;
use crate::objects::ownership::{self, Object};
use crate::objects::sass_only;
use crate::profile::visible_devices;
use crate::profile::{fitting, modelled_capability};
use functional::assembled::Assembled;
use functional::bind::BindError;
use functional::engine::program::Program;
use functional::module::{LoadError, LoadedVariable, ManagedVariables, Module, PlacedVariables};
use ptx_frontend::Module as PtxModule;
use ptx_frontend::container::Architecture;
use ptx_frontend::ir::Space;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::sync::{Arc, OnceLock};

pub(crate) use kernel::{Kernel, KernelSettings};

/// Handle values lie outside the address space of any process.
const MODULES: usize = 0x5400_0000_0000_0000;
const FUNCTIONS: usize = 0x5500_0000_0000_0000;

/// A module in device memory.
#[derive(Debug)]
pub(crate) struct LoadedModule {
    module: Module,
    /// Kernels with machine code.
    machine_code: MachineCode,
    /// Ten times the target compute capability of its PTX; 0 if unspecified.
    pub(crate) target: u32,
    /// Register limit per thread, if the program set one.
    pub(crate) max_registers: Option<u32>,
    /// Size in bytes of its constant variables.
    pub(crate) constant_bytes: u64,
}

type Registration = Arc<OnceLock<Result<Arc<LoadedModule>>>>;
type LoadedLibrary = Arc<OnceLock<Result<ModuleHandle>>>;

/// All modules of a device.
#[derive(Default)]
pub(crate) struct Modules {
    registered: FxHashMap<FatBinaryHandle, Registration>,
    /// Kernels by the host address of their stub.
    by_stub: FxHashMap<usize, Arc<Kernel>>,
    /// Modules of the libraries in use on this device.
    libraries: FxHashMap<LibraryHandle, LoadedLibrary>,
    loaded: FxHashMap<ModuleHandle, Arc<LoadedModule>>,
    kernels: FxHashMap<FunctionHandle, Arc<Kernel>>,
    /// Cache of name lookups in loaded modules.
    by_name: FxHashMap<(usize, CString), Arc<Kernel>>,
    pub(crate) deferred: Deferred,
    created: usize,
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        self.module.unload();
    }
}

impl LoadedModule {
    /// Loads code into device memory.
    pub(crate) fn load(simulator: &DeviceObjects, code: Code) -> Result<Self> {
        Self::load_around(simulator, code, PlacedVariables::default())
    }

    /// Loads code whose variables are already in device memory.
    pub(crate) fn load_around(
        simulator: &DeviceObjects,
        code: Code,
        placed: PlacedVariables,
    ) -> Result<Self> {
        let Code { max_registers, .. } = code;
        let target = code.modules.first().map_or(0, |module| {
            let text = module.outline().target.map_or("", |span| span.of(module.source().text()));
            let digits = text.trim_start_matches(|character: char| !character.is_ascii_digit());
            let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
            digits.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(0)
        });
        warn_of_target(simulator, target, code.machine_code.place());
        let capability = modelled_capability().unwrap_or_else(|| simulator.capability());
        let known = KnownResources::new(code.machine_code.clone(), capability, simulator.shared);
        let module = place(simulator, code.modules, placed)?.with_assembled(Box::new(known));
        let constants = module
            .variables()
            .map(|(_, variable)| variable)
            .filter(|variable| variable.space == Space::Const);
        let constant_bytes = constants.map(|variable| variable.size).sum();
        Ok(Self { module, machine_code: code.machine_code, target, max_registers, constant_bytes })
    }

    /// The kernel whose function has this address, as device-side launches name it.
    pub(crate) fn kernel_at(&self, address: u64) -> Option<std::result::Result<Arc<Program>, BindError>> {
        self.module.kernel_at(address)
    }

    /// Assigns memory to the machine code of a program and of the kernels that it may launch.
    pub(crate) fn place_code(&self, program: &Arc<Program>) {
        self.module.place_code(program);
    }

    /// Resources of a kernel that replace those of its lowered code.
    pub(crate) fn assembled(&self, kernel: &str) -> Option<Assembled> {
        self.module.assembled(kernel)
    }

    /// Tells whether the module has PTX for this kernel.
    pub(crate) fn has_kernel(&self, name: &str) -> bool {
        self.module.has_kernel(name)
    }

    /// Rejects a kernel that the module has neither as PTX nor as machine code.
    pub(crate) fn check_kernel(&self, name: &str) -> Result<()> {
        let exists = self.has_kernel(name) || !self.architectures(name).is_empty();
        if exists { Ok(()) } else { Err(Error::InvalidDeviceFunction) }
    }

    /// Rejects a kernel without PTX and reports the reason.
    fn check_executable(&self, name: &str) -> Result<()> {
        if self.has_kernel(name) {
            return Ok(());
        }
        let architectures = self.architectures(name);
        if architectures.is_empty() {
            return Err(Error::InvalidDeviceFunction);
        }
        let list: Vec<_> = architectures.iter().map(ToString::to_string).collect();
        let place = self.place().map_or_else(String::new, |place| format!(" of {place}"));
        let what = format!(
            "kernel {name}{place} exists only as machine code for {}; Voltsim executes PTX only",
            list.join(", ")
        );
        Err(sass_only::report(&what, sass_only::MACHINE_CODE, Error::NoKernelImageForDevice))
    }

    /// The file of the module's code, if it is in a file.
    fn place(&self) -> Option<String> {
        self.machine_code.place()
    }

    /// The mapped file that contains the code; `None` for an image that the program built or read
    /// itself.
    pub(crate) fn holder(&self) -> Option<String> {
        self.machine_code.holder()
    }

    /// The architectures with machine code for a kernel.
    fn architectures(&self, name: &str) -> BTreeSet<Architecture> {
        // SAFETY: the module's fat binary is registered while its kernels are looked up.
        unsafe { self.machine_code.architectures(name) }
    }

    /// Names of all kernels.
    pub(crate) fn kernel_names(&self) -> Vec<CString> {
        self.module.kernels().filter_map(|name| CString::new(name).ok()).collect()
    }

    /// A variable in device memory.
    pub(crate) fn variable(&self, name: &str) -> Option<LoadedVariable> {
        self.module.variable(name)
    }

    /// Rejects a name other than that of a managed variable.
    pub(crate) fn check_managed(&self, name: &CStr) -> Result<()> {
        let is_managed = name.to_str().is_ok_and(|name| self.module.managed().has(name));
        if is_managed { Ok(()) } else { Err(Error::SymbolNotFound) }
    }

    /// All variables in device memory, by name.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, LoadedVariable)> {
        self.module.variables()
    }

    /// The PTX that a kernel needs, its own source first.
    pub(crate) fn sources_of(&self, kernel: &str) -> Vec<Arc<PtxModule>> {
        self.module.sources_of(kernel)
    }
}

/// First target that causes a warning on an older device. CUDA 13 compiles for `sm_75` at the
/// earliest, which adds hardly any instruction to 7.0.
const FIRST_WARNED: u32 = 80;

/// Warns once per target that its PTX is for a newer device.
fn warn_of_target(simulator: &DeviceObjects, target: u32, place: Option<String>) {
    let capability = simulator.capability();
    if target < FIRST_WARNED || target <= capability || !simulator.shared.told_targets.lock().insert(target) {
        return;
    }
    log::report(|| {
        let place = place.as_deref().map_or_else(String::new, |place| format!(" of {place}"));
        let device = format!("{} ({}.{})", simulator.profile.name, capability / 10, capability % 10);
        let fitting = fitting(target).map_or_else(String::new, |name| format!("--device {name}, or "));
        format!(
            "PTX{place} targets sm_{target}, but the device is {device}. A real driver rejects it, and instructions \
             may be missing; remedy: voltsim run {fitting}--device auto"
        )
    });
}

/// Links PTX modules into one program around the variables already in device memory.
pub(crate) fn place(
    simulator: &DeviceObjects,
    sources: Vec<Arc<PtxModule>>,
    placed: PlacedVariables,
) -> Result<Module> {
    for problem in sources.iter().flat_map(|source| source.problems()) {
        log::report(|| problem.to_string());
    }
    Module::load_around(&simulator.device, sources, placed).map_err(|error| {
        log::report(|| format!("cannot load a module: {error}"));
        match error {
            LoadError::Memory { .. } => Error::MemoryAllocation,
            LoadError::Link(_) | LoadError::Constant { .. } => Error::InvalidPtx,
            LoadError::Unresolved { .. } => Error::SharedObjectSymbolNotFound,
        }
    })
}

/// Reports an unusable image.
pub(crate) fn image_error(error: &ImageError) -> Error {
    if let ImageError::MachineCodeOnly(_) = error {
        let what = format!("{error}; Voltsim executes PTX only");
        return sass_only::report(&what, sass_only::MACHINE_CODE, error.into());
    }
    log::report(|| error.to_string());
    error.into()
}

impl DeviceObjects {
    /// Ten times the compute capability.
    pub(crate) fn capability(&self) -> u32 {
        self.profile.capability()
    }

    /// The module of a registered fat binary, loaded at the first call.
    pub(crate) fn registered_module(&self, fat_binary: FatBinaryHandle) -> Result<Arc<LoadedModule>> {
        let registration = Arc::clone(self.modules.lock().registered.entry(fat_binary).or_default());
        registration.get_or_init(|| self.load_registered(fat_binary)).clone()
    }

    fn load_registered(&self, fat_binary: FatBinaryHandle) -> Result<Arc<LoadedModule>> {
        let wrapper = registry().lock().wrapper(fat_binary)?;
        // SAFETY: the fat binary is registered.
        let code = unsafe { Code::of_registered(wrapper, self.capability()) };
        let code = code.map_err(|error| image_error(&error))?;
        let module =
            self.load_for_all(code, |modules| modules.registered.get(&fat_binary)?.get()?.clone().ok())?;
        self.set_managed_pointers(fat_binary, &module);
        Ok(module)
    }

    /// Loads code that other devices may load too. Managed variables belong to the device that
    /// loaded the code first; `same` finds its module.
    fn load_for_all(
        &self,
        code: Code,
        same: impl Fn(&Modules) -> Option<Arc<LoadedModule>>,
    ) -> Result<Arc<LoadedModule>> {
        let _one_at_a_time = (visible_devices::count() > 1).then(|| self.shared.loading.lock());
        let others = self.shared.started().filter(|other| other.ordinal != self.ordinal);
        let first = others.into_iter().find_map(|other| same(&other.modules.lock()));
        let managed = first.map(|module| PlacedVariables::shared(Arc::clone(module.module.managed())));
        LoadedModule::load_around(self, code, managed.unwrap_or_default()).map(Arc::new)
    }

    /// Stores the addresses of a fat binary's managed variables where the host code reads them.
    fn set_managed_pointers(&self, fat_binary: FatBinaryHandle, module: &LoadedModule) {
        let registry = registry().lock();
        for place in registry.addresses_of(fat_binary, |kind| matches!(kind, Kind::ManagedVariable { .. })) {
            let Some(found) = registry.find(place) else { continue };
            let Some(variable) = module.variable(&found.name) else { continue };
            // SAFETY: the stub registered the address of a pointer variable in the program.
            unsafe { (place as *mut usize).write_unaligned(variable.address as usize) };
        }
    }

    /// Addresses in this device's memory where other devices' modules have managed variables.
    pub(crate) fn managed_for_others(&self) -> FxHashSet<u64> {
        let others = self.shared.started().filter(|other| other.ordinal != self.ordinal);
        let managed = others.flat_map(|other| other.modules.lock().managed());
        managed.flat_map(|managed| managed.addresses().collect::<Vec<_>>()).collect()
    }

    /// A library's module on this device, loaded at the first call.
    pub(crate) fn library_module(&self, library: LibraryHandle) -> Result<ModuleHandle> {
        let code = self.shared.libraries.lock().code(library)?;
        let loaded = Arc::clone(self.modules.lock().libraries.entry(library).or_default());
        *loaded.get_or_init(|| self.load_library(library, &code))
    }

    fn load_library(&self, library: LibraryHandle, code: &Code) -> Result<ModuleHandle> {
        let module = self.load_for_all(code.clone(), |modules| {
            let handle = modules.libraries.get(&library)?.get()?.as_ref().ok()?;
            modules.loaded.get(handle).cloned()
        })?;
        let mut modules = self.modules.lock();
        let handle = modules.new_module_handle();
        modules.loaded.insert(handle, module);
        Ok(handle)
    }

    /// Unloads a library from this device after the device's work.
    pub(crate) fn unload_library(&self, library: LibraryHandle) -> Result<()> {
        let loaded = self.modules.lock().libraries.remove(&library);
        match loaded.as_ref().and_then(|loaded| loaded.get()) {
            Some(Ok(module)) => self.unload_module(*module),
            _ => Ok(()),
        }
    }

    /// A library's kernel on this device.
    fn library_kernel(&self, handle: FunctionHandle) -> Result<Option<Arc<Kernel>>> {
        let Some((library, name)) = self.shared.libraries.lock().kernel(handle) else { return Ok(None) };
        let kernel = self.find_kernel(self.library_module(library)?, &name)?;
        self.modules.lock().kernels.insert(handle, Arc::clone(&kernel));
        Ok(Some(kernel))
    }

    /// The kernel for a stub's host address or a kernel handle.
    pub(crate) fn kernel_of(&self, function: usize) -> Result<Arc<Kernel>> {
        {
            let modules = self.modules.lock();
            let known =
                modules.by_stub.get(&function).or_else(|| modules.kernels.get(&FunctionHandle(function)));
            if let Some(kernel) = known {
                return Ok(Arc::clone(kernel));
            }
        }
        if let Some(kernel) = self.deferred_kernel(FunctionHandle(function))? {
            return Ok(kernel);
        }
        if let Some(kernel) = self.library_kernel(FunctionHandle(function))? {
            return Ok(kernel);
        }
        let found = registry().lock().find(function).filter(|found| found.kind == Kind::Kernel);
        let Registered { fat_binary, name, .. } = found.ok_or(Error::InvalidDeviceFunction)?;
        let module = self.registered_module(fat_binary)?;
        let name = CString::new(name).map_err(|_| Error::InvalidDeviceFunction)?;
        let mut modules = self.modules.lock();
        let kernel = modules.add_kernel(name, module);
        modules.by_stub.insert(function, Arc::clone(&kernel));
        Ok(kernel)
    }

    /// [`DeviceObjects::kernel_of`] for a launch. A module that cannot be loaded is an error of the
    /// launch.
    pub(crate) fn kernel_to_launch(&self, function: usize) -> Result<Arc<Kernel>> {
        self.kernel_of(function).inspect_err(|error| {
            let registered = registry().lock().find(function);
            let name = match registered {
                Some(Registered { name, .. }) => name,
                None => self.deferred_name(FunctionHandle(function)).unwrap_or_else(|| "?".to_owned()),
            };
            sass_only::note_launch(&name, file_at(function), *error);
        })
    }

    /// A module's kernel by name, with the attributes that the program set.
    pub(crate) fn kernel_in(&self, module: &Arc<LoadedModule>, name: &str) -> Result<Arc<Kernel>> {
        let name = CString::new(name).map_err(|_| Error::InvalidDeviceFunction)?;
        let mut modules = self.modules.lock();
        let is_it = |kernel: &&Arc<Kernel>| Arc::ptr_eq(&kernel.module, module) && kernel.name == name;
        let known = modules.kernels.values().find(is_it).cloned();
        Ok(known.unwrap_or_else(|| modules.add_kernel(name, Arc::clone(module))))
    }

    /// The kernel with a handle.
    pub(crate) fn kernel(&self, handle: FunctionHandle) -> Result<Arc<Kernel>> {
        self.kernel_of(handle.0).map_err(Error::of_handle)
    }

    /// The handle of a stub's kernel: the stub's own address. Stubs keep the handle, so a device
    /// reset must not invalidate it. The handle's first use loads the kernel.
    pub(crate) fn handle_of_stub(&self, stub: usize) -> Result<FunctionHandle> {
        match registry().lock().find(stub) {
            Some(Registered { kind: Kind::Kernel, .. }) => Ok(FunctionHandle(stub)),
            _ => Err(Error::InvalidDeviceFunction),
        }
    }

    /// The variable whose host shadow has this address.
    pub(crate) fn symbol(&self, shadow: usize) -> Result<LoadedVariable> {
        let found = registry().lock().find(shadow);
        match found {
            Some(Registered {
                fat_binary,
                name,
                kind: Kind::Variable { .. } | Kind::ManagedVariable { .. },
            }) => self.registered_module(fat_binary)?.variable(&name).ok_or(Error::InvalidSymbol),
            _ => Err(Error::InvalidSymbol),
        }
    }

    /// Adds a module that the program loaded.
    pub(crate) fn add_module(&self, code: Code) -> Result<ModuleHandle> {
        let module = LoadedModule::load(self, code)?;
        let mut modules = self.modules.lock();
        let handle = modules.new_module_handle();
        modules.loaded.insert(handle, Arc::new(module));
        ownership::adopt(self.shared, Object::Module(handle));
        Ok(handle)
    }

    /// The module with a handle.
    pub(crate) fn module(&self, handle: ModuleHandle) -> Result<Arc<LoadedModule>> {
        let loaded = self.modules.lock().loaded.get(&handle).cloned();
        if let Some(module) = loaded {
            return Ok(module);
        }
        let module = self.deferred_module(handle)?;
        self.modules.lock().loaded.insert(handle, Arc::clone(&module));
        Ok(module)
    }

    /// The handle of a kernel's module.
    pub(crate) fn module_handle(&self, module: &Arc<LoadedModule>) -> Option<ModuleHandle> {
        let modules = self.modules.lock();
        modules.loaded.iter().find(|(_, loaded)| Arc::ptr_eq(loaded, module)).map(|(handle, _)| *handle)
    }

    /// A loaded module's kernel by name, bound at its first use.
    pub(crate) fn find_kernel(&self, handle: ModuleHandle, name: &CStr) -> Result<Arc<Kernel>> {
        let module = self.module(handle)?;
        let key = (handle.0, name.to_owned());
        let mut modules = self.modules.lock();
        if let Some(kernel) = modules.by_name.get(&key) {
            return Ok(Arc::clone(kernel));
        }
        let text = name.to_str().map_err(|_| Error::SymbolNotFound)?;
        module.check_kernel(text).map_err(|error| match error {
            Error::InvalidDeviceFunction => Error::SymbolNotFound,
            other => other,
        })?;
        let kernel = modules.add_kernel(name.to_owned(), module);
        modules.by_name.insert(key, Arc::clone(&kernel));
        Ok(kernel)
    }

    /// A variable of the module with a handle.
    pub(crate) fn module_variable(&self, handle: ModuleHandle, name: &str) -> Result<LoadedVariable> {
        let variable = match self.deferred_variable(handle, name)? {
            Some(unread) => unread,
            None => self.module(handle)?.variable(name),
        };
        variable.ok_or(Error::SymbolNotFound)
    }

    /// Unloads a module after the device's work.
    pub(crate) fn unload_module(&self, handle: ModuleHandle) -> Result<()> {
        self.synchronize(stream_engine::Scope::Context)?;
        ownership::disown(self.shared, Object::Module(handle));
        let mut modules = self.modules.lock();
        let deferred = modules.deferred.forget(handle, &self.device);
        let Some(module) = modules.loaded.remove(&handle) else {
            return if deferred { Ok(()) } else { Err(Error::InvalidResourceHandle) };
        };
        modules.by_name.retain(|(owner, _), _| *owner != handle.0);
        modules.forget_kernels_of(&module);
        Ok(())
    }

    /// Unloads the module of a fat binary that is being unregistered. Running launches keep it
    /// alive. Waiting for them here could deadlock, because `dlclose` holds a lock that new threads
    /// need.
    pub(crate) fn unload_registered(&self, fat_binary: FatBinaryHandle) {
        let mut modules = self.modules.lock();
        let registration = modules.registered.remove(&fat_binary);
        if let Some(Ok(module)) = registration.as_ref().and_then(|registration| registration.get()) {
            modules.forget_kernels_of(module);
        }
    }

    /// Unloads all modules. Registered fat binaries are loaded again at their next use.
    pub(crate) fn unload_everything(&self) {
        *self.modules.lock() = Modules::of_device(self.ordinal);
    }
}

impl Modules {
    /// The table of one device. Handles are unique across devices.
    pub(crate) fn of_device(ordinal: usize) -> Self {
        Self { created: ordinal << DEVICE_SHIFT, ..Self::default() }
    }

    /// A handle for a new module.
    pub(crate) fn new_module_handle(&mut self) -> ModuleHandle {
        self.created += 1;
        ModuleHandle(MODULES | (self.created << 4))
    }

    /// A handle for a new kernel.
    pub(crate) fn new_function_handle(&mut self) -> FunctionHandle {
        self.created += 1;
        FunctionHandle(FUNCTIONS | (self.created << 4))
    }

    /// The managed variables of all modules.
    fn managed(&self) -> Vec<Arc<ManagedVariables>> {
        let registered = self.registered.values().filter_map(|module| module.get()?.as_ref().ok());
        let modules = registered.chain(self.loaded.values());
        modules.map(|module| Arc::clone(module.module.managed())).collect()
    }

    fn add_kernel(&mut self, name: CString, module: Arc<LoadedModule>) -> Arc<Kernel> {
        let handle = self.new_function_handle();
        self.add_kernel_as(handle, name, module)
    }

    /// Adds a kernel under an existing handle, unless another thread did so first.
    pub(crate) fn add_kernel_as(
        &mut self,
        handle: FunctionHandle,
        name: CString,
        module: Arc<LoadedModule>,
    ) -> Arc<Kernel> {
        if let Some(kernel) = self.kernels.get(&handle) {
            return Arc::clone(kernel);
        }
        let kernel = Arc::new(Kernel::new(handle, name, module));
        self.kernels.insert(handle, Arc::clone(&kernel));
        kernel
    }

    fn forget_kernels_of(&mut self, module: &Arc<LoadedModule>) {
        self.kernels.retain(|_, kernel| !Arc::ptr_eq(&kernel.module, module));
        self.by_stub.retain(|_, kernel| !Arc::ptr_eq(&kernel.module, module));
    }
}
