//! Words and signs of Rust source, without comments, literals and test modules.

/// A word or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Identifier or keyword.
    Word(String),
    /// `::`.
    PathSeparator,
    /// Any other sign.
    Sign(char),
}

impl Token {
    /// The text of a word.
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// Length in bytes of the literal or comment that `text` starts with; 0 where it starts with neither.
fn skipped(text: &str) -> usize {
    let bytes = text.as_bytes();
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return text.find("*/").map_or(text.len(), |end| end + 2);
    }
    let at = bytes.iter().take_while(|byte| b"rbc".contains(byte)).count();
    if at <= 2 {
        let letters = &text[..at];
        let hashes = bytes.iter().skip(at).take_while(|byte| **byte == b'#').count();
        if bytes.get(at + hashes) == Some(&b'"') {
            let start = at + hashes + 1;
            if letters.contains('r') {
                let end = format!("\"{}", "#".repeat(hashes));
                return text[start..].find(&end).map_or(text.len(), |found| start + found + end.len());
            }
            if hashes == 0 {
                return quoted(bytes, start, b'"');
            }
        }
    }
    match bytes {
        [b'\'', b'\\', ..] => quoted(bytes, 1, b'\''),
        [b'\'', ..] => {
            let width = text[1..].chars().next().map_or(0, char::len_utf8);
            // Anything else is a lifetime.
            if bytes.get(1 + width) == Some(&b'\'') { width + 2 } else { 1 }
        }
        _ => 0,
    }
}

/// End of a literal whose content starts at `at`.
fn quoted(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The tokens of a source.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = skipped(rest);
        let taken = if skipped > 0 {
            skipped
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let end = end.unwrap_or(rest.len());
            found.push(Token::Word(rest[..end].to_owned()));
            end
        } else if rest.starts_with("::") {
            found.push(Token::PathSeparator);
            2
        } else {
            if !first.is_whitespace() {
                found.push(Token::Sign(first));
            }
            first.len_utf8()
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    found
}

/// The tokens without items that only tests have.
pub(super) fn without_tests(all: &[Token]) -> Vec<Token> {
    let word = |text: &str| Token::Word(text.to_owned());
    let attribute = [
        Token::Sign('#'),
        Token::Sign('['),
        word("cfg"),
        Token::Sign('('),
        word("test"),
        Token::Sign(')'),
        Token::Sign(']'),
    ];
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(token) = all.get(at) {
        if !all.get(at..).is_some_and(|rest| rest.starts_with(&attribute)) {
            kept.push(token.clone());
            at += 1;
            continue;
        }
        at = item_end(all, at + attribute.len());
    }
    kept
}

/// End of the item that starts at `at`: its semicolon, or the end of its first block.
fn item_end(all: &[Token], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(token) = all.get(at) {
        at += 1;
        match token {
            Token::Sign('{') => depth += 1,
            Token::Sign('}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    // An import of several names ends with its semicolon.
                    return if all.get(at) == Some(&Token::Sign(';')) { at + 1 } else { at };
                }
            }
            Token::Sign(';') if depth == 0 => return at,
            _ => {}
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        without_tests(&tokens(source)).iter().filter_map(|token| token.word().map(str::to_owned)).collect()
    }

    #[test]
    fn literals_and_comments_are_no_words() {
        assert_eq!(words("a \"b // c\" d // e\n f 'g' 'h: r#\"i\"# b\"j\" k"), ["a", "d", "f", "h", "k"]);
    }

    #[test]
    fn items_of_tests_are_left_out() {
        let source = "use a; #[cfg(test)] mod tests { mod b { } } use c; #[cfg(test)] mod d; use e;";
        assert_eq!(words(source), ["use", "a", "use", "c", "use", "e"]);
    }
}
