//! Figures of a comparison: errors, ranks, and the cost of the model's choice.

use serde::{Deserialize, Serialize};

/// Time of a row on the card and in the model, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) card: f64,
    pub(super) model: f64,
}

impl Pair {
    /// Error of the model as a part of the card's time; positive if the model is slow.
    pub(super) fn error(&self) -> f64 {
        self.model / self.card - 1.0
    }
}

/// Figures of a suite. Errors are parts of the card's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) rows: usize,
    /// Mean, median, 90th percentile and largest absolute error.
    pub(super) mean: f64,
    pub(super) median: f64,
    pub(super) percentile_90: f64,
    pub(super) worst: f64,
    /// Mean error with its sign.
    pub(super) bias: f64,
    /// Spearman's rank correlation; absent where all times of a side are equal.
    pub(super) spearman: Option<f64>,
    /// How much longer the card takes for the model's best row than for its own best one.
    pub(super) choice: f64,
}

impl Figures {
    /// Figures of some rows; `None` without rows.
    pub(super) fn of(pairs: &[Pair]) -> Option<Figures> {
        let mut errors: Vec<f64> = pairs.iter().map(|pair| pair.error().abs()).collect();
        errors.sort_by(f64::total_cmp);
        let best = pairs.iter().map(|pair| pair.card).min_by(f64::total_cmp)?;
        let chosen = pairs.iter().min_by(|left, right| left.model.total_cmp(&right.model))?;
        let count = pairs.len() as f64;
        Some(Figures {
            rows: pairs.len(),
            mean: errors.iter().sum::<f64>() / count,
            median: quantile(&errors, 0.5),
            percentile_90: quantile(&errors, 0.9),
            worst: quantile(&errors, 1.0),
            bias: pairs.iter().map(Pair::error).sum::<f64>() / count,
            spearman: spearman(pairs),
            choice: chosen.card / best - 1.0,
        })
    }

    /// Figures that are worse than those of `earlier` by more than a point, in words.
    pub(super) fn worse_than(&self, earlier: &Figures) -> Vec<String> {
        const POINT: f64 = 0.01;
        let errors = [
            ("mean error", self.mean, earlier.mean),
            ("median error", self.median, earlier.median),
            ("90th percentile", self.percentile_90, earlier.percentile_90),
            ("worst row", self.worst, earlier.worst),
            ("bias", self.bias.abs(), earlier.bias.abs()),
            ("choice", self.choice, earlier.choice),
            // A lower correlation is worse.
            ("Spearman", -self.spearman.unwrap_or(0.0), -earlier.spearman.unwrap_or(0.0)),
        ];
        let risen = errors.into_iter().filter(|(_, now, before)| now - before > POINT + f64::EPSILON);
        let percent = |value: f64| 100.0 * value.abs();
        risen
            .map(|(name, now, before)| format!("{name}: {:.1}, was {:.1}", percent(now), percent(before)))
            .collect()
    }
}

/// A quantile of sorted values, between neighbours by linear interpolation.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * sorted.len().saturating_sub(1) as f64;
    let value = |index: f64| sorted.get(index as usize).copied().unwrap_or(0.0);
    let (low, high) = (value(place.floor()), value(place.ceil()));
    low + (high - low) * place.fract()
}

/// Spearman's rank correlation: Pearson's of the ranks, where equal values share their mean rank.
fn spearman(pairs: &[Pair]) -> Option<f64> {
    let card = ranks(&pairs.iter().map(|pair| pair.card).collect::<Vec<_>>());
    let model = ranks(&pairs.iter().map(|pair| pair.model).collect::<Vec<_>>());
    let mean = (pairs.len() as f64 + 1.0) / 2.0;
    let covariance = |left: &[f64], right: &[f64]| -> f64 {
        left.iter().zip(right).map(|(left, right)| (left - mean) * (right - mean)).sum()
    };
    let spread = covariance(&card, &card) * covariance(&model, &model);
    (spread > 0.0).then(|| covariance(&card, &model) / spread.sqrt())
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal = values.iter().filter(|other| *other == value).count() as f64;
        below + (equal + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn pairs(all: &[(f64, f64)]) -> Vec<Pair> {
        all.iter().map(|&(card, model)| Pair { card, model }).collect()
    }

    fn is_near(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-12
    }

    #[test]
    fn errors_are_parts_of_the_cards_time() {
        let of = Figures::of(&pairs(&[(10.0, 12.0), (10.0, 9.0), (20.0, 20.0)])).unwrap();
        assert!(is_near(of.mean, 0.1) && is_near(of.median, 0.1) && is_near(of.worst, 0.2), "{of:?}");
        assert!(is_near(of.bias, 0.1 / 3.0), "{of:?}");
    }

    #[test]
    fn percentile_lies_between_neighbours() {
        let sorted: Vec<f64> = (0..=10).map(f64::from).collect();
        assert!(is_near(quantile(&sorted, 0.9), 9.0) && is_near(quantile(&sorted, 0.25), 2.5));
        assert!(is_near(quantile(&[3.0], 0.9), 3.0));
    }

    #[test]
    fn equal_times_share_their_mean_rank() {
        assert_eq!(ranks(&[2.0, 1.0, 2.0, 3.0]), [2.5, 1.0, 2.5, 4.0]);
        let of = Figures::of(&pairs(&[(1.0, 1.0), (2.0, 3.0), (2.0, 2.0), (3.0, 4.0)])).unwrap();
        // Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: covariance 4.5, spreads 4.5 and 5.
        assert!(is_near(of.spearman.unwrap(), 4.5 / (4.5_f64 * 5.0).sqrt()), "{of:?}");
    }

    #[test]
    fn opposite_order_has_rank_correlation_minus_one() {
        let of = Figures::of(&pairs(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)])).unwrap();
        assert!(is_near(of.spearman.unwrap(), -1.0));
        assert_eq!(Figures::of(&pairs(&[(1.0, 3.0)])).unwrap().spearman, None);
    }

    #[test]
    fn choice_is_the_cards_time_for_the_models_best_row() {
        let of = Figures::of(&pairs(&[(10.0, 5.0), (11.0, 4.0), (30.0, 40.0)])).unwrap();
        assert!(is_near(of.choice, 0.1), "{of:?}");
    }

    #[test]
    fn figure_worse_by_more_than_a_point_is_told() {
        let earlier = Figures::of(&pairs(&[(10.0, 11.0), (20.0, 22.0)])).unwrap();
        assert!(earlier.worse_than(&earlier).is_empty());
        let within = Figures { mean: earlier.mean + 0.009, ..earlier.clone() };
        assert!(within.worse_than(&earlier).is_empty());
        let worse = Figures { mean: earlier.mean + 0.02, spearman: Some(0.5), ..earlier.clone() };
        assert_eq!(worse.worse_than(&earlier), ["mean error: 12.0, was 10.0", "Spearman: 50.0, was 100.0"]);
        let better = Figures { mean: 0.0, ..earlier.clone() };
        assert!(better.worse_than(&earlier).is_empty());
    }
}
