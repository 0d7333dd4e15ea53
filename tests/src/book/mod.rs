//! The book under `docs/`: its links, and the examples in it that a test runs.

mod examples;
mod links;

pub use examples::{Example, Language, examples, of_page};
pub use links::broken_links;
