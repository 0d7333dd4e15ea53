//! Launches that are stopped in their midst and go on from data: the same results from every point, refusals by name, and
//! no crash from data that is damaged.

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
