//! Allocations that the program never frees.

use super::memory::Past;
use super::report::{Finding, Severity};
use super::{Check, Checker};
use crate::memory::Allocation;

impl Checker {
    /// Reports the live allocations of API calls that `is_lost` names, at an event such as the end
    /// of the program.
    pub fn report_leaks(&self, event: &str, is_lost: impl Fn(&Allocation) -> bool) {
        if !self.checks.has(Check::Leaks) {
            return;
        }
        for past in self.history.live_of_calls(is_lost) {
            self.findings.add_alone(describe(event, &past));
        }
    }
}

fn describe(event: &str, past: &Past) -> Finding {
    Finding {
        check: Check::Leaks,
        severity: Severity::Error,
        title: format!("{} bytes are not freed at {event}", past.size()),
        kernel: None,
        launch: None,
        parties: Vec::new(),
        details: vec![past.to_string()],
        host: past.frames(),
    }
}
