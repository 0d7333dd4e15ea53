//! The functions of one program: queued from the kernel on, bound one by one, and joined.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ptx_frontend::ir;

use super::{BindError, Binder, ModuleAddresses, SymbolAddress, indirect, machine, unbound, variables};
use crate::engine::constants::Constants;
use crate::engine::frame::FrameLayout;
use crate::engine::native::NativeCode;
use crate::engine::op::Op;
use crate::engine::probe::{Site, Watcher};
use crate::engine::program::{BoundFunction, CallSite, Program};
use crate::engine::special;
use crate::ops::matrix::Matrices;
use crate::ops::texture::Accesses;

/// Limit of static shared memory per CTA on any device, bytes (CUDA programming guide, technical
/// specifications). Only dynamic shared memory may exceed it.
const MAXIMUM_STATIC_SHARED: u32 = 48 << 10;

/// Number of programs bound by this process.
static BOUND: AtomicU64 = AtomicU64::new(0);

/// State shared by the functions of one program during binding.
pub(crate) struct Linker<'a> {
    pub(super) addresses: &'a dyn ModuleAddresses,
    /// Observers of the kernel's execution.
    pub(super) watchers: Vec<Arc<dyn Watcher>>,
    pub(super) wanted: Vec<Arc<ir::Function>>,
    pub(super) by_name: HashMap<String, u32>,
    pub(super) optional: HashSet<u32>,
    pub(super) functions: Vec<BoundFunction>,
    pub(super) code: Vec<Op>,
    pub(super) constants: Constants,
    /// Key: bits and width (true for 64-bit rows).
    pub(super) constant_of: HashMap<(u64, bool), u32>,
    pub(super) call_sites: Vec<CallSite>,
    pub(super) branch_targets: Vec<Vec<u32>>,
    pub(super) wait_loops: Vec<Range<u32>>,
    pub(super) matrices: Matrices,
    pub(super) textures: Accesses,
    pub(super) sites: Vec<Site>,
    pub(super) shared: variables::SharedLayout,
    pub(super) needs_parameter_address: bool,
    /// True if an instruction distinguishes constant from global memory.
    pub(super) needs_constants: bool,
    pub(super) needs_stack: bool,
    /// Functions whose address is taken.
    pub(super) addressed: HashSet<String>,
    pub(super) machine: Option<machine::MachineBuilder>,
}

impl<'a> Linker<'a> {
    pub(super) fn new(
        addresses: &'a dyn ModuleAddresses,
        timed: bool,
        watchers: Vec<Arc<dyn Watcher>>,
    ) -> Linker<'a> {
        Linker {
            addresses,
            watchers,
            wanted: Vec::new(),
            by_name: HashMap::new(),
            optional: HashSet::new(),
            functions: Vec::new(),
            code: Vec::new(),
            constants: Constants::default(),
            constant_of: HashMap::new(),
            call_sites: Vec::new(),
            branch_targets: Vec::new(),
            wait_loops: Vec::new(),
            matrices: Matrices::default(),
            textures: Accesses::default(),
            sites: Vec::new(),
            shared: variables::SharedLayout::default(),
            needs_parameter_address: false,
            needs_constants: false,
            needs_stack: false,
            addressed: HashSet::new(),
            machine: timed.then(|| machine::MachineBuilder::new(addresses.target())),
        }
    }

    /// Number of `function` in the program; queues the function for binding if it is new.
    pub(crate) fn want(&mut self, function: Arc<ir::Function>) -> Result<u32, BindError> {
        if let Some(&number) = self.by_name.get(&function.name) {
            return Ok(number);
        }
        let number = self.wanted.len() as u32;
        self.by_name.insert(function.name.clone(), number);
        self.wanted.push(function);
        Ok(number)
    }

    /// Queues `kernel` and all functions reachable from it, and places their shared variables.
    pub(super) fn want_all(&mut self, kernel: Arc<ir::Function>) -> Result<(), BindError> {
        self.want(kernel)?;
        let mut next = 0;
        while let Some(source) = self.wanted.get(next).cloned() {
            self.discover(&source)?;
            if indirect::is_in(&source) {
                self.want_device_functions();
            }
            next += 1;
        }
        Ok(())
    }

    /// Bytes of static shared memory.
    pub(super) fn static_shared(&self) -> Result<u32, BindError> {
        let bytes = self.shared.total();
        if bytes > MAXIMUM_STATIC_SHARED {
            return Err(BindError::TooLarge {
                function: self.wanted[0].name.clone(),
                bytes: bytes.into(),
                space: "shared",
                limit: MAXIMUM_STATIC_SHARED.into(),
            });
        }
        Ok(bytes)
    }

    /// Binds function `number`.
    pub(super) fn bind_function(&mut self, number: usize) -> Result<BoundFunction, BindError> {
        let source = Arc::clone(&self.wanted[number]);
        let (code, sites) = (self.code.len(), self.call_sites.len());
        let instructions = self.machine.as_ref().map_or(0, machine::MachineBuilder::len);
        let bound = Binder::new(self, Arc::clone(&source)).and_then(Binder::run);
        match bound {
            Err(error) if self.optional.contains(&(number as u32)) => {
                self.code.truncate(code);
                self.call_sites.truncate(sites);
                self.code.push(Op::new(unbound, 0));
                if let Some(machine) = &mut self.machine {
                    machine.truncate(code, instructions);
                    machine.add_missing(self.code.len());
                }
                let layout = FrameLayout { predicate_rows: 1, ..FrameLayout::default() };
                Ok(BoundFunction {
                    name: format!("{} ({error})", source.name),
                    entry: code as u32,
                    end: code as u32 + 1,
                    layout,
                    rows: Vec::new(),
                    starts: Vec::new(),
                    specials: Vec::new(),
                    local_bytes: 0,
                    registers: 0,
                    parameters: Vec::new(),
                    returns: Vec::new(),
                    text: None,
                    variables: Vec::new(),
                    source,
                })
            }
            bound => bound,
        }
    }

    pub(super) fn finish(self) -> Result<Program, BindError> {
        // A function's address is allocated at the first request, so requests come in a fixed order.
        let mut function_addresses: Vec<(u64, u32)> = (0..)
            .zip(&self.wanted)
            .filter_map(|(number, function)| match self.addresses.symbol(&function.name)? {
                SymbolAddress::Function(address) => Some((address, number)),
                _ => None,
            })
            .collect();
        function_addresses.sort_unstable();
        let kernel = &self.wanted[0];
        let static_shared = self.static_shared()?;
        let mut specials = self.functions.iter().flat_map(|function| &function.specials);
        let asks = specials.any(|(register, _)| special::is_of_reserved_shared(*register));
        let registers = self.registers();
        let machine = self.machine.map(machine::MachineBuilder::finish);
        let variables_in_constant_memory =
            if self.needs_constants { self.addresses.constants() } else { Vec::new() };
        Ok(Program {
            number: BOUND.fetch_add(1, Ordering::Relaxed),
            static_shared,
            reserved_shared: if asks { special::RESERVED_SHARED } else { 0 },
            parameter_bytes: kernel.parameter_bytes,
            bounds: kernel.bounds,
            code: self.code,
            constants: self.constants,
            variables_in_constant_memory,
            functions: self.functions,
            call_sites: self.call_sites,
            branch_targets: self.branch_targets,
            wait_loops: self.wait_loops,
            matrices: self.matrices,
            textures: self.textures,
            sites: self.sites,
            shared_variables: self.shared.variables(),
            function_addresses,
            needs_parameter_address: self.needs_parameter_address,
            needs_stack: self.needs_stack,
            registers,
            assembled: None,
            machine,
            native: NativeCode::default(),
        })
    }
}
