//! The stream engine: the bare rules against a model, then the engine with threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod conditions;
mod events;
mod faults;
mod gate;
mod graphs;
mod life;
mod model;
mod order;
mod rules;
mod waiting;
