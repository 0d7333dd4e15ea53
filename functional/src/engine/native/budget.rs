//! Bound of the memory that a device's machine code may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a device's machine code, and their limit.
#[derive(Debug)]
pub(crate) struct CodeBudget {
    limit: u64,
    used: AtomicU64,
}

impl CodeBudget {
    /// A budget of `limit` bytes.
    pub(crate) fn new(limit: u64) -> CodeBudget {
        CodeBudget { limit, used: AtomicU64::new(0) }
    }

    /// Maximum bytes.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Takes `bytes` bytes until the result is dropped; `None` if fewer are left.
    pub(super) fn take(self: &Arc<Self>, bytes: u64) -> Option<Share> {
        let more = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Share { budget: Arc::clone(self), bytes })
    }
}

/// Part of a budget.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<CodeBudget>,
    bytes: u64,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_gives_no_more_than_its_limit() {
        let budget = Arc::new(CodeBudget::new(100));
        let first = budget.take(60);
        assert!(first.is_some() && budget.take(41).is_none() && budget.take(u64::MAX).is_none());
        drop(first);
        assert!(budget.take(100).is_some());
    }
}
