//! Verdicts on the PTX of programs that request machine code. The vendor's NVRTC assembles such PTX
//! and reports the assembler's errors (of inline PTX) as compilation errors.

use ptx_frontend::Module;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Error logs of programs with illegal PTX, by program handle.
static LOGS: Mutex<BTreeMap<usize, String>> = Mutex::new(BTreeMap::new());

/// Name of the PTX in logs.
const INPUT: &str = "application ptx input";

/// Checks a program's PTX and keeps its errors; true for legal PTX.
pub(crate) fn is_legal(program: usize, text: &str) -> bool {
    let log = match Module::parse(text, INPUT) {
        Ok(module) => module.judge().log(INPUT),
        Err(error) => error.log(INPUT),
    };
    let legal = log.is_empty();
    if let Ok(mut logs) = LOGS.lock() {
        if legal {
            logs.remove(&program);
        } else {
            logs.insert(program, log + "\n");
        }
    }
    legal
}

/// Errors of a program's PTX, to be appended to its log.
pub(crate) fn log_of(program: usize) -> String {
    LOGS.lock().ok().and_then(|logs| logs.get(&program).cloned()).unwrap_or_default()
}

/// Forgets a program's errors, since it is recompiled or destroyed.
pub(crate) fn forget(program: usize) {
    if let Ok(mut logs) = LOGS.lock() {
        logs.remove(&program);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n";

    #[test]
    fn ptx_errors_are_kept_until_the_program_is_destroyed() {
        assert!(is_legal(1, TEXT) && log_of(1).is_empty());
        assert!(!is_legal(1, &TEXT.replace("ret", "frobnicate")));
        assert!(log_of(1).starts_with("ptxas application ptx input, line 4; error   : "), "{}", log_of(1));
        assert!(log_of(2).is_empty());
        forget(1);
        assert!(log_of(1).is_empty());
    }
}
