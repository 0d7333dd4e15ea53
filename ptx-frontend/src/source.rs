//! PTX text with a name, and positions in it.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::ir::TextPosition;

/// Bytes `start..end` of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: narrow(start), end: narrow(end) }
    }

    /// Part of `text` that the span covers; empty if the text is shorter or a character is split.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// Byte offset in spans; [`Source::new`] ensures that sources are shorter than 4 GiB.
pub(crate) fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// Text of a module.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: Arc<str>,
    line_starts: OnceLock<Vec<u32>>,
}

/// Error for text of 4 GiB or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("PTX text of {bytes} bytes; must be less than 4 GiB")]
pub struct TooLong {
    /// Size in bytes.
    pub bytes: usize,
}

impl Source {
    /// A source. The name (a file, or the fat binary of origin) is for messages.
    pub fn new(name: &str, text: impl Into<Arc<str>>) -> Result<Source, TooLong> {
        let text = text.into();
        if u32::try_from(text.len()).is_err() {
            return Err(TooLong { bytes: text.len() });
        }
        Ok(Source { name: name.to_owned(), text, line_starts: OnceLock::new() })
    }

    /// Name of the source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column (in bytes) of a byte offset. The first call builds the line table.
    pub fn place(&self, offset: u32) -> TextPosition {
        let starts = self.line_starts();
        let line = starts.partition_point(|&start| start <= offset).max(1);
        let start = starts.get(line - 1).copied().unwrap_or(0);
        TextPosition { line: narrow(line), column: offset.saturating_sub(start).saturating_add(1) }
    }

    /// Text of a line (from 1), without its end.
    pub fn line(&self, line: u32) -> &str {
        let starts = self.line_starts();
        let from = (line as usize).checked_sub(1).and_then(|i| starts.get(i)).copied();
        let Some(from) = from else { return "" };
        let rest = self.text.get(from as usize..).unwrap_or("");
        rest.split('\n').next().unwrap_or("").trim_end_matches('\r')
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let ends = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0).chain(ends.map(|(at, _)| narrow(at + 1))).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_columns_from_one() {
        let source = Source::new("x", "ab\ncd\r\n\nz").unwrap();
        let place = |offset| {
            let place = source.place(offset);
            (place.line, place.column)
        };
        assert_eq!(place(0), (1, 1));
        assert_eq!(place(2), (1, 3));
        assert_eq!(place(3), (2, 1));
        assert_eq!(place(8), (4, 1));
        assert_eq!(place(500), (4, 493));
        assert_eq!([source.line(2), source.line(3), source.line(4), source.line(5)], ["cd", "", "z", ""]);
    }
}
