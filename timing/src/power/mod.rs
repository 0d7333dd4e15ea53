//! Power: energy of a launch from its counters.
//!
//! The energy of an event (an instruction, a register access, a sector of a cache) is a key of
//! `[power]` in the GPU's file. Beside events, active SMs lose static energy, idle SMs and the rest
//! of the card a constant power. The form is that of AccelWattch (Kandiah et al., MICRO 2021). Energy
//! follows from counters alone, so nothing is counted for it while a launch runs.

mod counters;
mod ledger;
mod section;
mod spec;

pub(crate) use counters::events_of;
pub use counters::{EventEnergies, PowerCounters};
pub(crate) use ledger::{Ledger, Places};
pub use section::{Power, PowerSection};
pub use spec::PowerSpec;
