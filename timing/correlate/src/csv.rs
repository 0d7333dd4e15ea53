//! CSV rows: fields between commas, with quotes around fields that hold commas.

use std::collections::BTreeMap;

/// A row: its line from 1, and its fields.
pub(super) type Row = (usize, Vec<String>);

/// Rows other than a profiler's remarks (`==`), a table's comments (`#`) and blank lines.
pub(super) fn rows(text: &str) -> Vec<Row> {
    let remark = |line: &str| line.starts_with("==") || line.starts_with('#') || line.trim().is_empty();
    let lines = text.lines().enumerate().filter(|(_, line)| !remark(line));
    lines.map(|(index, line)| (index + 1, fields(line))).collect()
}

/// Fields of a row by column name. The error of a short row holds its line and the reason.
pub(super) fn named<'a>(
    heading: &'a [String],
    (line, fields): &'a Row,
) -> Result<BTreeMap<&'a str, &'a str>, (usize, String)> {
    if fields.len() < heading.len() {
        return Err((*line, "the row has fewer fields than the heading".to_owned()));
    }
    Ok(heading.iter().zip(fields).map(|(name, field)| (name.as_str(), field.as_str())).collect())
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.trim_end_matches('\r').chars().peekable();
    while let Some(letter) = letters.next() {
        let doubled = letter == '"' && quoted && letters.peek() == Some(&'"');
        match letter {
            '"' if !doubled => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => {
                if doubled {
                    letters.next();
                }
                if let Some(field) = fields.last_mut() {
                    field.push(letter);
                }
            }
        }
    }
    fields
}

/// A number, possibly with thousands separators, and the unit after it: `12.5%`, `1.2GB/s`.
pub(super) fn quantity(field: &str) -> Option<(f64, &str)> {
    let field = field.trim();
    let is_unit = |letter: char| letter.is_alphabetic() || "%/".contains(letter);
    let digits = field.trim_end_matches(is_unit);
    let number: String = digits.trim_end().chars().filter(|letter| *letter != ',').collect();
    let value = number.parse().ok().filter(|value: &f64| value.is_finite())?;
    Some((value, &field[digits.len()..]))
}

/// A number, possibly with thousands separators or a percent sign.
pub(super) fn value(field: &str) -> Option<f64> {
    quantity(field).filter(|(_, unit)| matches!(*unit, "" | "%")).map(|(value, _)| value)
}

/// Three numbers, `(1, 2, 3)` or `1,2,3`.
pub(super) fn triple(field: &str) -> Option<[u32; 3]> {
    let mut numbers = field.trim_matches(['(', ')', ' ']).split(',').map(|number| number.trim().parse().ok());
    let mut next = || numbers.next().flatten();
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_commas_and_doubled_quotes() {
        assert_eq!(
            rows("# remark\n==PROF==\n\na,\"b,\"\"c\"\"\",\n"),
            [(4, vec!["a".to_owned(), "b,\"c\"".to_owned(), String::new()])]
        );
    }

    #[test]
    fn numbers_allow_commas_and_percent_signs() {
        assert_eq!([value("1,234.5"), value("12.5%"), value("n/a")], [Some(1234.5), Some(12.5), None]);
        assert_eq!(quantity("1,234.5 GB/s"), Some((1234.5, "GB/s")));
        assert_eq!(quantity("7e3"), Some((7e3, "")));
    }
}
