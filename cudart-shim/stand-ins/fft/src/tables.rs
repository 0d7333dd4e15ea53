//! Tables of roots of unity and chirps, computed in double precision.

use std::collections::BTreeMap;

use standin_driver::{Address, driver};

use crate::lengths::chirp;
use crate::request::Precision;
use crate::status::{Answer, Status};

/// A table of complex values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Table {
    /// e^(-2 pi i k / n), k below n.
    Roots(u64),
    /// e^(-pi i k² / n), k below n.
    Chirp(u64),
    /// Transform of the inverse chirp of n, for Bluestein's convolution.
    Spectrum(u64),
}

type Value = [f64; 2];

/// e^(-2 pi i k / n). The angle of a sine is at most an eighth of a turn, so that its error is that
/// of one rounding.
fn root(k: u64, n: u64) -> Value {
    let (quarter, rest) = (4 * k / n, 4 * k % n);
    let angle = |part: u64| std::f64::consts::FRAC_PI_2 * (part as f64 / n as f64);
    let (sine, cosine) = if 2 * rest > n {
        let (sine, cosine) = angle(n - rest).sin_cos();
        (cosine, sine)
    } else {
        angle(rest).sin_cos()
    };
    match quarter % 4 {
        0 => [cosine, -sine],
        1 => [-sine, -cosine],
        2 => [-cosine, sine],
        _ => [sine, cosine],
    }
}

fn product([a, b]: Value, [c, d]: Value) -> Value {
    [a * c - b * d, a * d + b * c]
}

/// e^(-pi i k² / n); the square is taken by its remainder.
fn chirp_value(k: u64, n: u64) -> Value {
    let square = u128::from(k) * u128::from(k) % (2 * u128::from(n));
    root(square as u64, 2 * n)
}

/// Transform of a power of two values.
fn transform(values: &[Value]) -> Vec<Value> {
    let n = values.len();
    if n < 2 {
        return values.to_vec();
    }
    let half = |odd: usize| transform(&values.iter().skip(odd).step_by(2).copied().collect::<Vec<_>>());
    let (even, odd) = (half(0), half(1));
    let turned = |k: usize, odd: Value| product(odd, root(k as u64, n as u64));
    let turned: Vec<Value> = odd.iter().enumerate().map(|(k, odd)| turned(k, *odd)).collect();
    let sums = even.iter().zip(&turned).map(|(a, b)| [a[0] + b[0], a[1] + b[1]]);
    let differences = even.iter().zip(&turned).map(|(a, b)| [a[0] - b[0], a[1] - b[1]]);
    sums.chain(differences).collect()
}

/// Transform of the conjugated chirp of `n`, which is symmetric around 0, divided by its length.
fn spectrum(n: u64) -> Vec<Value> {
    let length = chirp(n).unwrap_or(n);
    let value = |k: u64| {
        let distance = k.min(length - k);
        let [re, im] = if distance < n { chirp_value(distance, n) } else { [0.0, 0.0] };
        [re / length as f64, -im / length as f64]
    };
    transform(&(0..length).map(value).collect::<Vec<_>>())
}

impl Table {
    fn values(self) -> Vec<Value> {
        match self {
            Table::Roots(n) => (0..n).map(|k| root(k, n)).collect(),
            Table::Chirp(n) => (0..n).map(|k| chirp_value(k, n)).collect(),
            Table::Spectrum(n) => spectrum(n),
        }
    }
}

/// Tables in the device's memory.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    memory: Option<Address>,
    places: BTreeMap<Table, Address>,
}

impl Tables {
    /// Computes tables and copies them to the current device.
    pub(crate) fn new(tables: impl IntoIterator<Item = Table>, precision: Precision) -> Answer<Tables> {
        let mut bytes: Vec<u8> = Vec::new();
        let mut places = BTreeMap::new();
        for table in tables {
            if places.contains_key(&table) {
                continue;
            }
            places.insert(table, bytes.len() as u64);
            for part in table.values().iter().flatten() {
                match precision {
                    Precision::Single => bytes.extend((*part as f32).to_le_bytes()),
                    Precision::Double => bytes.extend(part.to_le_bytes()),
                }
            }
        }
        if bytes.is_empty() {
            return Ok(Tables::default());
        }
        let driver = driver()?;
        let memory = driver.allocate(bytes.len())?;
        let tables = Tables {
            memory: Some(memory),
            places: places.into_iter().map(|(table, place)| (table, memory + place)).collect(),
        };
        driver.copy(memory, bytes.as_ptr() as u64, bytes.len(), 0)?;
        driver.synchronize(0)?;
        Ok(tables)
    }

    /// Address of a table; 0 for none.
    pub(crate) fn address(&self, table: Option<Table>) -> Answer<Address> {
        let Some(table) = table else { return Ok(0) };
        self.places.get(&table).copied().ok_or(Status::InternalError)
    }
}

impl Drop for Tables {
    /// The plan has made their context current.
    fn drop(&mut self) {
        if let (Some(memory), Ok(driver)) = (self.memory, driver()) {
            // A context that the program has destroyed has no memory any more.
            let _ = driver.free(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_lie_on_the_circle() {
        for n in [1, 3, 8, 100] {
            for k in 0..n {
                let angle = -std::f64::consts::TAU * k as f64 / n as f64;
                let [re, im] = root(k, n);
                assert!((re - angle.cos()).abs() < 1e-15 && (im - angle.sin()).abs() < 1e-15, "{k}/{n}");
            }
        }
    }

    #[test]
    fn transform_of_a_root_is_one_line() {
        let values: Vec<Value> = (0..16).map(|k| root(16 - k, 16)).collect();
        for (k, [re, im]) in transform(&values).into_iter().enumerate() {
            let expected = if k == 1 { 16.0 } else { 0.0 };
            assert!((re - expected).abs() < 1e-14 && im.abs() < 1e-14, "{k}");
        }
    }
}
