//! Simulated time of stream work, reported by the model to the thread that executes it.

use std::cell::Cell;

/// An interval of simulated time in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    /// Start.
    pub(crate) start: f64,
    /// End.
    pub(crate) end: f64,
}

impl Span {
    /// The smallest interval that contains both.
    fn joined(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

thread_local! {
    /// Interval taken so far by the thread's current work.
    static TAKEN: Cell<Option<Span>> = const { Cell::new(None) };
}

/// Adds an interval of simulated time to the thread's current work.
pub(crate) fn took(span: Span) {
    TAKEN.set(Some(TAKEN.get().map_or(span, |before| before.joined(span))));
}

/// Executes work and returns its interval of simulated time, if any. The interval also counts for
/// enclosing work.
pub(crate) fn collected<T>(work: impl FnOnce() -> T) -> (T, Option<Span>) {
    let before = TAKEN.take();
    let outcome = work();
    let taken = TAKEN.take();
    TAKEN.set(before);
    taken.into_iter().for_each(took);
    (outcome, taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_the_time_of_all_its_parts() {
        let ((), whole) = collected(|| {
            let ((), first) = collected(|| took(Span { start: 2.0, end: 3.0 }));
            let ((), none) = collected(|| {});
            let ((), second) = collected(|| took(Span { start: 4.0, end: 7.5 }));
            assert_eq!(first, Some(Span { start: 2.0, end: 3.0 }));
            assert_eq!((none, second), (None, Some(Span { start: 4.0, end: 7.5 })));
        });
        assert_eq!(whole, Some(Span { start: 2.0, end: 7.5 }));
        assert_eq!(collected(|| {}).1, None, "nothing is left for the next work");
        TAKEN.set(None);
    }
}
