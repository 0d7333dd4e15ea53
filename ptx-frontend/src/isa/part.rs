//! Parts of words as operands of video instructions (PTX manual 9.7.18): `a.b2`, `d.h10`, `b.b7654`.

use serde::{Deserialize, Serialize};

/// Bytes or halves of a word, or of two concatenated words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WordPart {
    /// True for halves, false for bytes.
    pub halves: bool,
    /// Numbers of the pieces in written order, the lowest position last.
    pieces: [u8; 4],
    /// Number of pieces.
    count: u8,
}

/// Parts that an operand may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartSyntax {
    /// One byte or half of a word; the whole word by default.
    Piece,
    /// Positions of a word that receive a result, out of this number; all by default.
    Mask(u8),
    /// A piece of two concatenated words for each of this number of positions.
    Pick(u8),
}

impl WordPart {
    /// Part with the spelling `text` (no dot).
    pub fn from_name(text: &str) -> Option<WordPart> {
        let halves = text.starts_with('h');
        let digits = text.strip_prefix(['b', 'h'])?.as_bytes();
        let mut pieces = [0; 4];
        for (piece, digit) in pieces.iter_mut().zip(digits.iter().rev()) {
            *piece = digit.checked_sub(b'0').filter(|piece| *piece < 8)?;
        }
        let count = u8::try_from(digits.len()).ok().filter(|count| (1..=4).contains(count))?;
        Some(WordPart { halves, pieces, count })
    }

    /// Spelling of the part without its dot.
    pub fn name(self) -> String {
        let digits = self.pieces().iter().rev().map(|piece| char::from(b'0' + piece));
        std::iter::once(if self.halves { 'h' } else { 'b' }).chain(digits).collect()
    }

    /// Numbers of the pieces, the lowest position first.
    pub fn pieces(&self) -> &[u8] {
        self.pieces.get(..usize::from(self.count)).unwrap_or(&[])
    }

    /// True if the part fits the operand.
    pub fn fits(self, syntax: PartSyntax) -> bool {
        let pieces = self.pieces();
        let below = |limit: u8| pieces.iter().all(|piece| *piece < limit);
        match syntax {
            PartSyntax::Piece => pieces.len() == 1 && below(if self.halves { 2 } else { 4 }),
            PartSyntax::Mask(places) => {
                self.halves == (places == 2) && below(places) && pieces.is_sorted_by(|a, b| a < b)
            }
            PartSyntax::Pick(places) => {
                self.halves == (places == 2) && below(2 * places) && pieces.len() == usize::from(places)
            }
        }
    }
}

impl PartSyntax {
    /// Syntax with this name in the op table.
    pub fn from_name(name: &str) -> Option<PartSyntax> {
        Some(match name {
            "part" => PartSyntax::Piece,
            "mask2" => PartSyntax::Mask(2),
            "mask4" => PartSyntax::Mask(4),
            "pick2" => PartSyntax::Pick(2),
            "pick4" => PartSyntax::Pick(4),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(text: &str, syntax: PartSyntax) -> bool {
        WordPart::from_name(text).is_some_and(|part| part.fits(syntax))
    }

    #[test]
    fn part_names_round_trip() {
        for text in ["b0", "b3", "h1", "h32", "b7654"] {
            assert_eq!(WordPart::from_name(text).map(WordPart::name).as_deref(), Some(text));
        }
        for text in ["", "b", "x", "h", "b8", "b76543", "c1", "r"] {
            assert_eq!(WordPart::from_name(text), None, "{text}");
        }
    }

    #[test]
    fn last_digit_is_the_lowest_position() {
        assert_eq!(WordPart::from_name("b7541").map(|part| part.pieces().to_vec()), Some(vec![1, 4, 5, 7]));
    }

    #[test]
    fn operands_accept_only_their_parts() {
        assert!(fits("b3", PartSyntax::Piece) && fits("h1", PartSyntax::Piece));
        assert!(!fits("b4", PartSyntax::Piece) && !fits("h2", PartSyntax::Piece));
        assert!(fits("h10", PartSyntax::Mask(2)) && fits("b31", PartSyntax::Mask(4)));
        assert!(!fits("h01", PartSyntax::Mask(2)) && !fits("b10", PartSyntax::Mask(2)));
        assert!(fits("h33", PartSyntax::Pick(2)) && fits("b0716", PartSyntax::Pick(4)));
        assert!(!fits("h3", PartSyntax::Pick(2)) && !fits("h40", PartSyntax::Pick(2)));
    }
}
