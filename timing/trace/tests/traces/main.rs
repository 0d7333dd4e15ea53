//! Recordings and traces as a model sees them.

#![allow(clippy::unwrap_used, clippy::panic)]

mod accelsim;
mod damaged;
mod drive;
mod recording;
mod toy;
