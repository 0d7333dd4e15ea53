//! Speed of the engine, and the model beside cards, other simulators and `ptxas`. Micro-benchmarks and
//! measurements of cards are in `evaluation`; `docs/evaluation` has the results.

pub(crate) mod accuracy;
pub(crate) mod bench;
pub(crate) mod correlate;
mod inputs;
mod machine_words;
pub(crate) mod micro;
pub(crate) mod power;
pub(crate) mod registers;
