//! Names that code uses and nothing defines: neither its modules nor the device.
//!
//! The assembler looks for functions and variables that the code uses, not for what it only declares, and weak names need
//! no definition. Functions that cannot be read are left to their launch, and so are those that only a driver has.

use functional::engine::native;
use ptx_frontend::Module as PtxModule;
use ptx_frontend::ir::{Linkage, Space};
use ptx_frontend::link::Program;
use std::fmt;
use std::sync::Arc;

/// Who finds that a name is missing; each has words and an error of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Loading a module or library: an error of the PTX.
    Load,
    /// `cuLinkComplete`: the image is no good.
    Link,
}

/// The names that are missing.
#[derive(Debug)]
pub(crate) struct Unresolved {
    pub(crate) stage: Stage,
    names: Vec<ptx_frontend::link::Unresolved>,
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, missing) in self.names.iter().enumerate() {
            let separator = if number == 0 { "" } else { "\n" };
            let kind = if missing.is_function { "function" } else { "variable" };
            match self.stage {
                Stage::Load => {
                    write!(f, "{separator}ptxas fatal   : Unresolved extern {kind} '{}'", missing.name)?
                }
                Stage::Link => {
                    write!(
                        f,
                        "{separator}error   : Undefined reference to '{}' in '{}'",
                        missing.name, missing.module
                    )?;
                }
            }
        }
        Ok(())
    }
}

impl std::error::Error for Unresolved {}

/// Does a module leave names to others, but for functions that the device has?
fn leaves_open(module: &PtxModule) -> bool {
    let is_open =
        |name: &str| module.function_item(name).is_some_and(|item| item.body.is_none()) && !is_native(name);
    let is_extern = |linkage, space| linkage == Linkage::Extern && space != Space::Shared;
    module.functions().any(is_open)
        || module.variables().iter().any(|variable| is_extern(variable.linkage, variable.space))
}

/// What names of functions begin with that the vendor's device runtime calls and the driver has.
const OF_DRIVER: [&str; 2] = ["cnp", "__cuda_syscall_"];

/// Does the device have this function, or leave it to the launch that calls it? Hardly a kernel uses all of the device runtime
/// that it is linked with.
fn is_native(name: &str) -> bool {
    native::function(name).or_else(|| native::replacement(name)).is_some()
        || OF_DRIVER.iter().any(|prefix| name.starts_with(prefix))
}

fn uses(module: &PtxModule, name: &str) -> bool {
    let functions = module
        .functions()
        .filter(|function| module.function_item(function).is_some_and(|item| item.body.is_some()));
    functions
        .filter_map(|function| module.function(function).ok())
        .any(|function| function.externals.iter().any(|external| external.name == name))
}

fn declares_weak(module: &PtxModule, name: &str) -> bool {
    module.function_linkage(name).is_some_and(|(linkage, _)| linkage == Linkage::Weak)
}

/// Refuses modules that are to be loaded as one and use a name that none of them defines.
pub(crate) fn check(modules: &[Arc<PtxModule>], stage: Stage) -> Result<(), Unresolved> {
    if !modules.iter().any(|module| leaves_open(module)) {
        return Ok(());
    }
    // Modules that do not fit together are refused when they are loaded.
    let Ok(program) = Program::link(modules.to_vec()) else { return Ok(()) };
    let open = program.unresolved().iter().filter(|missing| !is_native(&missing.name));
    let any = |is: fn(&PtxModule, &str) -> bool, name: &str| modules.iter().any(|module| is(module, name));
    let used = open.filter(|missing| any(uses, &missing.name) && !any(declares_weak, &missing.name));
    let names: Vec<_> = used.cloned().collect();
    if names.is_empty() { Ok(()) } else { Err(Unresolved { stage, names }) }
}
