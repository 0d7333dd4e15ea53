//! Writer of checksums.

use std::io::{self, Write};
use std::path::Path;

use voltsim_checkpoint::output::Output;

use super::{FORMAT, MAGIC, Sums, word};
use crate::step::Digest;

/// A file of checksums, written launch by launch, which gets its name when finished.
#[derive(Debug)]
pub struct ChecksumsWriter {
    file: Output,
    /// Hash of the text written.
    written: blake3::Hasher,
    /// Memory after the previous launch.
    memory: Sums,
    launches: u64,
}

impl ChecksumsWriter {
    /// Creates the file for a program with its arguments and a record after each `every`-th launch.
    pub fn create(file: &Path, program: &[String], every: u64) -> io::Result<ChecksumsWriter> {
        let file = Output::create(file)?;
        let mut writer =
            ChecksumsWriter { file, written: blake3::Hasher::new(), memory: Sums::new(), launches: 0 };
        let program: Vec<String> = program.iter().map(|part| part.escape_debug().to_string()).collect();
        let (program, name) = (program.join(" "), word::PROGRAM);
        writer.write(&format!("{MAGIC}\t{FORMAT}\n{name}\t{program}\n{}\t{every}\n", word::EVERY))?;
        Ok(writer)
    }

    /// Adds a launch and the memory after it.
    pub fn add(&mut self, launch: u64, kernel: &str, memory: Sums) -> io::Result<()> {
        let mut text = format!("{}\t{launch}\t{}\n", word::LAUNCH, kernel.escape_debug());
        for (name, sum) in memory.iter().filter(|(name, sum)| self.memory.get(name) != Some(sum)) {
            let (device, kind, number) = (name.device, name.kind, name.number);
            let (address, size, digest) = (sum.address, sum.size, sum.digest);
            text += &format!("{}\t{device}\t{kind:?}\t{number}\t{address:#x}\t{size}\t{digest}\n", word::HAS);
        }
        for name in self.memory.keys().filter(|name| !memory.contains_key(name)) {
            text += &format!("{}\t{}\t{:?}\t{}\n", word::LOST, name.device, name.kind, name.number);
        }
        self.launches += 1;
        self.memory = memory;
        self.write(&text)?;
        self.write_digest(word::SUM)
    }

    /// Finishes the file.
    pub fn finish(mut self) -> io::Result<()> {
        let word = format!("{}\t{}", word::END, self.launches);
        self.write_digest(&word)?;
        self.file.finish()
    }

    fn write_digest(&mut self, before: &str) -> io::Result<()> {
        self.write(&format!("{before}\t{}\n", Digest::so_far(&self.written)))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.written.update(text.as_bytes());
        self.file.write_all(text.as_bytes())
    }
}
