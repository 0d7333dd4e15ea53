//! Scales: values to coordinates, and round values for ticks.

/// A scale of values onto coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    is_log: bool,
    values: (f64, f64),
    pub(crate) coordinates: (f64, f64),
}

impl Scale {
    /// A linear scale.
    pub(crate) fn linear(values: (f64, f64), coordinates: (f64, f64)) -> Scale {
        let values = if values.1 > values.0 { values } else { (values.0, values.0 + 1.0) };
        Scale { is_log: false, values, coordinates }
    }

    /// A logarithmic scale of positive values, extended to whole powers of ten.
    pub(crate) fn log(values: (f64, f64), coordinates: (f64, f64)) -> Scale {
        let low = values.0.max(1e-12).log10().floor();
        let high = values.1.max(1e-12).log10().ceil().max(low + 1.0);
        Scale { is_log: true, values: (10_f64.powf(low), 10_f64.powf(high)), coordinates }
    }

    /// The values at both ends.
    pub(crate) fn values(&self) -> (f64, f64) {
        self.values
    }

    /// Coordinate of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let part = match self.is_log {
            true => (value.max(low * 1e-3).log10() - low.log10()) / (high.log10() - low.log10()),
            false => (value - low) / (high - low),
        };
        self.coordinates.0 + part * (self.coordinates.1 - self.coordinates.0)
    }

    /// Values of ticks, at most about `count`.
    pub(crate) fn ticks(&self, count: usize) -> Vec<f64> {
        let (low, high) = self.values;
        if self.is_log {
            let (first, last) = (low.log10().round() as i32, high.log10().round() as i32);
            let step = ((last - first) as usize / count.max(1) + 1) as i32;
            return (first..=last).step_by(step.max(1) as usize).map(|power| 10_f64.powi(power)).collect();
        }
        let step = round_step((high - low) / count.max(1) as f64);
        let first = (low / step).ceil();
        let mut ticks = Vec::new();
        let mut place = 0.0;
        while (first + place) * step <= high + step * 1e-9 {
            ticks.push((first + place) * step);
            place += 1.0;
        }
        ticks
    }
}

/// The smallest step of 1, 2 or 5 times a power of ten that is not below `least`.
pub(crate) fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.max(1e-300).log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// The next round value that is not below `value`, as the end of an axis.
pub(crate) fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let step = round_step(value / 4.0);
    (value / step - 1e-9).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_scale() {
        assert_eq!(Scale::linear((0.0, 97.0), (0.0, 1.0)).ticks(5), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(Scale::log((3.0, 2000.0), (0.0, 1.0)).ticks(9), [1.0, 10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!([round_up(0.0), round_up(97.0), round_up(23.0)], [1.0, 100.0, 30.0]);
    }

    #[test]
    fn log_scale_is_even_in_powers_of_ten() {
        let scale = Scale::log((1.0, 100.0), (0.0, 10.0));
        assert_eq!([scale.at(1.0), scale.at(10.0), scale.at(100.0)], [0.0, 5.0, 10.0]);
    }
}
