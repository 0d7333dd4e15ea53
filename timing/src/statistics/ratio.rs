//! Statistics derived from counters.

use super::Counter;

/// Counter values, in the order of units.
pub type Counts = Vec<(&'static Counter, u64)>;

/// A derived statistic: a product of counter sums over another product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Unit of the machine.
    pub section: &'static str,
    /// Name within the section.
    pub name: &'static str,
    /// Meaning, as `explain` shows it.
    pub meaning: &'static str,
    /// Unit of measurement.
    pub unit: &'static str,
    /// Equal metric of Nsight Compute; empty if there is none.
    pub metric: &'static str,
    /// Factor of the quotient: 100 for per cent.
    pub scale: f64,
    /// Factors of the numerator: sums of counters named `section.name`.
    pub numerator: &'static [&'static [&'static str]],
    /// Factors of the denominator; empty for 1.
    pub denominator: &'static [&'static [&'static str]],
}

impl Ratio {
    /// Value; `None` if a counter is missing or the denominator is 0.
    pub fn of(&self, counts: &[(&'static Counter, u64)]) -> Option<f64> {
        let numerator = product(counts, self.numerator)?;
        let denominator = product(counts, self.denominator)?;
        (denominator > 0.0).then(|| self.scale * numerator / denominator)
    }
}

/// Product of counter sums by name; `None` if a counter is missing.
fn product(counts: &[(&'static Counter, u64)], sums: &[&[&str]]) -> Option<f64> {
    let sum = |names: &&[&str]| names.iter().map(|name| value(counts, name)).sum::<Option<u64>>();
    sums.iter().map(|names| sum(names).map(|sum| sum as f64)).product()
}

/// Value of a counter named `section.name`.
pub fn value(counts: &[(&'static Counter, u64)], name: &str) -> Option<u64> {
    let (section, name) = name.split_once('.')?;
    let found = counts.iter().find(|(counter, _)| counter.section == section && counter.name == name);
    found.map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    static HITS: Counter = Counter::sum("l1", "hits", "sectors", "");
    static MISSES: Counter = Counter { name: "misses", ..HITS };
    const RATE: Ratio = Ratio {
        section: "l1",
        name: "hit_rate",
        meaning: "",
        unit: "%",
        metric: "",
        scale: 100.0,
        numerator: &[&["l1.hits"]],
        denominator: &[&["l1.hits", "l1.misses"]],
    };

    #[test]
    fn ratio_divides_counter_sums() {
        assert_eq!(RATE.of(&[(&HITS, 1), (&MISSES, 3)]), Some(25.0));
    }

    #[test]
    fn ratio_over_zero_has_no_value() {
        assert_eq!(RATE.of(&[(&HITS, 0), (&MISSES, 0)]), None);
        assert_eq!(RATE.of(&[(&HITS, 1)]), None);
    }
}
