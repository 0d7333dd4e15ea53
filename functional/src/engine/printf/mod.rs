//! Formatting of C's `printf`, with arguments fetched by the caller (ISO C17, 7.21.6.1; glibc's behaviour
//! where the standard leaves a choice).

use crate::fault::FaultKind;

/// Source of arguments.
pub(super) trait Arguments {
    /// Next argument of 4 bytes.
    fn word(&mut self) -> Result<u32, FaultKind>;
    /// Next argument of 8 bytes.
    fn double_word(&mut self) -> Result<u64, FaultKind>;
    /// String at an address.
    fn string(&mut self, address: u64) -> Result<Vec<u8>, FaultKind>;
    /// Takes the output so far once it is large; an error ends the printing.
    fn flow(&mut self, _: &mut Vec<u8>) -> Result<(), FaultKind> {
        Ok(())
    }
}

/// Limit of field width and precision, against excessive output.
const MOST: usize = 4096;

/// Size of an integer argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Byte,
    Half,
    Word,
    Double,
}

/// Flags, width and precision between `%` and the conversion.
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    length: Length,
}

/// Prints and returns the number of arguments taken.
pub(super) fn print(
    format: &[u8],
    arguments: &mut dyn Arguments,
    out: &mut Vec<u8>,
) -> Result<i32, FaultKind> {
    let mut printer = Printer { arguments, out, count: 0 };
    let mut rest = format;
    while let Some(percent) = rest.iter().position(|&byte| byte == b'%') {
        printer.out.extend_from_slice(&rest[..percent]);
        let directive = &rest[percent..];
        rest = match printer.directive(&directive[1..])? {
            Some(rest) => rest,
            None => {
                // No directive: the percent sign is literal.
                printer.out.push(b'%');
                &directive[1..]
            }
        };
        printer.arguments.flow(printer.out)?;
    }
    printer.out.extend_from_slice(rest);
    Ok(printer.count)
}

struct Printer<'a> {
    arguments: &'a mut dyn Arguments,
    out: &'a mut Vec<u8>,
    count: i32,
}

impl Printer<'_> {
    fn word(&mut self) -> Result<u32, FaultKind> {
        self.count += 1;
        self.arguments.word()
    }

    fn double_word(&mut self) -> Result<u64, FaultKind> {
        self.count += 1;
        self.arguments.double_word()
    }

    /// Prints a directive after its `%` and returns the rest of the format, or `None` without a directive.
    fn directive<'f>(&mut self, format: &'f [u8]) -> Result<Option<&'f [u8]>, FaultKind> {
        let (mut spec, rest) = self.flags_and_width(format)?;
        let (length, rest) = length(rest);
        spec.length = length;
        let Some((&conversion, rest)) = rest.split_first() else { return Ok(None) };
        match conversion {
            b'%' => self.out.push(b'%'),
            b'd' | b'i' => {
                let value = self.integer(spec.length)?;
                self.integer_field(&spec, sign(value < 0, &spec), decimal(value.unsigned_abs()));
            }
            b'u' => {
                let value = self.unsigned(spec.length)?;
                self.integer_field(&spec, "", decimal(value));
            }
            b'o' => {
                let value = self.unsigned(spec.length)?;
                let mut digits = at_least(&spec, format!("{value:o}"));
                if spec.alternate && !digits.starts_with('0') {
                    digits.insert(0, '0');
                }
                self.pad(&spec, "", digits.as_bytes(), spec.precision.is_none());
            }
            b'x' | b'X' => {
                let value = self.unsigned(spec.length)?;
                let digits = if conversion == b'x' { format!("{value:x}") } else { format!("{value:X}") };
                let prefix = match (spec.alternate && value != 0, conversion) {
                    (false, _) => "",
                    (true, b'x') => "0x",
                    (true, _) => "0X",
                };
                self.integer_field(&spec, prefix, digits);
            }
            b'p' => match self.double_word()? {
                0 => self.pad(&spec, "", b"(nil)", false),
                address => self.integer_field(&spec, "0x", format!("{address:x}")),
            },
            b'c' => {
                let byte = self.word()? as u8;
                self.pad(&spec, "", &[byte], false);
            }
            b's' => {
                let address = self.double_word()?;
                let string =
                    if address == 0 { b"(null)".to_vec() } else { self.arguments.string(address)? };
                let shown = spec.precision.map_or(string.len(), |most| most.min(string.len()));
                self.pad(&spec, "", &string[..shown], false);
            }
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(self.double_word()?);
                let mut text = float(value.abs(), conversion.to_ascii_lowercase(), &spec);
                let mut prefix = sign(value.is_sign_negative(), &spec).to_owned();
                if let Some(rest) = text.strip_prefix("0x") {
                    prefix.push_str("0x");
                    text = rest.to_owned();
                }
                if conversion.is_ascii_uppercase() {
                    text.make_ascii_uppercase();
                    prefix.make_ascii_uppercase();
                }
                self.pad(&spec, &prefix, text.as_bytes(), value.is_finite());
            }
            _ => return Ok(None),
        }
        Ok(Some(rest))
    }

    fn flags_and_width<'f>(&mut self, format: &'f [u8]) -> Result<(Spec, &'f [u8]), FaultKind> {
        let mut spec = Spec {
            left: false,
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width: 0,
            precision: None,
            length: Length::Word,
        };
        let mut rest = format;
        while let Some((&flag, after)) = rest.split_first() {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            rest = after;
        }
        if let Some(after) = rest.strip_prefix(b"*") {
            let width = self.word()? as i32;
            spec.left |= width < 0;
            spec.width = (width.unsigned_abs() as usize).min(MOST);
            rest = after;
        } else {
            (spec.width, rest) = number(rest);
        }
        if let Some(after) = rest.strip_prefix(b".") {
            if let Some(after) = after.strip_prefix(b"*") {
                let precision = self.word()? as i32;
                spec.precision = usize::try_from(precision).ok().map(|precision| precision.min(MOST));
                rest = after;
            } else {
                let (precision, after) = number(after);
                spec.precision = Some(precision);
                rest = after;
            }
        }
        Ok((spec, rest))
    }

    fn integer(&mut self, length: Length) -> Result<i64, FaultKind> {
        Ok(match length {
            Length::Byte => i64::from(self.word()? as i8),
            Length::Half => i64::from(self.word()? as i16),
            Length::Word => i64::from(self.word()? as i32),
            Length::Double => self.double_word()? as i64,
        })
    }

    fn unsigned(&mut self, length: Length) -> Result<u64, FaultKind> {
        Ok(match length {
            Length::Byte => u64::from(self.word()? as u8),
            Length::Half => u64::from(self.word()? as u16),
            Length::Word => u64::from(self.word()?),
            Length::Double => self.double_word()?,
        })
    }

    /// Prints digits, at least as many as the precision. A precision disables the zero flag.
    fn integer_field(&mut self, spec: &Spec, prefix: &str, digits: String) {
        self.pad(spec, prefix, at_least(spec, digits).as_bytes(), spec.precision.is_none());
    }

    /// Prints the field padded to its width with spaces, or with zeros after the prefix if flag and `zeros`
    /// allow.
    fn pad(&mut self, spec: &Spec, prefix: &str, text: &[u8], zeros: bool) {
        let missing = spec.width.saturating_sub(prefix.len() + text.len());
        let fill = |out: &mut Vec<u8>, byte: u8| out.resize(out.len() + missing, byte);
        let with_zeros = spec.zero && zeros && !spec.left;
        if !spec.left && !with_zeros {
            fill(self.out, b' ');
        }
        self.out.extend_from_slice(prefix.as_bytes());
        if with_zeros {
            fill(self.out, b'0');
        }
        self.out.extend_from_slice(text);
        if spec.left {
            fill(self.out, b' ');
        }
    }
}

/// Digits of an integer, at least as many as the precision; 0 has none with precision 0.
fn at_least(spec: &Spec, digits: String) -> String {
    match spec.precision {
        Some(0) if digits == "0" => String::new(),
        Some(least) => format!("{digits:0>least$}"),
        None => digits,
    }
}

fn decimal(value: u64) -> String {
    value.to_string()
}

fn sign(negative: bool, spec: &Spec) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

/// Parses a decimal number (0 if absent) and returns the rest.
fn number(text: &[u8]) -> (usize, &[u8]) {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = text[..digits]
        .iter()
        .fold(0usize, |value, digit| value.saturating_mul(10).saturating_add(usize::from(digit - b'0')));
    (value.min(MOST), &text[digits..])
}

/// Parses a length modifier and returns the rest.
fn length(text: &[u8]) -> (Length, &[u8]) {
    const MODIFIERS: [(&[u8], Length); 9] = [
        (b"hh", Length::Byte),
        (b"h", Length::Half),
        (b"ll", Length::Double),
        (b"l", Length::Double),
        (b"j", Length::Double),
        (b"z", Length::Double),
        (b"t", Length::Double),
        (b"q", Length::Double),
        (b"L", Length::Double),
    ];
    for (modifier, length) in MODIFIERS {
        if let Some(rest) = text.strip_prefix(modifier) {
            return (length, rest);
        }
    }
    (Length::Word, text)
}

/// Unsigned number formatted by `e`, `f`, `g` or `a`.
fn float(value: f64, conversion: u8, spec: &Spec) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return "inf".to_owned();
    }
    match conversion {
        b'f' => fixed(value, spec.precision.unwrap_or(6), spec.alternate),
        b'e' => scientific(value, spec.precision.unwrap_or(6), spec.alternate),
        b'g' => general(value, spec.precision.unwrap_or(6).max(1), spec.alternate),
        _ => hexadecimal(value, spec.precision, spec.alternate),
    }
}

fn fixed(value: f64, precision: usize, point: bool) -> String {
    let mut text = format!("{value:.precision$}");
    if point && precision == 0 {
        text.push('.');
    }
    text
}

/// Digits and decimal exponent of a number, rounded to `precision` digits after the point.
fn rounded(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => (digits.to_owned(), exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

fn scientific(value: f64, precision: usize, point: bool) -> String {
    let (mut digits, exponent) = rounded(value, precision);
    if point && precision == 0 {
        digits.push('.');
    }
    with_exponent(&digits, exponent)
}

/// `%g`: `precision` significant digits, fixed or with an exponent; trailing zeros only if `keep`.
fn general(value: f64, precision: usize, keep: bool) -> String {
    let (digits, exponent) = rounded(value, precision - 1);
    let in_range = exponent >= -4 && i64::from(exponent) < precision as i64;
    let shorten = |text: String| {
        if keep || !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if in_range {
        let decimals = (precision as i64 - 1 - i64::from(exponent)) as usize;
        shorten(fixed(value, decimals, keep))
    } else {
        let mut digits = digits;
        if keep && precision == 1 {
            digits.push('.');
        }
        with_exponent(&shorten(digits), exponent)
    }
}

/// `%a`: one hexadecimal digit, a point, `precision` digits or as many as needed, and a power of two.
fn hexadecimal(value: f64, precision: Option<usize>, point: bool) -> String {
    const FRACTION: u32 = 52;
    let bits = value.to_bits();
    let (biased, fraction) = (bits >> FRACTION, bits & ((1 << FRACTION) - 1));
    let exponent = match (biased, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => biased as i64 - 1023,
    };
    let mut mantissa = fraction | u64::from(biased != 0) << FRACTION;
    let digits = precision.unwrap_or(13).min(13);
    let dropped = FRACTION - 4 * digits as u32;
    if dropped > 0 {
        let (kept, rest, half) = (mantissa >> dropped, mantissa & ((1 << dropped) - 1), 1 << (dropped - 1));
        let up = rest > half || (rest == half && kept & 1 != 0);
        mantissa = (kept + u64::from(up)) << dropped;
    }
    let whole = mantissa >> FRACTION;
    let mut behind = format!("{:013x}", mantissa & ((1 << FRACTION) - 1));
    behind.truncate(digits);
    match precision {
        None => behind.truncate(behind.trim_end_matches('0').len()),
        Some(precision) => behind.push_str(&"0".repeat(precision - digits)),
    }
    let dot = if behind.is_empty() && !point { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("0x{whole:x}{dot}{behind}p{sign}{}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests;
