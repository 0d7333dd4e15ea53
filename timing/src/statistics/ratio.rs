//! Values that counters give.

use super::Counter;

/// What was counted, in the order of the units.
pub type Counts = Vec<(&'static Counter, u64)>;

/// A value that counters give: a product of sums of counters over another product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Unit of the machine it belongs to.
    pub section: &'static str,
    /// Name within the section.
    pub name: &'static str,
    /// What it says.
    pub meaning: &'static str,
    /// In what.
    pub unit: &'static str,
    /// The metric of Nsight Compute that it equals; empty if there is none.
    pub metric: &'static str,
    /// What the quotient is multiplied with: 100 for per cent.
    pub scale: f64,
    /// What is multiplied: sums of counters, `section.name`.
    pub numerator: &'static [&'static [&'static str]],
    /// What it is divided by, as the numerator; nothing for 1.
    pub denominator: &'static [&'static [&'static str]],
}

impl Ratio {
    /// Its value; nothing if a counter is not there, or it would be divided by nothing.
    pub fn of(&self, counts: &[(&'static Counter, u64)]) -> Option<f64> {
        let numerator = product(counts, self.numerator)?;
        let denominator = product(counts, self.denominator)?;
        (denominator > 0.0).then(|| self.scale * numerator / denominator)
    }
}

/// A product of sums of counters by their names; nothing if one is not there.
fn product(counts: &[(&'static Counter, u64)], sums: &[&[&str]]) -> Option<f64> {
    let sum = |names: &&[&str]| names.iter().map(|name| value(counts, name)).sum::<Option<u64>>();
    sums.iter().map(|names| sum(names).map(|sum| sum as f64)).product()
}

/// A counter's value by its name, `section.name`.
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
    fn a_ratio_divides_sums_of_counters() {
        assert_eq!(RATE.of(&[(&HITS, 1), (&MISSES, 3)]), Some(25.0));
    }

    #[test]
    fn a_ratio_of_nothing_has_no_value() {
        assert_eq!(RATE.of(&[(&HITS, 0), (&MISSES, 0)]), None);
        assert_eq!(RATE.of(&[(&HITS, 1)]), None);
    }
}
