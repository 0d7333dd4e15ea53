//! Numbers with units as typed on a command line: `32KiB`, `1.2GHz`, `28 cycles`.

use toml::Value;

/// Accepted units: the key's unit, its spellings, and their size in the key's unit (numerator,
/// denominator).
const UNITS: &[(&str, &[&str], u64, u64)] = &[
    ("B", &["b", "byte", "bytes"], 1, 1),
    ("B", &["k", "kb", "kib"], 1 << 10, 1),
    ("B", &["m", "mb", "mib"], 1 << 20, 1),
    ("B", &["g", "gb", "gib"], 1 << 30, 1),
    ("MHz", &["hz"], 1, 1_000_000),
    ("MHz", &["khz"], 1, 1000),
    ("MHz", &["mhz"], 1, 1),
    ("MHz", &["ghz"], 1000, 1),
    ("kHz", &["khz"], 1, 1),
    ("kHz", &["mhz"], 1000, 1),
    ("kHz", &["ghz"], 1_000_000, 1),
    ("mW", &["mw"], 1, 1),
    ("mW", &["w"], 1000, 1),
    ("mV", &["mv"], 1, 1),
    ("mV", &["v"], 1000, 1),
    ("fJ", &["fj"], 1, 1),
    ("fJ", &["pj"], 1000, 1),
    ("fJ", &["nj"], 1_000_000, 1),
    ("MB/s", &["kb/s"], 1, 1000),
    ("MB/s", &["mb/s"], 1, 1),
    ("MB/s", &["gb/s"], 1000, 1),
    ("MB/s", &["tb/s"], 1_000_000, 1),
];

/// Converts text to a value in the key's unit. Text without a leading number is a word.
///
/// # Errors
/// The unit does not fit the key, or the value is no whole number of the key's unit.
pub(crate) fn read(text: &str, unit: &str) -> Result<Value, String> {
    if let Some(list) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let values = list.split(',').map(str::trim).filter(|value| !value.is_empty());
        return Ok(Value::Array(values.map(|value| read(value, unit)).collect::<Result<_, _>>()?));
    }
    let plain = toml::from_str::<toml::Table>(&format!("value = {text}"));
    if let Some(value) = plain.ok().and_then(|mut table| table.remove("value")) {
        return Ok(value);
    }
    match split(text) {
        Some((number, suffix)) => scaled(number, suffix, unit).map(Value::Integer),
        None => Ok(Value::String(text.to_owned())),
    }
}

/// Splits text into a number and its suffix; `None` without a leading number.
fn split(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && !"._,".contains(letter))?;
    let (number, suffix) = text.split_at(end);
    number.starts_with(|letter: char| letter.is_ascii_digit()).then(|| (number, suffix.trim()))
}

fn scaled(number: &str, suffix: &str, unit: &str) -> Result<i64, String> {
    let (numerator, denominator) = factor(suffix, unit).ok_or_else(|| {
        let known = known(unit);
        format!("`{suffix}`: the unit must be {known}")
    })?;
    let digits: String = number.chars().filter(|letter| !"_,".contains(*letter)).collect();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let power = 10_i128.checked_pow(fraction.len() as u32);
    let mantissa: Option<i128> = format!("{whole}{fraction}").parse().ok();
    let value = || {
        let over = power?.checked_mul(denominator.into())?;
        let scaled = mantissa?.checked_mul(numerator.into())?;
        (scaled % over == 0).then(|| i64::try_from(scaled / over).ok())?
    };
    value().ok_or_else(|| format!("`{number}{suffix}`: must be a whole number of {}", named(unit)))
}

/// Size of a unit in the key's unit, as a fraction.
fn factor(suffix: &str, unit: &str) -> Option<(u64, u64)> {
    let small = suffix.to_ascii_lowercase();
    let found = UNITS.iter().find(|(of, names, ..)| *of == unit && names.contains(&small.as_str()));
    if let Some((.., numerator, denominator)) = found {
        return Some((*numerator, *denominator));
    }
    // `core cycles` may be written as `cycles` or `cycle`.
    let unit = unit.to_ascii_lowercase();
    let last = unit.rsplit(' ').next().unwrap_or(&unit);
    let same = |written: &str, unit: &str| written == unit || format!("{written}s") == unit;
    (!unit.is_empty() && (same(&small, &unit) || same(&small, last))).then_some((1, 1))
}

fn named(unit: &str) -> &str {
    match unit {
        "" => "units",
        unit => unit,
    }
}

/// Units that a key accepts, for messages.
fn known(unit: &str) -> String {
    match unit {
        "" => "left out".to_owned(),
        "B" => "B, KiB (or k), MiB (M), GiB (G)".to_owned(),
        "MHz" => "MHz, GHz".to_owned(),
        "kHz" => "kHz, MHz, GHz".to_owned(),
        "mW" => "mW, W".to_owned(),
        "mV" => "mV, V".to_owned(),
        "fJ" => "fJ, pJ, nJ".to_owned(),
        "MB/s" => "MB/s, GB/s".to_owned(),
        unit => named(unit).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_converts_to_the_unit_of_the_key() {
        for (text, unit, expected) in [
            ("32768", "B", 32768),
            ("32KiB", "B", 32768),
            ("32k", "B", 32768),
            ("32 KB", "B", 32768),
            ("1.5MiB", "B", 3 << 19),
            ("1G", "B", 1 << 30),
            ("64B", "B", 64),
            ("1.2GHz", "MHz", 1200),
            ("1200 MHz", "MHz", 1200),
            ("900000kHz", "MHz", 900),
            ("12GB/s", "MB/s", 12000),
            ("28cycles", "core cycles", 28),
            ("1 cycle", "core cycles", 1),
            ("28 core cycles", "core cycles", 28),
            ("4 banks", "banks", 4),
        ] {
            assert_eq!(read(text, unit), Ok(Value::Integer(expected)), "{text}");
        }
    }

    #[test]
    fn list_items_carry_units_and_words_stay_words() {
        let sizes = [0, 8192, 32768].map(Value::Integer).to_vec();
        assert_eq!(read("[0, 8KiB, 32k]", "B"), Ok(Value::Array(sizes)));
        for word in ["gto", "fr-fcfs"] {
            assert_eq!(read(word, "choice"), Ok(Value::String(word.to_owned())));
        }
        assert_eq!(read("true", "flag"), Ok(Value::Boolean(true)));
    }

    #[test]
    fn foreign_units_and_fractions_of_units_are_rejected() {
        let said = |text: &str, unit: &str| read(text, unit).unwrap_err();
        assert_eq!(said("32parsecs", "B"), "`parsecs`: the unit must be B, KiB (or k), MiB (M), GiB (G)");
        assert_eq!(said("32KiB", "core cycles"), "`KiB`: the unit must be core cycles");
        assert_eq!(said("1.3B", "B"), "`1.3B`: must be a whole number of B");
        assert_eq!(said("99999999999999G", "B"), "`99999999999999G`: must be a whole number of B");
    }
}
