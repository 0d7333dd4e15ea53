//! Sizes of options, which may have a unit.

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
    fn sizes_have_units() {
        let sizes = ["64", "64MiB", "1G", "1k"].map(mebibytes);
        assert_eq!(sizes, [Ok(64), Ok(64), Ok(1024), Ok(1)]);
        for text in ["", "soon", "-1", "2 fortnights", "99999999999999999999"] {
            assert!(mebibytes(text).is_err(), "{text}");
        }
    }
}
