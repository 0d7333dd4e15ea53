//! Numbers and names as text.

use std::fmt::Write as _;

/// Text for HTML and attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Text of a file must not end the script or the style.
            other if other.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A number of at most four significant digits, without trailing zeros.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let magnitude = value.abs();
    if magnitude >= 1e15 || (magnitude > 0.0 && magnitude < 1e-4) {
        return format!("{value:.2e}");
    }
    if magnitude >= 1000.0 {
        return grouped(value.round());
    }
    let places = match magnitude {
        m if m >= 100.0 => 1,
        m if m >= 1.0 => 2,
        m if m >= 0.1 => 3,
        _ => 4,
    };
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// An integer with a space between groups of three digits.
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    if value < 0.0 {
        text.push('−');
    }
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A value with a decimal prefix: `12.3 k`.
pub(crate) fn scaled(value: f64, unit: &str) -> String {
    let steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let found = steps.iter().find(|(step, _)| value.abs() >= *step);
    let (value, prefix) = found.map_or((value, ""), |(step, prefix)| (value / step, *prefix));
    format!("{} {prefix}{unit}", three(value)).trim_end().to_owned()
}

/// Bytes with a decimal prefix.
pub(crate) fn bytes(value: f64) -> String {
    scaled(value, "B")
}

/// A duration given in nanoseconds.
pub(crate) fn time(nanoseconds: f64) -> String {
    let steps = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let found = steps.iter().find(|(step, _)| nanoseconds.abs() >= *step);
    let (value, unit) = found.map_or((nanoseconds, "ns"), |(step, unit)| (nanoseconds / step, *unit));
    format!("{} {unit}", three(value))
}

/// A number of three significant digits.
fn three(value: f64) -> String {
    let places = match value.abs() {
        m if m >= 100.0 || m == 0.0 => 0,
        m if m >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.places$}")
}

/// A share in per cent.
pub(crate) fn percent(value: f64) -> String {
    match value {
        value if !value.is_finite() => "–".to_owned(),
        value if value != 0.0 && value.abs() < 0.1 => format!("{value:.2} %"),
        value => format!("{value:.1} %"),
    }
}

/// A change in per cent, with its sign.
pub(crate) fn change(before: f64, after: f64) -> String {
    if before == after {
        return "±0 %".to_owned();
    }
    if before == 0.0 {
        return "new".to_owned();
    }
    let value = 100.0 * (after - before) / before;
    format!("{}{:.1} %", if value < 0.0 { '−' } else { '+' }, value.abs())
}

/// A coordinate with at most two decimals.
pub(crate) fn point(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Points of a path, separated by spaces.
pub(crate) fn points(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut text = String::new();
    for (place, (x, y)) in points.into_iter().enumerate() {
        let command = if place == 0 { 'M' } else { 'L' };
        let _ = write!(text, "{command}{} {}", point(x), point(y));
    }
    text
}

/// Text cut to a number of characters, with an ellipsis.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_groups_of_three() {
        assert_eq!(
            [number(0.0), number(12.345), number(0.25), number(999.96)],
            ["0", "12.35", "0.25", "1000"]
        );
        assert_eq!(number(1_234_567.0), "1\u{202f}234\u{202f}567");
        assert_eq!(number(f64::NAN), "–");
    }

    #[test]
    fn times_and_bytes_have_prefixes() {
        assert_eq!([time(24_127.0), time(980.0), time(1.5e9)], ["24.1 µs", "980 ns", "1.50 s"]);
        assert_eq!([bytes(0.0), bytes(12_300.0)], ["0 B", "12.3 kB"]);
    }

    #[test]
    fn names_cannot_leave_their_place() {
        assert_eq!(escape("</script>\"&\n"), "&lt;/script&gt;&quot;&amp; ");
    }
}
