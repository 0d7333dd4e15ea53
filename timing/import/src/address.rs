//! Address mappings of option files: `dramid@8;00000000.….RRRRRRRR.RBBBCCCB.CCCSSSSS`.

/// Parts of a mapping that the model uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mapping {
    /// Consecutive bytes of one channel.
    pub interleave: u32,
    /// Bytes of a row of a bank.
    pub row: u32,
}

/// Parses a mapping: the channel's bit, then a letter for each address bit around it.
pub(super) fn parse(text: &str) -> Option<Mapping> {
    let (channel, letters) = text.split_once(';')?;
    let bit: u32 = channel.strip_prefix("dramid@")?.parse().ok()?;
    if letters.chars().any(|letter| !"0.RBCSrbcsDd ".contains(letter)) {
        return None;
    }
    let column_bits = letters.chars().filter(|letter| "CScs".contains(*letter)).count();
    (bit < 24 && column_bits < 24).then(|| Mapping { interleave: 1 << bit, row: 1 << column_bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_size_counts_column_and_burst_bits() {
        let text = "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS";
        assert_eq!(parse(text), Some(Mapping { interleave: 256, row: 2048 }));
    }

    #[test]
    fn unknown_letter_is_an_error() {
        assert_eq!(parse("dramid@8;RRRRXXXX"), None);
    }
}
