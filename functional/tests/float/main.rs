//! Every floating-point and conversion form, one instruction at a time on the engine, against `rustc_apfloat`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets an error has failed"
)]

mod approximate;
mod arithmetic;
mod choices;
mod convert;
mod machine;
mod oracle;
mod values;
