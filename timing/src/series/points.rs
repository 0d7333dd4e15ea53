//! Points: rows of values of one width, merged in pairs when they become too many.

use serde::{Deserialize, Serialize};

/// Consecutive points with a value for each column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Points {
    /// Columns.
    width: usize,
    /// Values, point by point.
    values: Vec<u64>,
}

impl Points {
    /// No points of a width.
    pub(super) fn new(width: usize) -> Points {
        Points { width, values: Vec::new() }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// True without points.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Values of a column.
    pub fn column(&self, column: usize) -> Vec<u64> {
        self.values.iter().skip(column).step_by(self.width.max(1)).copied().collect()
    }

    /// Sum of each column.
    pub fn sums(&self) -> Vec<u64> {
        let mut sums = vec![0; self.width];
        for point in self.values.chunks(self.width.max(1)) {
            sums.iter_mut().zip(point).for_each(|(sum, value)| *sum += value);
        }
        sums
    }

    /// Adds a point.
    pub(super) fn push(&mut self, point: impl IntoIterator<Item = u64>) {
        let before = self.values.len();
        self.values.extend(point);
        debug_assert_eq!(self.values.len() - before, self.width, "a point has a value for each column");
    }

    /// Adds `more` to the last point, or as the first one.
    pub(super) fn add_to_last(&mut self, more: &[u64]) {
        if self.is_empty() {
            return self.push(more.iter().copied());
        }
        let start = self.values.len() - self.width;
        self.values[start..].iter_mut().zip(more).for_each(|(value, more)| *value += more);
    }

    /// Sets the columns from `first` on to the growth of `values`, a function of the sums of all
    /// points so far. Values below an earlier point's, or above the last point's, are held there.
    pub(super) fn account(&mut self, first: usize, values: impl Fn(&[u64]) -> Vec<u64>) {
        let last = values(&self.sums());
        let mut before = vec![0; last.len()];
        let mut sums = vec![0; self.width];
        for point in self.values.chunks_mut(self.width.max(1)) {
            sums.iter_mut().zip(&*point).for_each(|(sum, value)| *sum += value);
            let columns = point[first..].iter_mut().zip(&mut before).zip(&last);
            for (((column, before), last), now) in columns.zip(values(&sums)) {
                let now = now.clamp(*before, (*last).max(*before));
                (*column, *before) = (now - *before, now);
            }
        }
    }

    /// Subtracts `less` from a column, from the last point backwards.
    pub(super) fn take(&mut self, column: usize, mut less: u64) {
        for point in self.values.chunks_mut(self.width.max(1)).rev() {
            let taken = point[column].min(less);
            point[column] -= taken;
            less -= taken;
            if less == 0 {
                return;
            }
        }
    }

    /// Adds up each two consecutive points.
    pub(super) fn merge_pairs(&mut self) {
        let (width, points) = (self.width, self.len());
        for place in 0..points.div_ceil(2) {
            for column in 0..width {
                let first = self.values[2 * place * width + column];
                let second = self.values.get((2 * place + 1) * width + column).copied().unwrap_or(0);
                self.values[place * width + column] = first + second;
            }
        }
        self.values.truncate(points.div_ceil(2) * width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[[u64; 2]]) -> Points {
        let mut points = Points::new(2);
        values.iter().for_each(|point| points.push(*point));
        points
    }

    #[test]
    fn merging_pairs_keeps_the_sums() {
        let mut all = points(&[[1, 10], [2, 20], [3, 30]]);
        all.merge_pairs();
        assert_eq!(all, points(&[[3, 30], [3, 30]]));
        assert_eq!(all.sums(), [6, 60]);
    }

    #[test]
    fn taking_goes_backwards_through_the_points() {
        let mut all = points(&[[5, 1], [2, 1]]);
        all.take(0, 3);
        assert_eq!(all, points(&[[4, 1], [0, 1]]));
        all.add_to_last(&[7, 0]);
        assert_eq!(all.column(0), [4, 7]);
    }
}
