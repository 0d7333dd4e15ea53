//! Claims about the stream engine: the rules alone against a model, then the engine with its threads.

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
