//! The library's one entry point: it fills the tables of the fronts with the bodies.

pub mod bind;
