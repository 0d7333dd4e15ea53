//! Messages for what a stand-in lacks.

use std::collections::BTreeSet;

use parking_lot::Mutex;

/// Says once that a stand-in lacks something, on standard error.
pub fn refuse(library: &str, missing: &str) {
    warn_once(&format!(
        "voltsim: {library} stand-in: {missing} is not implemented; the call returns \"not supported\""
    ));
}

/// Writes a message to standard error, unless it was written before.
pub fn warn_once(message: &str) {
    static WRITTEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if WRITTEN.lock().insert(message.to_owned()) {
        eprintln!("{message}");
    }
}
