//! Encoding of values.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use voltsim_checkpoint::codec::{CodecError, decode, encode};

const LIMIT: usize = 1 << 20;

/// A value with every kind of component of a cached kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sample {
    name: String,
    words: Vec<u64>,
    table: BTreeMap<u32, Vec<u8>>,
    choice: Choice,
    optional: Option<i128>,
    scale: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Choice {
    None,
    Register(u16),
    Address { space: u8, offset: i64 },
}

fn samples() -> impl Strategy<Value = Sample> {
    let choice = prop_oneof![
        Just(Choice::None),
        any::<u16>().prop_map(Choice::Register),
        any::<(u8, i64)>().prop_map(|(space, offset)| Choice::Address { space, offset }),
    ];
    let table = prop::collection::btree_map(any::<u32>(), any::<Vec<u8>>(), 0..5);
    (any::<String>(), any::<Vec<u64>>(), table, choice, any::<Option<i128>>(), -1e9..1e9).prop_map(
        |(name, words, table, choice, optional, scale)| Sample {
            name,
            words,
            table,
            choice,
            optional,
            scale,
        },
    )
}

proptest! {
    #[test]
    fn values_round_trip(sample in samples()) {
        let bytes = encode(&sample).unwrap();
        prop_assert_eq!(decode::<LIMIT, Sample>(&bytes).unwrap(), sample);
    }

    #[test]
    fn every_truncation_is_an_error(sample in samples()) {
        let bytes = encode(&sample).unwrap();
        for length in 0..bytes.len() {
            prop_assert!(decode::<LIMIT, Sample>(&bytes[..length]).is_err());
        }
    }

    #[test]
    fn trailing_bytes_are_an_error(sample in samples(), rest in prop::collection::vec(any::<u8>(), 1..20)) {
        let mut bytes = encode(&sample).unwrap();
        let used = bytes.len();
        bytes.extend(rest);
        let refused = matches!(
            decode::<LIMIT, Sample>(&bytes),
            Err(CodecError::TrailingBytes { used: end, length }) if end == used && length == bytes.len()
        );
        prop_assert!(refused);
    }

    #[test]
    fn arbitrary_bytes_decode_or_fail(bytes in any::<Vec<u8>>()) {
        if let Ok(sample) = decode::<LIMIT, Sample>(&bytes) {
            prop_assert!(sample.name.len() <= bytes.len() && sample.words.len() <= bytes.len());
        }
    }
}

#[test]
fn a_huge_length_is_refused_at_once() {
    let start = Instant::now();
    for length in [LIMIT as u64 + 1, 1 << 40, u64::MAX] {
        let bytes = encode(&length).unwrap();
        assert!(decode::<LIMIT, String>(&bytes).is_err());
        assert!(decode::<LIMIT, Vec<u64>>(&bytes).is_err());
        assert!(decode::<LIMIT, BTreeMap<u32, String>>(&bytes).is_err());
    }
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn values_above_the_limit_are_refused() {
    let bytes = encode(&vec![0_u64; 1000]).unwrap();
    assert!(decode::<8192, Vec<u64>>(&bytes).is_ok());
    assert!(decode::<7999, Vec<u64>>(&bytes).is_err());
}
