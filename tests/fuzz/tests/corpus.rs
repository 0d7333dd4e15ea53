//! Every fuzz target on its kept corpus and on mutations of it.
//!
//! `VOLTSIM_TEST_MUTATIONS` is the number of mutations of each file, 100 by default. The mutations of a file
//! repeat in every run. A failing input goes to `fuzz/artifacts/TARGET`, as with cargo-fuzz.

#![allow(clippy::expect_used, reason = "helpers of tests, where a panic is the report")]

use fuzz_targets::TARGETS;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// Mutations of a file without the variable.
const MUTATIONS: u64 = 100;
/// Numbers that a reader may not expect.
const NUMBERS: [&str; 6] = ["0", "-1", "3", "4294967295", "18446744073709551615", "1e999"];

#[test]
fn readers_answer_the_corpus_and_its_mutations() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mutations = std::env::var("VOLTSIM_TEST_MUTATIONS").ok().and_then(|number| number.parse().ok());
    let mut failed = Vec::new();
    for (name, target) in TARGETS {
        let corpus: Vec<Vec<u8>> =
            files(&fuzz.join("corpus").join(name)).iter().map(|path| read(path)).collect();
        assert!(!corpus.is_empty(), "no corpus of {name}");
        for (number, bytes) in corpus.iter().enumerate() {
            for mutation in 0..=mutations.unwrap_or(MUTATIONS) {
                let input = match mutation {
                    0 => bytes.clone(),
                    _ => Random(number as u64 * 1_000_003 + mutation).mutated(bytes, &corpus),
                };
                if catch_unwind(|| target(&input)).is_err() {
                    failed.push(keep(
                        &fuzz.join("artifacts").join(name),
                        &format!("{number}-{mutation}"),
                        &input,
                    ));
                }
            }
        }
    }
    assert!(failed.is_empty(), "readers panicked: {failed:?}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of a corpus is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry is read").path()).collect();
    files.sort();
    files
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).expect("a file of the corpus is read")
}

/// Writes a failing input; gives its path.
fn keep(folder: &Path, name: &str, input: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(folder).and_then(|()| fs::write(&path, input)).expect("the input is kept");
    path
}

/// Pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// The bytes after one to four changes.
    fn mutated(&mut self, bytes: &[u8], corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = bytes.to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut input, corpus);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(input.len());
        let end = at + self.below(64).min(input.len() - at);
        match self.below(6) {
            0 => input.truncate(at),
            1 => drop(input.drain(at..end)),
            2 => {
                let part = input[at..end].to_vec();
                drop(input.splice(at..at, part));
            }
            3 => {
                let other = &corpus[self.below(corpus.len())];
                let from = self.below(other.len());
                let part = other[from..other.len().min(from + 64)].to_vec();
                drop(input.splice(at..end, part));
            }
            4 => {
                let number = NUMBERS[self.below(NUMBERS.len())];
                let digits = input[at..].iter().position(u8::is_ascii_digit).map_or(at, |skip| at + skip);
                let length = input[digits..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                drop(input.splice(digits..digits + length, number.bytes()));
            }
            _ => {
                let value = [0, 1, 0x7f, 0x80, 0xff, self.next() as u8][self.below(6)];
                if let Some(byte) = input.get_mut(at) {
                    *byte = value;
                }
            }
        }
    }
}
