//! The book under `docs/`: its links, the examples that a test runs, and the model diffs that a test applies.

mod examples;
mod links;
mod patches;

pub use examples::{Example, Language, examples, of_page};
pub use links::broken_links;
pub use patches::{Patch, patches};
