//! Resource demand of a kernel, computed without binding its program. Programs query the registers of every
//! kernel but launch few of them.
//!
//! Each function of a module is bound once and alone, for all kernels that call it, and only its sizes are
//! kept.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use ptx_frontend::ir::{self, LaunchBounds};
use ptx_frontend::lower::SharedAddresses;

use super::{BindError, Binder, Linker, ModuleAddresses};
use crate::engine::program::registers_within_bounds;

/// Memory and registers of a kernel.
#[derive(Debug)]
pub struct KernelResources {
    /// Typed form of the kernel, with its parameters.
    pub source: Arc<ir::Function>,
    /// Bytes of static shared memory.
    pub static_shared: u32,
    /// Bytes of local memory of the kernel's own frame, per thread.
    pub local_bytes: u32,
    /// 32-bit registers per thread as an assembler allocates them, with or without a timing model.
    pub registers: u32,
}

impl KernelResources {
    /// Launch bounds of the kernel.
    pub fn bounds(&self) -> &LaunchBounds {
        &self.source.bounds
    }

    /// Maximum registers per thread for which the CTAs demanded by the launch bounds fit on an SM with
    /// `of_sm` registers.
    pub fn registers_within_bounds(&self, of_sm: u32) -> u32 {
        registers_within_bounds(self.bounds(), self.registers, of_sm)
    }
}

/// Sizes of a function, independent of its callers.
#[derive(Clone, Debug)]
struct Sizes {
    registers: u32,
    local_bytes: u32,
    /// Functions whose address the function takes.
    addressed: HashSet<String>,
}

/// Function name, whether it is bound to machine code, and the positions of its shared variables, on which
/// its code depends.
type Key = (String, bool, Vec<Option<u64>>, Vec<Option<u64>>);

/// Cache of the sizes of a module's functions.
#[derive(Debug, Default)]
pub(crate) struct KnownFunctions(Mutex<HashMap<Key, Result<Sizes, BindError>>>);

/// Resources of `kernel`; fails as binding the kernel fails.
pub(crate) fn resources(
    kernel: &Arc<ir::Function>,
    addresses: &dyn ModuleAddresses,
    known: &KnownFunctions,
) -> Result<KernelResources, BindError> {
    let executed = survey(kernel, addresses, addresses.is_timed(), known)?;
    let registers = match addresses.is_timed() {
        true => executed.registers,
        false => survey(kernel, addresses, true, known).map_or(executed.registers, |timed| timed.registers),
    };
    Ok(KernelResources { registers, ..executed })
}

/// Resources of `kernel`, bound for a timing model or for execution alone.
fn survey(
    kernel: &Arc<ir::Function>,
    addresses: &dyn ModuleAddresses,
    timed: bool,
    known: &KnownFunctions,
) -> Result<KernelResources, BindError> {
    let mut linker = Linker::new(addresses, timed, Vec::new());
    linker.want_all(Arc::clone(kernel))?;
    let mut sizes = Vec::with_capacity(linker.wanted.len());
    for number in 0..linker.wanted.len() as u32 {
        match known.sizes(&mut linker, number, timed) {
            Ok(found) => sizes.push(found),
            // A function reachable only through registers spoils its own call alone.
            Err(_) if linker.optional.contains(&number) => {
                sizes.push(Sizes { registers: 0, local_bytes: 0, addressed: HashSet::new() });
            }
            Err(error) => return Err(error),
        }
    }
    linker.addressed = sizes.iter().flat_map(|sizes| &sizes.addressed).cloned().collect();
    let registers = linker.most_registers(sizes.iter().map(|sizes| sizes.registers));
    Ok(KernelResources {
        source: Arc::clone(kernel),
        static_shared: linker.static_shared()?,
        local_bytes: sizes.first().map_or(0, |sizes| sizes.local_bytes),
        registers,
    })
}

impl KnownFunctions {
    /// Sizes of a queued function. All shared variables were added before.
    fn sizes(&self, linker: &mut Linker<'_>, number: u32, timed: bool) -> Result<Sizes, BindError> {
        let source = Arc::clone(&linker.wanted[number as usize]);
        let SharedAddresses { variables, externals } = linker.shared_addresses(&source);
        let key = (source.name.clone(), timed, variables, externals);
        if let Some(known) = self.0.lock().get(&key) {
            return known.clone();
        }
        linker.addressed.clear();
        let bound = Binder::new(linker, source).and_then(Binder::run);
        let sizes = bound.map(|bound| Sizes {
            registers: bound.registers,
            local_bytes: bound.local_bytes,
            addressed: std::mem::take(&mut linker.addressed),
        });
        self.0.lock().entry(key).or_insert(sizes).clone()
    }
}
