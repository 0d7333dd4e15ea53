//! Random choice of rows.

use crate::random::Random;

/// `count` different numbers below `bound` in random order; all if `count` is larger. One seed gives the
/// same numbers everywhere, and a larger count starts with those of a smaller one.
pub(super) fn draw(count: usize, bound: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut numbers: Vec<usize> = (0..bound).collect();
    for place in 0..count.min(bound) {
        let chosen = place + random.below(bound - place);
        numbers.swap(place, chosen);
    }
    numbers.truncate(count);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn one_seed_draws_the_same_rows() {
        assert_eq!(draw(40, 2884, 7), draw(40, 2884, 7));
        assert_ne!(draw(40, 2884, 7), draw(40, 2884, 8));
        assert_eq!(draw(40, 2884, 7)[..10], draw(10, 2884, 7));
    }

    #[test]
    fn rows_are_drawn_once() {
        let drawn = draw(100, 60, 1);
        assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), 60);
        assert_eq!(drawn.iter().max(), Some(&59));
    }
}
