//! The context column of the API table: which context a call needs.

/// Context that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// None, and no initialised driver.
    Nothing,
    /// None, but an initialised driver. A runtime call initialises the driver itself.
    Driver,
    /// The context current to the thread.
    Current,
    /// A context on the thread's stack, destroyed or not.
    Stack,
    /// The context that is an argument; null means the current one.
    Context,
    /// The context of the object or memory that is an argument.
    Object,
    /// The context of the stream; the current one for a default stream.
    Stream,
    /// The current context; the runtime call creates the primary one for a thread without any.
    Initialises,
}

impl Need {
    /// The word that the table uses.
    pub fn label(self) -> &'static str {
        match self {
            Need::Nothing => "nothing",
            Need::Driver => "driver",
            Need::Current => "current",
            Need::Stack => "stack",
            Need::Context => "context",
            Need::Object => "object",
            Need::Stream => "stream",
            Need::Initialises => "initialises",
        }
    }

    /// Needs of driver calls.
    const OF_DRIVER: [Need; 7] =
        [Need::Nothing, Need::Driver, Need::Current, Need::Stack, Need::Context, Need::Object, Need::Stream];

    /// Needs of runtime calls.
    const OF_RUNTIME: [Need; 3] = [Need::Nothing, Need::Driver, Need::Initialises];

    /// Reads the word of a driver call.
    pub(crate) fn of_driver(word: &str) -> Option<Need> {
        Need::OF_DRIVER.into_iter().find(|need| need.label() == word)
    }

    /// Reads the word of a runtime call.
    pub(crate) fn of_runtime(word: &str) -> Option<Need> {
        Need::OF_RUNTIME.into_iter().find(|need| need.label() == word)
    }
}

/// Evidence words that the tables' heads explain.
pub(crate) const SOURCES: [&str; 10] = [
    "guide", "manual", "events", "streams", "copies", "launches", "handles", "pointers", "errors", "assumed",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Function, State, driver, runtime};
    use std::collections::BTreeMap;

    #[test]
    fn each_source_is_explained_and_used() {
        let head = include_str!("../libcuda.tsv");
        let functions = driver().unwrap_or_default();
        for source in SOURCES {
            assert!(head.contains(&format!("#   {source} ")), "{source} is not explained");
            assert!(functions.iter().any(|function| function.source == source), "{source} is not used");
        }
    }

    #[test]
    fn calls_with_one_body_need_one_context() {
        for functions in [driver().unwrap_or_default(), runtime().unwrap_or_default()] {
            let mut needs: BTreeMap<&str, &Function> = BTreeMap::new();
            for function in &functions {
                let State::Done(body) = function.state else { continue };
                let first = needs.entry(body).or_insert(function);
                assert_eq!(first.need, function.need, "{} and {}", first.name, function.name);
            }
        }
    }

    #[test]
    fn per_thread_variants_need_what_the_calls_need() {
        let functions = driver().unwrap_or_default();
        let need = |name: &str| functions.iter().find(|other| other.name == name).map(|other| other.need);
        for function in &functions {
            let plain = function.name.trim_end_matches("_ptsz").trim_end_matches("_ptds");
            assert!(need(plain).is_none_or(|need| need == function.need), "{}", function.name);
        }
    }
}
