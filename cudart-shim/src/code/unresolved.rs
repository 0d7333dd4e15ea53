//! Unresolved names: code uses them, but neither its modules nor the device define them.
//!
//! Only used names count, not mere declarations, and weak names need no definition. Unreadable
//! functions and driver functions are checked at launch.

use functional::engine::device_functions;
use ptx_frontend::Module as PtxModule;
use ptx_frontend::ir::{Linkage, Space};
use ptx_frontend::link::Program;
use std::fmt;
use std::sync::Arc;

/// Stage that detects the error, which determines the message and the error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Module or library load: invalid PTX.
    Load,
    /// `cuLinkComplete`: invalid image.
    Link,
}

/// The unresolved names.
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

/// Tells whether a module uses names that neither it nor the device defines.
fn leaves_open(module: &PtxModule) -> bool {
    let is_open =
        |name: &str| module.function_item(name).is_some_and(|item| item.body.is_none()) && !is_native(name);
    let is_extern = |linkage, space| linkage == Linkage::Extern && space != Space::Shared;
    module.functions().any(is_open)
        || module.variables().iter().any(|variable| is_extern(variable.linkage, variable.space))
}

/// Prefixes of driver functions called by the original device runtime.
const OF_DRIVER: [&str; 2] = ["cnp", "__cuda_syscall_"];

/// Tells whether the device implements this function or checks it at launch. Few kernels use all of
/// the device runtime they are linked with.
fn is_native(name: &str) -> bool {
    device_functions::function(name).or_else(|| device_functions::replacement(name)).is_some()
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

/// Rejects linked modules with an undefined name.
pub(crate) fn check(modules: &[Arc<PtxModule>], stage: Stage) -> Result<(), Unresolved> {
    if !modules.iter().any(|module| leaves_open(module)) {
        return Ok(());
    }
    // Modules that cannot be linked are rejected at load.
    let Ok(program) = Program::link(modules.to_vec()) else { return Ok(()) };
    let open = program.unresolved().iter().filter(|missing| !is_native(&missing.name));
    let any = |is: fn(&PtxModule, &str) -> bool, name: &str| modules.iter().any(|module| is(module, name));
    let used = open.filter(|missing| any(uses, &missing.name) && !any(declares_weak, &missing.name));
    let names: Vec<_> = used.cloned().collect();
    if names.is_empty() { Ok(()) } else { Err(Unresolved { stage, names }) }
}
