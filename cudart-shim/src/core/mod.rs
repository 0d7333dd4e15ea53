//! Entry point of the library: fills the fronts' tables with bodies.

pub mod bind;
