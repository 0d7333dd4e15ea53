//! The host's stack at an API call, for the findings of the checks.

use crate::host::environment::options;
use crate::host::mapped::file_at;
use functional::sanitizer::CallSite;
use std::path::Path;
use std::sync::Arc;
use warp_stream::kernel_name::readable;

/// Most frames that a finding shows.
const MOST_FRAMES: usize = 24;

/// The stack of this thread, if the options ask for checks that show it.
pub(crate) fn here() -> Option<Arc<dyn CallSite>> {
    let is_wanted = options().check.is_some() && options().check_stacks.unwrap_or(true);
    is_wanted.then(|| Arc::new(Stack::here()) as Arc<dyn CallSite>)
}

/// Return addresses of a stack, the innermost first.
#[derive(Debug)]
struct Stack(Vec<usize>);

impl Stack {
    /// The stack of this thread, from the program's call of this library outwards.
    fn here() -> Stack {
        let own = folder_at(Stack::here as *const () as usize);
        let mut addresses = Vec::new();
        backtrace::trace(|frame| {
            let address = frame.ip() as usize;
            // The outermost frame has no return address. The fronts lie in the folder of this library.
            if address != 0 && (!addresses.is_empty() || folder_at(address) != own) {
                addresses.push(address);
            }
            address != 0 && addresses.len() < MOST_FRAMES
        });
        Stack(addresses)
    }
}

impl CallSite for Stack {
    fn frames(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for &address in &self.0 {
            let file = file_at(address).unwrap_or_default();
            let (mut names, mut is_main) = (Vec::new(), false);
            // The address is behind the call. An inlined function is a symbol of its own.
            backtrace::resolve((address - 1) as *mut _, |symbol| {
                let Some(name) = symbol.name().and_then(|name| name.as_str()) else { return };
                let place = symbol.filename().zip(symbol.lineno());
                let place = place.map(|(file, line)| format!(" at {}:{line}", file.display()));
                is_main |= name == "main";
                names.push(format!("{}{}", readable(name), place.unwrap_or_default()));
            });
            if names.is_empty() {
                names.push(format!("{address:#x}"));
            }
            lines.extend(names.into_iter().map(|name| format!("{name} ({file})")));
            // The C library's frames behind `main` say nothing.
            if is_main {
                break;
            }
        }
        lines
    }
}

/// Folder of the program or library that contains an address.
fn folder_at(address: usize) -> Option<String> {
    let file = file_at(address)?;
    Path::new(&file).parent().map(|folder| folder.to_string_lossy().into_owned())
}
