//! Reader of checksums, launch by launch.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use functional::memory::AllocationKind;
use serde::Deserialize;
use serde::de::{IntoDeserializer, value};

use super::{FORMAT, MAGIC, Name, Sum, Sums, word};
use crate::step::Digest;

/// Longest line in bytes.
const LONGEST: u64 = 1 << 20;

/// An error of checksums.
#[derive(Debug, thiserror::Error)]
pub enum ChecksumsError {
    /// Unreadable file.
    #[error("{}: {error}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Empty file.
    #[error("{}: the file is empty: no launch completed", .0.display())]
    Empty(PathBuf),
    /// Other kind of file.
    #[error("{}: not a file of checksums", .0.display())]
    Foreign(PathBuf),
    /// Other format.
    #[error("{}: the checksums have format {found}; this Voltsim reads format {FORMAT}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// Format found.
        found: String,
    },
    /// Damaged line.
    #[error("{}, line {line}: {what}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Damage.
        what: String,
    },
    /// Truncated file.
    #[error(
        "{}, line {line}: the file ends {} without its end line: it is truncated, or the program was killed or still runs",
        file.display(),
        launch.map_or_else(|| "before the first launch".to_owned(), |launch| format!("after launch {launch}"))
    )]
    Unfinished {
        /// The file.
        file: PathBuf,
        /// First missing line.
        line: u64,
        /// Last complete launch.
        launch: Option<u64>,
    },
    /// No common launches.
    #[error("{} and {} have no launch in common: {} and {}", files[0].display(), files[1].display(), told[0], told[1])]
    Apart {
        /// The files.
        files: [PathBuf; 2],
        /// Launches of each file.
        told: [String; 2],
    },
}

impl ChecksumsError {
    /// Remedy for the user.
    pub fn remedy(&self) -> &'static str {
        match self {
            ChecksumsError::Read { .. } => "Check the path and its permissions",
            ChecksumsError::Empty(_) => {
                "Record a program that launches kernels, with --checksums-every no more than its launches"
            }
            ChecksumsError::Foreign(_) => "Name a file written by `voltsim run --checksums FILE`",
            ChecksumsError::Format { .. } => "Record the checksums again, or use the Voltsim that made them",
            ChecksumsError::Damaged { .. } => "Copy the file again, or record the checksums again",
            ChecksumsError::Unfinished { .. } => {
                "Copy the file again, or record the checksums again and let the program finish"
            }
            ChecksumsError::Apart { .. } => "Record both with the same --checksums-every",
        }
    }
}

/// A launch with checksums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Launch number.
    pub number: u64,
    /// Name of the kernel.
    pub kernel: String,
}

/// An open file of checksums.
#[derive(Debug)]
pub struct ChecksumsReader {
    file: PathBuf,
    lines: BufReader<File>,
    /// Lines read.
    line: u64,
    /// Hash of the lines read.
    read: blake3::Hasher,
    program: String,
    every: u64,
    memory: Sums,
    launches: u64,
    last: Option<u64>,
    has_ended: bool,
}

impl ChecksumsReader {
    /// Opens a file.
    pub fn open(file: &Path) -> Result<ChecksumsReader, ChecksumsError> {
        let opened = File::open(file);
        let lines = opened.map_err(|error| ChecksumsError::Read { file: file.to_owned(), error })?;
        let mut reader = ChecksumsReader {
            file: file.to_owned(),
            lines: BufReader::new(lines),
            line: 0,
            read: blake3::Hasher::new(),
            program: String::new(),
            every: 0,
            memory: Sums::new(),
            launches: 0,
            last: None,
            has_ended: false,
        };
        reader.read_head()?;
        Ok(reader)
    }

    /// The program with its arguments.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Interval of launches with checksums.
    pub fn every(&self) -> u64 {
        self.every
    }

    /// Memory after the last launch read.
    pub fn memory(&self) -> &Sums {
        &self.memory
    }

    /// Reads the next launch; `None` at the end of the file.
    pub fn next_launch(&mut self) -> Result<Option<Launch>, ChecksumsError> {
        if self.has_ended {
            return Ok(None);
        }
        let (words, before) = self.words()?;
        let launch = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [word::LAUNCH, number, kernel] => {
                Launch { number: self.number(number)?, kernel: kernel.to_owned() }
            }
            [word::END, launches, digest] => {
                self.compare_digest(digest, before)?;
                if self.number(launches)? != self.launches {
                    return Err(self.damaged(format!("the line must count {} launches", self.launches)));
                }
                let left = self.lines.fill_buf().map(|left| !left.is_empty());
                if left.map_err(|error| self.unreadable(error))? {
                    return Err(self.damaged("the file continues after its end line"));
                }
                self.has_ended = true;
                return Ok(None);
            }
            _ => return Err(self.damaged("the line must be a launch or the end")),
        };
        while self.read_allocation()? {}
        self.launches += 1;
        self.last = Some(launch.number);
        Ok(Some(launch))
    }

    /// Reads a line of a launch; `false` for its last.
    fn read_allocation(&mut self) -> Result<bool, ChecksumsError> {
        let (words, before) = self.words()?;
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [word::HAS, device, kind, number, address, size, digest] => {
                let name = self.name(device, kind, number)?;
                let address = address.strip_prefix("0x").and_then(|it| u64::from_str_radix(it, 16).ok());
                let (Some(address), Ok(digest)) = (address, Digest::from_str(digest)) else {
                    return Err(self.damaged("the address or digest is malformed"));
                };
                let sum = Sum { address, size: self.number(size)?, digest };
                self.memory.insert(name, sum);
            }
            [word::LOST, device, kind, number] => {
                let name = self.name(device, kind, number)?;
                if self.memory.remove(&name).is_none() {
                    return Err(self.damaged(format!("{name} did not exist before")));
                }
            }
            [word::SUM, digest] => {
                self.compare_digest(digest, before)?;
                return Ok(false);
            }
            _ => return Err(self.damaged("the line is no part of a launch")),
        }
        Ok(true)
    }

    fn read_head(&mut self) -> Result<(), ChecksumsError> {
        let mut beginning = Vec::new();
        let length = MAGIC.len() as u64;
        let read = self.lines.by_ref().take(length).read_to_end(&mut beginning);
        read.map_err(|error| self.unreadable(error))?;
        if beginning.is_empty() {
            return Err(ChecksumsError::Empty(self.file.clone()));
        }
        if beginning != MAGIC.as_bytes() {
            return Err(match MAGIC.as_bytes().starts_with(&beginning) {
                true => self.unfinished(),
                false => ChecksumsError::Foreign(self.file.clone()),
            });
        }
        self.read.update(&beginning);
        let (format, _) = self.words()?;
        match format.get(1) {
            Some(found) if found.parse() != Ok(FORMAT) => {
                let (file, found) = (self.file.clone(), found.clone());
                return Err(ChecksumsError::Format { file, found });
            }
            Some(_) => {}
            None => return Err(self.damaged("the format is missing")),
        }
        let (program, _) = self.words()?;
        match program.as_slice() {
            [name, program] if name == word::PROGRAM => self.program.clone_from(program),
            _ => return Err(self.damaged("the program is missing")),
        }
        let (every, _) = self.words()?;
        match every.as_slice() {
            [name, every] if name == word::EVERY => self.every = self.number(every)?,
            _ => return Err(self.damaged("the interval of checksums is missing")),
        }
        match self.every {
            0 => Err(self.damaged("the interval must be at least 1")),
            _ => Ok(()),
        }
    }

    /// Words of the next line, and the digest of the preceding lines.
    fn words(&mut self) -> Result<(Vec<String>, Digest), ChecksumsError> {
        let before = Digest::so_far(&self.read);
        let mut line = Vec::new();
        let read = self.lines.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        read.map_err(|error| self.unreadable(error))?;
        let Some(text) = line.strip_suffix(b"\n") else {
            self.line += 1;
            return Err(match line.len() as u64 == LONGEST {
                true => self.damaged("the line has no end"),
                false => self.unfinished(),
            });
        };
        self.line += 1;
        self.read.update(&line);
        let text = str::from_utf8(text).map_err(|_| self.damaged("the line is no text"))?;
        Ok((text.split('\t').map(str::to_owned).collect(), before))
    }

    fn compare_digest(&self, digest: &str, before: Digest) -> Result<(), ChecksumsError> {
        match Digest::from_str(digest) == Ok(before) {
            true => Ok(()),
            false => Err(self.damaged("the preceding lines differ from their digest")),
        }
    }

    fn name(&self, device: &str, kind: &str, number: &str) -> Result<Name, ChecksumsError> {
        let known: Result<_, value::Error> = AllocationKind::deserialize(kind.into_deserializer());
        let kind = known.map_err(|_| self.damaged(format!("unknown kind of allocation `{kind}`")))?;
        Ok(Name { device: self.number(device)?, kind, number: self.number(number)? })
    }

    fn number(&self, text: &str) -> Result<u64, ChecksumsError> {
        text.parse().map_err(|_| self.damaged(format!("`{text}` must be a number")))
    }

    fn damaged(&self, what: impl Into<String>) -> ChecksumsError {
        ChecksumsError::Damaged { file: self.file.clone(), line: self.line, what: what.into() }
    }

    fn unfinished(&self) -> ChecksumsError {
        ChecksumsError::Unfinished { file: self.file.clone(), line: self.line.max(1), launch: self.last }
    }

    fn unreadable(&self, error: io::Error) -> ChecksumsError {
        ChecksumsError::Read { file: self.file.clone(), error }
    }
}
