//! Numbers and words of traces.

/// A hexadecimal number, with or without `0x`.
pub(super) fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    // `from_str_radix` accepts a sign.
    digits
        .starts_with(|digit: char| digit.is_ascii_hexdigit())
        .then(|| u64::from_str_radix(digits, 16).ok())?
}

/// A decimal number.
pub(super) fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Three numbers, with or without parentheses.
pub(super) fn triple(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.trim_start_matches('(').trim_end_matches(')').split(',').map(str::trim);
    let mut next = || number::<u32>(parts.next()?);
    let triple = [next()?, next()?, next()?];
    parts.next().is_none().then_some(triple)
}

/// A register: `R` and its number. `RZ`, always 0, is number 255.
pub(super) fn register(text: &str) -> Option<u16> {
    match text.strip_prefix('R')? {
        "Z" => Some(255),
        digits => number(digits),
    }
}
