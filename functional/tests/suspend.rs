//! Suspended launches: equal results after resumption from every point, named refusals, and no crash on
//! damaged data.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "suspend/bench.rs"]
mod bench;
#[path = "suspend/clusters.rs"]
mod clusters;
#[path = "suspend/damage.rs"]
mod damage;
#[path = "suspend/every_form.rs"]
mod every_form;
#[path = "suspend/points.rs"]
mod points;
#[path = "suspend/refusals.rs"]
mod refusals;
#[path = "suspend/timed.rs"]
mod timed;
#[path = "suspend/under_a_model.rs"]
mod under_a_model;
