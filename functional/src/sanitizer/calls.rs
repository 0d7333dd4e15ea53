//! API calls that return an error.

use std::sync::Arc;

use super::report::{Finding, Severity};
use super::{CallSite, Check, Checker};

impl Checker {
    /// Tells whether failed API calls are findings.
    pub fn checks_calls(&self) -> bool {
        self.checks.has(Check::Calls)
    }

    /// Reports an API call that returned an error: `cudaMalloc`, `cudaErrorMemoryAllocation`.
    pub fn report_call(&self, function: &str, number: u64, error: &str, call: Option<&Arc<dyn CallSite>>) {
        if !self.checks_calls() {
            return;
        }
        self.findings.add_alone(Finding {
            check: Check::Calls,
            severity: Severity::Error,
            title: format!("{function} returns {error}"),
            kernel: None,
            launch: None,
            parties: Vec::new(),
            details: vec![format!("API call {number}")],
            host: call.map(|call| call.frames()).unwrap_or_default(),
        });
    }
}
