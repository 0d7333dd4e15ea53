//! Addresses of variables. Module variables have fixed addresses from the load of the module, and shared
//! variables lie in the CTA's block. Local variables and call parameters lie in the frame's part of local
//! memory.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use ptx_frontend::ir::{self, AddressBase, ExternalId, Space};
use ptx_frontend::lower::{SharedAddresses, Target};

use super::{BindError, Binder, Linker};
use crate::engine::device_functions;
use crate::engine::probe::{Region, Watcher};
use crate::engine::program::PlacedVariable;

/// Address of a module symbol that a function uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolAddress {
    /// A variable in global or constant memory, by generic address.
    Global(u64),
    /// A variable in shared memory, placed per kernel.
    Shared {
        /// Size in bytes; 0 for dynamic shared memory.
        size: u64,
        /// Alignment in bytes.
        align: u32,
    },
    /// A device function, by the address that function pointers hold.
    Function(u64),
}

/// Symbols and code of the loaded modules.
pub trait ModuleAddresses {
    /// Address of a symbol.
    fn symbol(&self, name: &str) -> Option<SymbolAddress>;
    /// Code of a function.
    fn function(&self, name: &str) -> Option<Result<Arc<ir::Function>, BindError>>;
    /// PTX text that defines a function.
    fn text_of(&self, function: &str) -> Option<Arc<ptx_frontend::Module>>;
    /// All device functions, in an order that is the same in every run.
    fn device_functions(&self) -> Vec<String>;
    /// Functions whose addresses are in variables' initial contents.
    fn functions_in_variables(&self) -> HashSet<String>;
    /// Generic address ranges of constant variables, in order.
    fn constants(&self) -> Vec<Range<u64>>;
    /// Generic address of the first byte of shared memory.
    fn shared_window(&self) -> u64;
    /// Generic address of the first byte of local memory.
    fn local_window(&self) -> u64;
    /// True if `mul` and `add` contract to `fma`.
    fn contracts(&self) -> bool;
    /// True if kernels are bound for a timing model.
    fn is_timed(&self) -> bool;
    /// Target of machine code.
    fn target(&self) -> Target;
    /// Observers of kernels' execution.
    fn watchers(&self) -> &[Arc<dyn Watcher>];
}

/// Offsets of a program's shared variables from the start of the CTA's block. All variables are added
/// before the first lookup, so that dynamic shared memory begins after them.
#[derive(Debug, Default)]
pub(crate) struct SharedLayout {
    /// Offset and size in bytes.
    placed: HashMap<String, (u32, u32)>,
    /// Name of the dynamic variable added last.
    dynamic: Option<String>,
    end: u32,
    dynamic_align: u32,
}

impl SharedLayout {
    /// Adds a variable; size 0 means dynamic shared memory.
    pub(super) fn add(&mut self, name: &str, size: u64, align: u32) {
        if size == 0 {
            self.dynamic_align = self.dynamic_align.max(align).max(16);
            self.dynamic = Some(name.to_owned());
        } else if !self.placed.contains_key(name) {
            let offset = self.end.checked_next_multiple_of(align.max(1)).unwrap_or(u32::MAX);
            let size = u32::try_from(size).unwrap_or(u32::MAX);
            self.end = offset.saturating_add(size);
            self.placed.insert(name.to_owned(), (offset, size));
        }
    }

    /// Offset of a variable.
    pub(super) fn offset(&self, name: &str) -> u32 {
        self.placed.get(name).map_or_else(|| self.total(), |&(offset, _)| offset)
    }

    /// All variables by offset, dynamic shared memory last.
    pub(super) fn variables(&self) -> Vec<PlacedVariable> {
        let placed = |(name, (offset, size)): (&String, &(u32, u32))| PlacedVariable {
            name: name.clone(),
            region: Region::Shared,
            offset: *offset,
            size: *size,
        };
        let mut variables: Vec<PlacedVariable> = self.placed.iter().map(placed).collect();
        if let Some(name) = &self.dynamic {
            let (name, offset) = (name.clone(), self.total());
            variables.push(PlacedVariable { name, region: Region::Shared, offset, size: 0 });
        }
        variables.sort_by_key(|variable| variable.offset);
        variables
    }

    /// Bytes of static shared memory.
    pub(super) fn total(&self) -> u32 {
        self.end.checked_next_multiple_of(self.dynamic_align.max(1)).unwrap_or(u32::MAX)
    }
}

/// Location of a function's variable, parameter or result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FramePlace {
    /// Fixed address: a shared offset or a generic global address.
    Fixed(u64),
    /// Offset from the frame's local base.
    Local(u32),
    /// Offset in the kernel's parameter block.
    KernelParameter(u32),
}

/// Layout of a frame's local memory: parameters and results, then variables.
#[derive(Debug)]
pub(crate) struct FramePlaces {
    variables: Vec<FramePlace>,
    local_bytes: u32,
}

impl FramePlaces {
    pub(super) fn of(source: &ir::Function, linker: &Linker<'_>) -> Result<FramePlaces, BindError> {
        let area = if source.is_kernel { 0 } else { source.parameter_bytes.next_multiple_of(16) };
        let mut end = u64::from(area);
        let mut variables = Vec::with_capacity(source.variables.len());
        for variable in &source.variables {
            variables.push(match variable.space {
                Space::Local | Space::Param => {
                    let at = end.checked_next_multiple_of(variable.align.max(1).into()).unwrap_or(u64::MAX);
                    end = at.saturating_add(variable.size);
                    FramePlace::Local(at as u32)
                }
                Space::Shared => {
                    FramePlace::Fixed(u64::from(linker.shared.offset(&shared_name(source, variable))))
                }
                Space::Global | Space::Const => match linker.addresses.symbol(&static_name(source, variable))
                {
                    Some(SymbolAddress::Global(address)) => FramePlace::Fixed(address),
                    _ => {
                        return Err(BindError::Unresolved {
                            function: source.name.clone(),
                            symbol: variable.name.clone(),
                        });
                    }
                },
            });
        }
        if end > MAXIMUM_LOCAL {
            return Err(BindError::TooLarge {
                function: source.name.clone(),
                bytes: end,
                space: "local",
                limit: MAXIMUM_LOCAL,
            });
        }
        Ok(FramePlaces { variables, local_bytes: (end as u32).next_multiple_of(16) })
    }

    pub(super) fn local_bytes(&self) -> u32 {
        self.local_bytes
    }

    /// Local variables of the function.
    pub(super) fn local_variables(&self, source: &ir::Function) -> Vec<PlacedVariable> {
        let variables = source.variables.iter().zip(&self.variables);
        let local = variables.filter_map(|(variable, place)| match *place {
            FramePlace::Local(offset) if variable.space == Space::Local => Some(PlacedVariable {
                name: variable.name.clone(),
                region: Region::Local,
                offset,
                size: variable.size as u32,
            }),
            _ => None,
        });
        local.collect()
    }
}

/// Limit of local memory per thread, bytes (CUDA programming guide, technical specifications).
const MAXIMUM_LOCAL: u64 = 512 << 10;

/// Program-wide unique name of a shared variable declared in a function.
fn shared_name(source: &ir::Function, variable: &ir::Variable) -> String {
    if variable.linkage == ir::Linkage::Extern {
        variable.name.clone()
    } else {
        static_name(source, variable)
    }
}

/// Name under which a module allocates a static variable declared in a function.
pub fn static_name(source: &ir::Function, variable: &ir::Variable) -> String {
    format!("{}${}", source.name, variable.name)
}

impl Linker<'_> {
    /// Addresses of the shared variables that `source` names, all of them already added.
    pub(super) fn shared_addresses(&self, source: &ir::Function) -> SharedAddresses {
        let own = |variable: &ir::Variable| {
            let is_shared = variable.space == Space::Shared;
            is_shared.then(|| self.shared.offset(&shared_name(source, variable)).into())
        };
        let of_module = |external: &ir::External| match self.addresses.symbol(&external.name) {
            Some(SymbolAddress::Shared { .. }) => Some(self.shared.offset(&external.name).into()),
            _ => None,
        };
        SharedAddresses {
            variables: source.variables.iter().map(own).collect(),
            externals: source.externals.iter().map(of_module).collect(),
        }
    }

    /// Adds the shared variables that `source` declares or uses, and queues the functions that it calls.
    pub(super) fn discover(&mut self, source: &ir::Function) -> Result<(), BindError> {
        for variable in source.variables.iter().filter(|variable| variable.space == Space::Shared) {
            self.shared.add(&shared_name(source, variable), variable.size, variable.align);
        }
        for external in &source.externals {
            match self.addresses.symbol(&external.name) {
                Some(SymbolAddress::Shared { size, align }) => self.shared.add(&external.name, size, align),
                Some(SymbolAddress::Function(_))
                    if device_functions::replacement(&external.name).is_none() =>
                {
                    if let Some(function) = self.addresses.function(&external.name).transpose()?
                        && !function.is_kernel
                    {
                        self.want(function)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Binder<'_, '_> {
    /// Location of a variable, parameter or result of this function.
    pub(crate) fn frame_place(&self, base: AddressBase) -> Result<FramePlace, BindError> {
        match base {
            AddressBase::Variable(variable) => Ok(self.places.variables[variable.0 as usize]),
            AddressBase::Parameter(number) => {
                let parameter = &self.source.parameters[number as usize];
                Ok(if self.source.is_kernel {
                    FramePlace::KernelParameter(parameter.offset)
                } else {
                    FramePlace::Local(parameter.offset)
                })
            }
            AddressBase::Return(number) => Ok(FramePlace::Local(self.source.returns[number as usize].offset)),
            _ => Err(self.error("not a variable of the function")),
        }
    }

    /// True if `base` is a shared variable of this function.
    pub(crate) fn is_shared_variable(&self, base: AddressBase) -> bool {
        match base {
            AddressBase::Variable(variable) => {
                self.source.variables[variable.0 as usize].space == Space::Shared
            }
            _ => false,
        }
    }

    /// Address of a module symbol.
    pub(crate) fn external(&self, external: ExternalId) -> Result<SymbolAddress, BindError> {
        let name = &self.source.externals[external.0 as usize].name;
        self.linker
            .addresses
            .symbol(name)
            .ok_or_else(|| BindError::Unresolved { function: self.source.name.clone(), symbol: name.clone() })
    }

    /// Offset of a module's shared variable.
    pub(crate) fn shared_external(&self, external: ExternalId) -> Result<u32, BindError> {
        Ok(self.linker.shared.offset(&self.source.externals[external.0 as usize].name))
    }
}
