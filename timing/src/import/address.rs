//! Address mappings of option files: `dramid@8;00000000.….RRRRRRRR.RBBBCCCB.CCCSSSSS`.

/// What of a mapping our model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mapping {
    /// Consecutive bytes that belong to one channel.
    pub interleave: u32,
    /// Bytes of a row of a bank.
    pub row: u32,
}

/// Reads a mapping: the channel's bit, and a letter for each bit of the address below it and above.
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
    fn columns_and_bytes_of_a_burst_are_the_row() {
        let text = "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS";
        assert_eq!(parse(text), Some(Mapping { interleave: 256, row: 2048 }));
    }

    #[test]
    fn other_letters_are_an_error() {
        assert_eq!(parse("dramid@8;RRRRXXXX"), None);
    }
}
