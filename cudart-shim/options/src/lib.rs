//! The options of a run, each declared once.
//!
//! [`RunOptions`] is the typed description of a run. The declarations in `declarations/mod.rs` give
//! its fields, and with them everything else that concerns an option:
//!
//! | what | where |
//! |---|---|
//! | arguments, their help and their mistakes | [`DECLARATIONS`], used by the crate `voltsim` |
//! | the variable `VOLTSIM_...` of each option | [`Reading::of_environment`] |
//! | the value that the command hands the library ([`VARIABLE`]) | [`RunOptions::encode`] |
//! | options that need or exclude each other | [`rules`] |
//! | findings that nobody wants (`--check-suppressions`) | [`suppressions`] |
//! | the page `docs/reference/options.md` | [`reference::page`] |
//!
//! To add an option: one entry in `declarations/mod.rs`. The compiler and the test of the page lead
//! to the rest.

mod declarations;
mod encoding;
pub mod kernel_registers;
mod reading;
pub mod reference;
pub mod rules;
pub mod suppressions;
pub mod system;
pub mod values;

pub use declarations::{DECLARATIONS, Declaration, Form, Key, OnMistake, RunOptions, Section, Taker};
pub use encoding::VARIABLE;
pub use reading::{Mistake, Reading};
