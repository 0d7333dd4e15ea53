//! Pages of timed launches: their parts, and how a browser shows them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod browser;
mod content;
mod runs;
#[path = "../../../timing/tests/gpu/script.rs"]
#[allow(dead_code, reason = "these tests use a part of the scripts")]
mod script;
