//! Policies: decisions that a unit leaves to a file of its own.
//!
//! A policy is one file and one line in the table of its kind. The table gives the policy its name in GPU files, its text in
//! `voltsim explain`, its dispatch, and the conformance tests of its kind.

pub mod dram_scheduler;
pub mod replacement;
