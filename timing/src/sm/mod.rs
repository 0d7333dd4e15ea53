//! A streaming multiprocessor.

pub mod memory;
