//! Comments of Rust sources, told apart from strings that contain `//`.

/// Consecutive lines of comments of one kind, without their marks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Comment {
    /// The first line, from 1.
    pub(super) line: usize,
    /// The text, a line for each line of the comment.
    pub(super) text: String,
}

/// The comments of a source that have lines of their own or end a line.
pub(super) fn comments(source: &str) -> Vec<Comment> {
    let mut found: Vec<Comment> = Vec::new();
    // The kind and number of the last line, and whether it held nothing else.
    let mut last: Option<(&str, usize)> = None;
    for (number, offset) in line_comments(source) {
        let line = source[offset..].lines().next().unwrap_or_default();
        let mark = ["///", "//!", "//"].into_iter().find(|mark| line.starts_with(mark)).unwrap_or_default();
        let text = line[mark.len()..].strip_prefix(' ').unwrap_or(&line[mark.len()..]);
        match found.last_mut() {
            Some(comment) if last == Some((mark, number - 1)) => {
                comment.text.push('\n');
                comment.text.push_str(text);
            }
            _ => found.push(Comment { line: number, text: text.to_owned() }),
        }
        last = Some((mark, number));
    }
    found
}

/// Line and byte offset of each `//` that begins a comment.
fn line_comments(source: &str) -> Vec<(usize, usize)> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => {
                found.push((line, at));
                after(source, at, "\n").saturating_sub(1).max(at + 1)
            }
            b'/' if bytes[at..].starts_with(b"/*") => after(source, at + 2, "*/"),
            b'"' => end_of_string(bytes, at),
            b'r' if is_raw_string(bytes, at) => end_of_raw_string(source, at),
            b'\'' => end_of_character(bytes, at),
            _ => at + 1,
        };
        line += bytes[at..end.min(bytes.len())].iter().filter(|byte| **byte == b'\n').count();
        at = end;
    }
    found
}

/// Offset behind the next `mark` from `at` on.
fn after(source: &str, at: usize, mark: &str) -> usize {
    let found = source.as_bytes()[at..].windows(mark.len()).position(|window| window == mark.as_bytes());
    found.map_or(source.len() + 1, |found| at + found + mark.len())
}

fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    end + 1
}

fn is_raw_string(bytes: &[u8], at: usize) -> bool {
    let is_word =
        at > 0 && (bytes[at - 1].is_ascii_alphanumeric() && bytes[at - 1] != b'b' || bytes[at - 1] == b'_');
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    !is_word && bytes.get(at + 1 + hashes) == Some(&b'"')
}

fn end_of_raw_string(source: &str, at: usize) -> usize {
    let hashes = source.as_bytes()[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    after(source, at + hashes + 2, &format!("\"{}", "#".repeat(hashes)))
}

/// Offset behind a character; behind the quote alone where it begins a lifetime.
fn end_of_character(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at + 1) == Some(&b'\\') {
        let escaped = bytes[at + 3..].iter().position(|byte| *byte == b'\'');
        return escaped.map_or(at + 1, |end| at + 4 + end);
    }
    let width = bytes[at + 1..].iter().skip(1).take_while(|byte| **byte & 0xc0 == 0x80).count() + 1;
    if bytes.get(at + 1 + width) == Some(&b'\'') { at + 2 + width } else { at + 1 }
}
