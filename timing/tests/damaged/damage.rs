//! Damage to a text: truncation, changed bytes, changed numbers.

use proptest::prelude::*;
use proptest::sample::Index;

/// Unexpected numbers.
const NUMBERS: [&str; 6] = ["0", "-1", "3", "4294967295", "18446744073709551615", "1e999"];

/// Kinds of damage.
#[derive(Debug, Clone)]
pub enum Damage {
    /// Truncates the text.
    Cut(Index),
    /// Replaces bytes.
    Bytes(Vec<(Index, u8)>),
    /// Replaces numbers.
    Numbers(Vec<(Index, &'static str)>),
}

/// Arbitrary damage.
pub fn damage() -> impl Strategy<Value = Damage> {
    let number = (any::<Index>(), proptest::sample::select(&NUMBERS[..]));
    prop_oneof![
        any::<Index>().prop_map(Damage::Cut),
        prop::collection::vec(any::<(Index, u8)>(), 1..4).prop_map(Damage::Bytes),
        prop::collection::vec(number, 1..4).prop_map(Damage::Numbers),
    ]
}

impl Damage {
    /// The damaged text.
    pub fn of(&self, text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        match self {
            Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Bytes(changes) => {
                for (at, byte) in changes {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
            }
            Damage::Numbers(changes) => {
                for (at, number) in changes {
                    let numbers = numbers(&bytes);
                    let place = numbers[at.index(numbers.len())].clone();
                    bytes.splice(place, number.bytes());
                }
            }
        }
        bytes
    }
}

/// Positions of numbers.
fn numbers(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let starts = (0..bytes.len()).filter(|at| digit(*at) && (*at == 0 || !digit(at - 1)));
    starts.map(|start| start..(start..).find(|at| !digit(*at)).unwrap_or(bytes.len())).collect()
}
