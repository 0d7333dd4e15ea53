//! Sets of 8-byte words in a buffer, by byte offset.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Range;

/// Ascending offsets of 8-byte words. A manifest lists them as `"16"` (one word) and `"64..128"`
/// (adjacent words from byte 64 up to byte 128).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    runs: Vec<Range<u64>>,
}

/// Bytes of a word.
const WORD: u64 = 8;

impl Words {
    /// Adds the word at `offset`, which must follow all others.
    pub fn push(&mut self, offset: u64) {
        match self.runs.last_mut() {
            Some(last) if last.end == offset => last.end += WORD,
            _ => self.runs.push(offset..offset.saturating_add(WORD)),
        }
    }

    /// The offsets.
    pub fn offsets(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|run| run.clone().step_by(WORD as usize))
    }

    /// True without words.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// True if the byte at `offset` belongs to a word.
    pub fn cover(&self, offset: u64) -> bool {
        let after = self.runs.partition_point(|run| run.start <= offset);
        after.checked_sub(1).and_then(|last| self.runs.get(last)).is_some_and(|run| offset < run.end)
    }

    /// End of the last word.
    pub fn end(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.end)
    }
}

/// The little-endian word at `offset`, if complete.
pub fn word_at(bytes: &[u8], offset: u64) -> Option<u64> {
    let offset = usize::try_from(offset).ok()?;
    let bytes = bytes.get(offset..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes))
}

impl Serialize for Words {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.runs.iter().map(|run| match run.end - run.start {
            WORD => run.start.to_string(),
            _ => format!("{}..{}", run.start, run.end),
        }))
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Words, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let mut runs: Vec<Range<u64>> = Vec::with_capacity(texts.len());
        for text in texts {
            let run =
                parse(&text).filter(|run| runs.last().is_none_or(|last| last.end <= run.start)).ok_or_else(
                    || D::Error::custom(format!("`{text}` must be word offsets after the previous ones")),
                )?;
            runs.push(run);
        }
        Ok(Words { runs })
    }
}

fn parse(text: &str) -> Option<Range<u64>> {
    let run = match text.split_once("..") {
        Some((start, end)) => start.parse().ok()?..end.parse().ok()?,
        None => {
            let start: u64 = text.parse().ok()?;
            start..start.checked_add(WORD)?
        }
    };
    let length = run.end.checked_sub(run.start)?;
    (length > 0 && length % WORD == 0).then_some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(offsets: &[u64]) -> Words {
        let mut words = Words::default();
        offsets.iter().for_each(|offset| words.push(*offset));
        words
    }

    #[test]
    fn adjacent_words_form_one_run() {
        let words = words(&[0, 16, 24, 32]);
        assert_eq!(words.runs, [0..8, 16..40]);
        assert_eq!(words.offsets().collect::<Vec<_>>(), [0, 16, 24, 32]);
    }

    #[test]
    fn words_cover_their_bytes() {
        let words = words(&[8, 16]);
        let covered: Vec<u64> = (0..32).filter(|offset| words.cover(*offset)).collect();
        assert_eq!(covered, (8..24).collect::<Vec<_>>());
    }

    #[test]
    fn unordered_or_misaligned_offsets_are_rejected() {
        let parsed = |text: &str| toml::from_str::<std::collections::BTreeMap<String, Words>>(text);
        let offsets = |text| parsed(text).unwrap()["w"].offsets().collect::<Vec<_>>();
        assert_eq!(offsets("w = ['8', '16..32']"), [8, 16, 24]);
        for bad in
            ["w = ['8', '8']", "w = ['8..15']", "w = ['16..8']", "w = ['x']", "w = ['18446744073709551615']"]
        {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
