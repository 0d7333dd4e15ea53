//! Times and sizes of options, which may have a unit.

/// Units of time, and their seconds.
const TIMES: &[(&str, u64)] =
    &[("", 1), ("s", 1), ("sec", 1), ("m", 60), ("min", 60), ("h", 3600), ("hours", 3600), ("d", 86400)];

/// Units of size, and their bytes; a number without a unit is in MiB.
const SIZES: &[(&str, u64)] = &[
    ("", 1 << 20),
    ("b", 1),
    ("k", 1 << 10),
    ("kb", 1 << 10),
    ("kib", 1 << 10),
    ("m", 1 << 20),
    ("mb", 1 << 20),
    ("mib", 1 << 20),
    ("g", 1 << 30),
    ("gb", 1 << 30),
    ("gib", 1 << 30),
    ("t", 1 << 40),
    ("tib", 1 << 40),
];

/// A whole number of a unit, in the smallest.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let (_, factor) = units.iter().find(|(known, _)| *known == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Seconds: `90`, `90s`, `2min`.
pub(crate) fn seconds(text: &str) -> Result<u32, String> {
    let seconds = scaled(text, TIMES).and_then(|seconds| u32::try_from(seconds).ok());
    seconds.ok_or_else(|| "write seconds, or a time with a unit: 90, 90s, 2min, 1h".to_owned())
}

/// Whole MiB: `64`, `64MiB`, `1G`.
pub(crate) fn mebibytes(text: &str) -> Result<u64, String> {
    let bytes = scaled(text, SIZES);
    let mebibytes = bytes.map(|bytes| bytes.div_ceil(1 << 20));
    mebibytes.ok_or_else(|| "write MiB, or a size with a unit: 64, 64MiB, 1G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(
            [seconds("90"), seconds("90s"), seconds("2 min"), seconds("1h")],
            [Ok(90), Ok(90), Ok(120), Ok(3600)]
        );
        assert_eq!(
            [mebibytes("64"), mebibytes("64MiB"), mebibytes("1G"), mebibytes("1k")],
            [Ok(64), Ok(64), Ok(1024), Ok(1)]
        );
        for text in ["", "soon", "-1", "2 fortnights", "99999999999999999999"] {
            assert!(seconds(text).is_err() && mebibytes(text).is_err(), "{text}");
        }
    }
}
