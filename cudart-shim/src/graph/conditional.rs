//! Conditional nodes: graphs run if, while, or selected by a value that kernels set.

use super::handle::GraphHandle;
use crate::abi::error::{Error, Result};
use crate::host::present_call;
use crate::objects::shared::Shared;
use std::ffi::c_int;
use std::sync::Arc;

/// `cudaGraphCondAssignDefault`.
const ASSIGN_DEFAULT: u32 = 1;

/// A condition. The handle is the device address of its word, which `cudaGraphSetConditional`
/// writes.
#[derive(Debug)]
pub(crate) struct Condition {
    shared: &'static Shared,
    address: u64,
    /// Value that a launch of the whole graph sets.
    pub(crate) default: Option<u32>,
}

impl Condition {
    /// A condition with its word at an address.
    pub(crate) fn new(shared: &'static Shared, address: u64, default: u32, flags: u32) -> Result<Self> {
        let default = match flags {
            0 => None,
            ASSIGN_DEFAULT => Some(default),
            _ => return Err(Error::InvalidValue),
        };
        let condition = Self { shared, address, default };
        condition.set(default.unwrap_or(0));
        Ok(condition)
    }

    /// Handle for the program.
    pub(crate) fn handle(&self) -> u64 {
        self.address
    }

    /// Present value.
    pub(crate) fn get(&self) -> u32 {
        // SAFETY: the allocation has at least four bytes and lives as long as the condition.
        // Kernels write it, so the host touches it only through a raw pointer.
        unsafe { (self.address as *const u32).read_volatile() }
    }

    /// Sets the value to its default, if there is one.
    pub(crate) fn reset(&self) {
        if let Some(default) = self.default {
            self.set(default);
        }
    }

    fn set(&self, value: u32) {
        // SAFETY: as in `get`.
        unsafe { (self.address as *mut u32).write_volatile(value) };
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        // A device reset has already freed the memory.
        if let Some((owner, _)) = self.shared.owner_of(self.address) {
            let _ = owner.release(self.address, present_call::origin());
        }
    }
}

/// Rule of a conditional node, `cudaGraphConditionalNodeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Runs the first graph for a non-zero value, else the second one, if any.
    If,
    /// Repeats the graph until the value is 0.
    While,
    /// Runs the graph whose index is the value.
    Switch,
}

impl Form {
    /// Form by the API's number, for a number of graphs.
    pub(crate) fn new(number: c_int, graphs: u32) -> Result<Self> {
        match (number, graphs) {
            (0, 1 | 2) => Ok(Self::If),
            (1, 1) => Ok(Self::While),
            (2, 1..) => Ok(Self::Switch),
            _ => Err(Error::InvalidValue),
        }
    }

    /// The API's number.
    pub(crate) fn number(self) -> c_int {
        match self {
            Self::If => 0,
            Self::While => 1,
            Self::Switch => 2,
        }
    }

    /// Index of the graph that a value selects.
    pub(crate) fn chosen(self, value: u32) -> Option<usize> {
        match (self, value) {
            (Self::If, 0) => Some(1),
            (Self::While, 0) => None,
            (Self::If | Self::While, _) => Some(0),
            (Self::Switch, _) => Some(value as usize),
        }
    }
}

/// A conditional node.
#[derive(Clone, Debug)]
pub(crate) struct Conditional {
    pub(crate) condition: Arc<Condition>,
    pub(crate) form: Form,
    /// Bodies, at an address that the program may read while the node lives.
    pub(crate) bodies: Arc<[GraphHandle]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_selects_the_graph() {
        assert_eq!([0, 1, 7].map(|value| Form::If.chosen(value)), [Some(1), Some(0), Some(0)]);
        assert_eq!([0, 1, 7].map(|value| Form::While.chosen(value)), [None, Some(0), Some(0)]);
        assert_eq!([0, 1, 7].map(|value| Form::Switch.chosen(value)), [Some(0), Some(1), Some(7)]);
    }

    #[test]
    fn each_form_fixes_its_number_of_graphs() {
        assert_eq!(Form::new(0, 2), Ok(Form::If));
        assert_eq!(Form::new(0, 3), Err(Error::InvalidValue));
        assert_eq!(Form::new(1, 2), Err(Error::InvalidValue));
        assert_eq!(Form::new(2, 9), Ok(Form::Switch));
        assert_eq!(Form::new(2, 0), Err(Error::InvalidValue));
    }
}
