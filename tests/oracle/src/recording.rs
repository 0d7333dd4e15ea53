//! Results of a real GPU in `tests/isa/recorded`: one compressed file for each card and driver.

use std::path::{Path, PathBuf};

use ptx_frontend::isa;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde::{Deserialize, Serialize};
use voltsim_checkpoint::codec;

use crate::case::{Case, Effort};
use crate::machine::{Machine, MachineError, bytes_of};
use crate::oracle::{Answer, reason_for_none};

/// Memory limit of a recording in bytes.
const LIMIT: usize = 1 << 30;

/// Error of making, writing or reading a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// File or folder.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is not a recording.
    #[error("{path}: {reason}")]
    Format {
        /// File.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The machine failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A form has no cases.
    #[error("{form}: {error}")]
    Cases {
        /// Form.
        form: String,
        /// Reason.
        error: crate::case::NoCases,
    },
}

/// Results of one card with one driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// Name of the card as reported by its driver.
    pub card: String,
    /// Version of the driver.
    pub driver: String,
    /// Rows for each variant.
    pub rows: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Results by variant.
    pub answers: Vec<Recorded>,
}

/// Results of one variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Variant.
    pub variant: String,
    /// Hash of the module and the operands.
    pub input: u64,
    /// All rows.
    pub results: Vec<u64>,
}

fn hash(case: &Case) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(case.text.as_bytes());
    hasher.update(&bytes_of(case.job().operands));
    let mut word = [0; 8];
    hasher.finalize_xof().fill(&mut word);
    u64::from_le_bytes(word)
}

/// Results of a machine on some cases.
#[derive(Default)]
struct Answers {
    answers: Vec<Recorded>,
    refused: Vec<String>,
}

impl Answers {
    fn of(cases: &[Case], machine: &mut impl Machine) -> Result<Answers, MachineError> {
        let mut answers = Answers::default();
        for case in cases {
            let variant = case.variant.text();
            match machine.run(case.job()) {
                Ok(results) => answers.answers.push(Recorded { variant, input: hash(case), results }),
                Err(MachineError::Refused(reason)) => answers.refused.push(format!("{variant}: {reason}")),
                Err(error) => return Err(MachineError::Failed(format!("{variant}: {error}"))),
            }
        }
        Ok(answers)
    }
}

/// Returns every form with an oracle and its cases.
pub fn forms(effort: Effort) -> impl Iterator<Item = Result<(String, Vec<Case>), RecordingError>> {
    isa::table().filter(|line| reason_for_none(line).is_none()).map(move |line| {
        let form = format!("{}.{}", line.group, line.name);
        match Case::all(line, effort) {
            Ok(cases) => Ok((form, cases)),
            Err(error) => Err(RecordingError::Cases { form, error }),
        }
    })
}

impl Recording {
    /// Runs every form's cases on one machine per thread from `open`. Also returns the refusals.
    pub fn make<M: Machine>(
        open: impl Fn() -> Result<M, MachineError> + Sync,
        threads: usize,
        (card, driver): (String, String),
        effort: Effort,
    ) -> Result<(Recording, Vec<String>), RecordingError> {
        let mut cases = Vec::new();
        for form in forms(effort) {
            cases.extend(form?.1);
        }
        let share = cases.len().div_ceil(threads).max(1);
        let shares = std::thread::scope(|scope| {
            let open = &open;
            let start = |cases| scope.spawn(move || Answers::of(cases, &mut open()?));
            let running: Vec<_> = cases.chunks(share).map(start).collect();
            let gone = || MachineError::Failed("a thread has panicked".to_owned());
            running
                .into_iter()
                .map(|thread| thread.join().map_err(|_| gone())?)
                .collect::<Result<Vec<_>, _>>()
        })?;
        let Effort { rows, seed } = effort;
        let mut recording = Recording { card, driver, rows, seed, answers: Vec::new() };
        let mut refused = Vec::new();
        for share in shares {
            recording.answers.extend(share.answers);
            refused.extend(share.refused);
        }
        Ok((recording, refused))
    }

    /// Writes the recording to a file in `folder`, named after card and driver.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, RecordingError> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
        let name: String = format!("{} {}", self.card, self.driver).chars().map(plain).collect();
        let path = folder.join(name.to_lowercase()).with_added_extension("zst");
        let bytes = codec::encode(self)
            .map_err(|error| RecordingError::Format { path: path.clone(), reason: error.to_string() })?;
        let compressed = compress_to_vec(bytes.as_slice(), CompressionLevel::Fastest);
        let failed = |source| RecordingError::File { path: path.clone(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        std::fs::write(&path, compressed).map_err(failed)?;
        Ok(path)
    }

    /// Reads a recording.
    pub fn read(path: &Path) -> Result<Recording, RecordingError> {
        let file = |source| RecordingError::File { path: path.to_owned(), source };
        let format = |reason: String| RecordingError::Format { path: path.to_owned(), reason };
        let compressed = std::fs::read(path).map_err(file)?;
        let mut bytes = Vec::new();
        let decoder =
            StreamingDecoder::new(compressed.as_slice()).map_err(|error| format(error.to_string()))?;
        std::io::Read::read_to_end(&mut std::io::Read::take(decoder, LIMIT as u64), &mut bytes)
            .map_err(file)?;
        codec::decode::<LIMIT, Recording>(&bytes).map_err(|error| format(error.to_string()))
    }

    /// Describes differences between the results of `machine` and the recorded ones, one line per variant.
    /// Omits approximate functions, whose results the manual leaves open, and variants that the machine
    /// refuses.
    pub fn differences(&self, machine: &mut dyn Machine) -> Result<Vec<String>, RecordingError> {
        let mut different = Vec::new();
        let mut recorded = self.answers.iter().map(|answer| (answer.variant.as_str(), answer));
        let known: std::collections::HashMap<&str, &Recorded> = recorded.by_ref().collect();
        for form in forms(Effort { rows: self.rows, seed: self.seed }) {
            for case in form?.1 {
                let Some(answer) = known.get(case.variant.text().as_str()) else { continue };
                if answer.input != hash(&case) {
                    different.push(format!("{} was recorded with other operands", answer.variant));
                    continue;
                }
                let results = match machine.run(case.job()) {
                    Ok(results) => results,
                    Err(MachineError::Refused(_)) => continue,
                    Err(error) => return Err(error.into()),
                };
                different.extend(difference(&case, &results, &answer.results));
            }
        }
        Ok(different)
    }
}

/// Describes the first row with other results than recorded, if the manual determines the result.
fn difference(case: &Case, results: &[u64], recorded: &[u64]) -> Option<String> {
    let words = case.job().result_words;
    let rows = results.chunks(words).zip(recorded.chunks(words)).enumerate();
    rows.filter(|(_, (ours, theirs))| ours != theirs).find_map(|(row, (ours, theirs))| {
        let exact = case.answers(row).iter().all(|answer| matches!(answer, Answer::Bits(_)));
        exact.then(|| case.complaint(row, ours, &format!("{theirs:#x?}, as recorded")))
    })
}
