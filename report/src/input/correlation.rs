//! Statistics beside a profiler's table: JSON of `voltsim correlate --json`.

use std::collections::BTreeMap;

use super::fields::Fields;
use crate::ReportError;

/// Metrics with the values of all launches.
#[derive(Debug)]
pub struct Correlation {
    /// Name of the file.
    pub name: String,
    /// Metrics, those with most launches first.
    pub metrics: Vec<Scatter>,
    /// Names of the programs, in the order of the file.
    pub programs: Vec<String>,
}

/// Values of a metric.
#[derive(Debug)]
pub struct Scatter {
    /// Name of the metric.
    pub metric: String,
    /// Values of launches.
    pub pairs: Vec<Pair>,
}

/// A metric's values of a launch.
#[derive(Debug)]
pub struct Pair {
    /// Place of the program in [`Correlation::programs`].
    pub program: usize,
    /// Signature of the kernel.
    pub kernel: String,
    /// Value of the model.
    pub ours: f64,
    /// Value of the card.
    pub card: f64,
}

impl Scatter {
    /// Mean of the relative errors, in per cent, over launches with a value of the card.
    pub fn mean_error(&self) -> Option<f64> {
        let errors: Vec<f64> = self
            .pairs
            .iter()
            .filter(|pair| pair.card > 0.0)
            .map(|pair| 100.0 * (pair.ours - pair.card).abs() / pair.card)
            .collect();
        (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
    }

    /// Pearson's correlation of the logarithms; `None` for fewer than three positive pairs.
    pub fn correlation(&self) -> Option<f64> {
        let positive = self.pairs.iter().filter(|pair| pair.ours > 0.0 && pair.card > 0.0);
        let logs: Vec<(f64, f64)> = positive.map(|pair| (pair.card.ln(), pair.ours.ln())).collect();
        if logs.len() < 3 {
            return None;
        }
        let count = logs.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|log| log.0), mean(|log| log.1));
        let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
        for (a, b) in &logs {
            xx += (a - x) * (a - x);
            yy += (b - y) * (b - y);
            xy += (a - x) * (b - y);
        }
        (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
    }
}

impl Correlation {
    pub(super) fn read(name: &str, fields: &Fields<'_>) -> Result<Correlation, ReportError> {
        let mut programs = Vec::new();
        let mut metrics: BTreeMap<String, Vec<Pair>> = BTreeMap::new();
        for program in fields.get("programs").list()? {
            programs.push(program.get("program").text()?.to_owned());
            for launch in program.get("launches").list()? {
                let kernel = launch.get("kernel").text()?;
                for (metric, values) in launch.get("metrics").entries()? {
                    metrics.entry(metric.to_owned()).or_default().push(Pair {
                        program: programs.len() - 1,
                        kernel: kernel.to_owned(),
                        ours: values.get("ours").number_or_zero()?,
                        card: values.get("card").number_or_zero()?,
                    });
                }
            }
        }
        if metrics.is_empty() {
            return Err(ReportError::Empty(name.to_owned()));
        }
        let mut metrics: Vec<Scatter> =
            metrics.into_iter().map(|(metric, pairs)| Scatter { metric, pairs }).collect();
        metrics.sort_by_key(|scatter| std::cmp::Reverse(scatter.pairs.len()));
        // Time is of most interest.
        metrics.sort_by_key(|scatter| !scatter.metric.starts_with("gpc__cycles_elapsed"));
        Ok(Correlation { name: name.to_owned(), metrics, programs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_no_error_and_full_correlation() {
        let pair = |ours, card| Pair { program: 0, kernel: String::new(), ours, card };
        let equal =
            Scatter { metric: String::new(), pairs: vec![pair(1.0, 1.0), pair(5.0, 5.0), pair(9.0, 9.0)] };
        assert_eq!(equal.mean_error(), Some(0.0));
        assert!(equal.correlation().is_some_and(|value| (value - 1.0).abs() < 1e-12));
        let off = Scatter { metric: String::new(), pairs: vec![pair(2.0, 1.0), pair(3.0, 4.0)] };
        assert_eq!((off.mean_error(), off.correlation()), (Some(62.5), None));
    }
}
