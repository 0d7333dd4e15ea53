//! Bank conflicts: passes of an access if each bank delivers one word a pass.

/// Most banks of a memory.
pub const MAXIMUM_BANKS: u32 = 32;

/// Passes for reading `words` (word numbers in any order): the largest number of distinct words in
/// one bank. A word is broadcast to all its readers. Word `w` is in bank `w mod banks`. `words` is
/// overwritten.
pub fn passes(words: &mut [u64], banks: u32) -> u32 {
    let banks = u64::from(banks.clamp(1, MAXIMUM_BANKS));
    let mut remaining = words.len();
    let mut passes = 0;
    while remaining > 0 {
        passes += 1;
        let mut served = [0; MAXIMUM_BANKS as usize];
        let mut busy = 0_u32;
        let mut left = 0;
        for i in 0..remaining {
            let word = words[i];
            let bank = bank(word, banks);
            if busy >> bank & 1 == 0 {
                busy |= 1 << bank;
                served[bank] = word;
            } else if served[bank] != word {
                words[left] = word;
                left += 1;
            }
        }
        remaining = left;
    }
    passes
}

/// The bank of a word.
fn bank(word: u64, banks: u64) -> usize {
    (if banks.is_power_of_two() { word & (banks - 1) } else { word % banks }) as usize
}

/// Passes of operations that exclude each other even on one word: the largest number in one bank.
pub fn serial_passes(words: &[u64], banks: u32) -> u32 {
    let banks = u64::from(banks.clamp(1, MAXIMUM_BANKS));
    let mut operations = [0; MAXIMUM_BANKS as usize];
    for word in words {
        operations[bank(*word, banks)] += 1;
    }
    operations.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_different_banks_take_one_pass() {
        assert_eq!(passes(&mut std::array::from_fn::<u64, 32, _>(|lane| lane as u64), 32), 1);
    }

    #[test]
    fn broadcast_takes_one_pass() {
        assert_eq!(passes(&mut [7; 32], 32), 1);
        assert_eq!(serial_passes(&[7; 32], 32), 32);
    }

    #[test]
    fn n_words_in_one_bank_take_n_passes() {
        for n in 1..=32 {
            let mut words: Vec<u64> = (0..32).map(|lane| if lane < n { lane * 32 } else { lane }).collect();
            assert_eq!(u64::from(passes(&mut words, 32)), n);
        }
    }

    #[test]
    fn no_words_take_no_pass() {
        assert_eq!(passes(&mut [], 32), 0);
    }
}
