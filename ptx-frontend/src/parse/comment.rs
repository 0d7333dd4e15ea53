//! Blanking of comments, so that the grammar need not allow them between any two words.

use std::borrow::Cow;

/// The text with every comment overwritten by spaces; all other bytes keep their offsets.
pub fn blank_comments(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut blanked = String::new();
    // Bytes before this offset are in `blanked`.
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) =
        bytes.get(at..).and_then(|rest| rest.iter().position(|b| matches!(b, b'/' | b'"')))
    {
        at += found;
        let rest = text.get(at..).unwrap_or("");
        let comment = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.get(2..).and_then(|inner| inner.find("*/")).map_or(rest.len(), |end| end + 4)
        } else {
            at += if rest.starts_with('"') { string_length(rest) } else { 1 };
            continue;
        };
        blanked.push_str(text.get(copied..at).unwrap_or(""));
        blanked.extend(std::iter::repeat_n(' ', comment));
        at += comment;
        copied = at;
    }
    if blanked.is_empty() {
        return Cow::Borrowed(text);
    }
    blanked.push_str(text.get(copied..).unwrap_or(""));
    Cow::Owned(blanked)
}

/// Bytes of the string at the start of `text`, including quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_blanks_of_the_same_length() {
        assert_eq!(blank_comments("a // é\nb /* c */ d"), "a      \nb         d");
        assert_eq!(blank_comments("x /* open"), "x        ");
    }

    #[test]
    fn slashes_in_strings_and_divisions_are_kept() {
        let text = r#".pragma "a // \" /* b"; 4 / 2"#;
        assert_eq!(blank_comments(text), text);
    }
}
