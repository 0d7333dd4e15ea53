//! Sweeps: keys with several values, and the configurations that they make together.
//!
//! `l1.size=16..128KiB, l1.sets=1..32` has two keys. `a..b` doubles from a to b, and `a..b:step`
//! is linear.

use std::fmt;

use serde::Serialize;

use crate::model::{Geometry, ModelSpec};

/// Most configurations of a sweep.
const MOST: usize = 10_000;

/// A key of the cache model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// Bytes of L1.
    Size,
    /// Sets of L1.
    Sets,
    /// Lines of a set.
    Ways,
    /// Bytes of a line.
    Line,
    /// MSHRs.
    Misses,
    /// Minimum latency of a miss.
    Latency,
    /// Standard deviation of the latency.
    Deviation,
    /// Seed of the latencies.
    Seed,
}

impl Key {
    /// Every key with its name and meaning.
    pub const ALL: [(Key, &'static str, &'static str); 8] = [
        (Key::Size, "l1.size", "bytes of L1; without it the launch decides where L1 and shared memory share"),
        (Key::Sets, "l1.sets", "sets"),
        (Key::Ways, "l1.ways", "lines of a set (associativity)"),
        (Key::Line, "l1.line", "bytes of a line"),
        (Key::Misses, "l1.misses", "MSHRs"),
        (Key::Latency, "model.latency", "time units from a miss to its effect"),
        (Key::Deviation, "model.deviation", "standard deviation of the normal distribution added to it"),
        (Key::Seed, "model.seed", "seed of the latencies"),
    ];

    /// Name in a sweep.
    pub fn name(self) -> &'static str {
        Key::ALL.iter().find(|(key, ..)| *key == self).map_or("", |(_, name, _)| name)
    }

    fn is_bytes(self) -> bool {
        matches!(self, Key::Size | Key::Line)
    }
}

/// Reason for which a sweep is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SweepError {
    /// A part has no `=`.
    #[error("`{0}`: a key, `=` and a value are needed")]
    Form(String),
    /// No such key.
    #[error("`{0}` is no key of the cache model")]
    Key(String),
    /// A key stands twice.
    #[error("`{0}` is given twice")]
    Twice(&'static str),
    /// The value cannot be read.
    #[error("{key}={value}: {reason}")]
    Value {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// The rule.
        reason: &'static str,
    },
    /// Too many configurations.
    #[error("the sweep has {0} configurations; at most 10,000 are possible")]
    Many(usize),
    /// The values of a configuration contradict one another.
    #[error("{configuration}: {reason}")]
    Contradiction {
        /// The configuration.
        configuration: String,
        /// The contradiction.
        reason: &'static str,
    },
}

impl SweepError {
    /// The user's way out.
    pub fn remedy(&self) -> String {
        match self {
            SweepError::Key(_) | SweepError::Form(_) => {
                let names: Vec<_> = Key::ALL.iter().map(|(_, name, _)| *name).collect();
                format!("use the keys {}", names.join(", "))
            }
            SweepError::Twice(_) => "leave one of the two out".to_owned(),
            SweepError::Value { .. } => {
                "write a number, a..b (doubling) or a..b:step, as in l1.size=16..128KiB".to_owned()
            }
            SweepError::Many(_) => "leave values out".to_owned(),
            SweepError::Contradiction { .. } => {
                "size = sets x ways x line must hold, with a line of 32 to 1,024 B".to_owned()
            }
        }
    }
}

/// Values of some keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration(pub Vec<(Key, u64)>);

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.0.iter().map(|(key, value)| format!("{}={value}", key.name())).collect();
        f.write_str(if texts.is_empty() { "as the GPU has it" } else { "" })?;
        f.write_str(&texts.join(" "))
    }
}

impl Serialize for Configuration {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key.name(), value)))
    }
}

/// The configurations of a sweep: all combinations, the last key fastest.
///
/// # Errors
/// The text has another form, or makes too many configurations.
pub fn configurations(text: &str) -> Result<Vec<Configuration>, SweepError> {
    let mut all = vec![Configuration::default()];
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| SweepError::Form(part.to_owned()))?;
        let (key, ..) = *Key::ALL
            .iter()
            .find(|(_, known, _)| *known == name.trim())
            .ok_or_else(|| SweepError::Key(name.trim().to_owned()))?;
        if all.iter().any(|configuration| configuration.0.iter().any(|(known, _)| *known == key)) {
            return Err(SweepError::Twice(key.name()));
        }
        let values = values(key, value.trim())?;
        let count = all.len().saturating_mul(values.len());
        if count > MOST {
            return Err(SweepError::Many(count));
        }
        let with = |configuration: &Configuration, value: u64| {
            Configuration([configuration.0.as_slice(), &[(key, value)]].concat())
        };
        all = all.iter().flat_map(|one| values.iter().map(|value| with(one, *value))).collect();
    }
    Ok(all)
}

fn values(key: Key, text: &str) -> Result<Vec<u64>, SweepError> {
    let wrong = |reason| SweepError::Value { key: key.name(), value: text.to_owned(), reason };
    let Some((start, rest)) = text.split_once("..") else {
        return Ok(vec![quantity(key, text, 1).ok_or_else(|| wrong("this is no number"))?.0]);
    };
    let (end, step) = match rest.split_once(':') {
        Some((end, step)) => (end, Some(step)),
        None => (rest, None),
    };
    let (end, unit) = quantity(key, end, 1).ok_or_else(|| wrong("the end is no number"))?;
    let (start, _) = quantity(key, start, unit).ok_or_else(|| wrong("the start is no number"))?;
    let step = match step {
        Some(step) => {
            let step = quantity(key, step, unit).filter(|step| step.0 > 0);
            Some(step.ok_or_else(|| wrong("the step must be a number above 0"))?.0)
        }
        None if start == 0 => return Err(wrong("a doubling range must start above 0")),
        None => None,
    };
    if start > end {
        return Err(wrong("the start is above the end"));
    }
    let next = |value: &u64| match step {
        Some(step) => value.checked_add(step),
        None => value.checked_mul(2),
    };
    let values: Vec<u64> =
        std::iter::successors(Some(start), next).take_while(|value| *value <= end).take(MOST + 1).collect();
    Ok(values)
}

/// A number and its unit; numbers without a unit have the given one.
fn quantity(key: Key, text: &str, unit: u64) -> Option<(u64, u64)> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, name) = text.split_at(digits);
    let unit = match name.trim() {
        "" => unit,
        "B" if key.is_bytes() => 1,
        "KiB" if key.is_bytes() => 1 << 10,
        "MiB" if key.is_bytes() => 1 << 20,
        _ => return None,
    };
    Some((number.parse::<u64>().ok()?.checked_mul(unit)?, unit))
}

impl Configuration {
    /// Changes a model.
    ///
    /// # Errors
    /// The values contradict one another or the model.
    pub fn apply(&self, spec: &mut ModelSpec) -> Result<(), SweepError> {
        let value = |key: Key| self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| *value);
        let refuse = |reason| SweepError::Contradiction { configuration: self.to_string(), reason };
        if let Some(line) = value(Key::Line) {
            if !line.is_power_of_two() || !(32..=1024).contains(&line) {
                return Err(refuse("a line has 32 to 1,024 B, a power of two"));
            }
            spec.line = line as u32;
        }
        let line = u64::from(spec.line);
        let Geometry { size, sets, .. } = spec.geometry;
        let (size, sets) = match (value(Key::Size), value(Key::Sets), value(Key::Ways)) {
            (Some(size), Some(sets), Some(ways))
                if size != sets.saturating_mul(ways).saturating_mul(line) =>
            {
                return Err(refuse("the size differs from sets x ways x line"));
            }
            (None, Some(sets), Some(ways)) => (sets.saturating_mul(ways).saturating_mul(line), sets),
            (size_or_none, None, Some(ways)) => {
                let size = size_or_none.unwrap_or(size.into());
                (size, size / line / ways.max(1))
            }
            (size_or_none, sets_or_none, _) => {
                (size_or_none.unwrap_or(size.into()), sets_or_none.unwrap_or(sets.into()))
            }
        };
        if sets == 0 || sets.saturating_mul(line) > size {
            return Err(refuse("a set has no line"));
        }
        if size > 1 << 30 {
            return Err(refuse("the size is above 1 GiB"));
        }
        if !size.is_multiple_of(sets * line) {
            return Err(refuse("the size is no multiple of sets x line"));
        }
        (spec.geometry.size, spec.geometry.sets) = (size as u32, sets as u32);
        if let Some(misses) = value(Key::Misses) {
            if misses == 0 {
                return Err(refuse("an L1 without MSHRs cannot miss"));
            }
            spec.misses = u32::try_from(misses).unwrap_or(u32::MAX);
        }
        if let Some(latency) = value(Key::Latency) {
            let latency = latency.min(1 << 20) as u32;
            spec.latency.memory = spec.latency.memory.saturating_sub(spec.latency.minimum) + latency;
            spec.latency.minimum = latency;
        }
        if let Some(deviation) = value(Key::Deviation) {
            spec.latency.deviation = deviation.min(1 << 20) as f64;
        }
        if let Some(seed) = value(Key::Seed) {
            spec.latency.seed = seed;
        }
        Ok(())
    }

    /// The values that change the order of accesses: all but size, sets and ways.
    pub(crate) fn of_order(&self) -> Configuration {
        let is_of_order = |key: &Key| !matches!(key, Key::Size | Key::Sets | Key::Ways);
        Configuration(self.0.iter().copied().filter(|(key, _)| is_of_order(key)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_double_or_step_and_share_the_unit_of_their_end() {
        let of = |key, text| values(key, text).expect("values");
        assert_eq!(of(Key::Size, "16..128KiB"), [16, 32, 64, 128].map(|size| size << 10));
        assert_eq!(of(Key::Sets, "1..6"), [1, 2, 4]);
        assert_eq!(of(Key::Misses, "16..64:16"), [16, 32, 48, 64]);
        assert_eq!(of(Key::Size, "512B..2KiB"), [512, 1024, 2048]);
    }

    #[test]
    fn sweep_makes_every_combination() {
        let all = configurations("l1.size=16..128KiB, l1.sets=1..32, l1.misses=16..256").expect("a sweep");
        assert_eq!(all.len(), 4 * 6 * 5);
        assert_eq!(all[1].to_string(), "l1.size=16384 l1.sets=1 l1.misses=32");
    }

    #[test]
    fn mistakes_in_sweeps_are_refused() {
        for text in [
            "l1.size",
            "l1.sise=1",
            "l1.sets=1..0",
            "l1.sets=0..4",
            "l1.sets=1KiB",
            "l1.sets=1..9:0",
            "l1.sets=1, l1.sets=2",
            "model.seed=1..20000:1",
        ] {
            assert!(configurations(text).is_err(), "{text}");
        }
    }
}
