//! Suspended launches: equal results after resumption from every point, named refusals, and no crash on
//! damaged data.

#![allow(clippy::unwrap_used, clippy::panic)]

mod bench;
mod clusters;
mod damage;
mod every_form;
mod points;
mod refusals;
mod timed;
mod under_a_model;
