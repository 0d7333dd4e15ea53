//! Output files named by the user: statistics, summary, log and others.
//!
//! A file appears complete or not at all, except for those that grow by lines. Failures are
//! reported on standard error and, for the exit status of `voltsim run`, in the folder of the
//! option `output_status`.

use crate::host::environment::options;
use saved_run::outputs::{self, Outcome};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use voltsim_checkpoint::output::Output;

/// Writes the output named by a setting; `fill` supplies its bytes.
pub(crate) fn write(setting: &str, path: &Path, fill: impl FnOnce(&mut Output) -> io::Result<()>) {
    let written = Output::create(path).and_then(|mut output| {
        fill(&mut output)?;
        output.finish()
    });
    match written {
        Ok(()) => note(Outcome::Written, path),
        Err(error) => tell_failed(setting, path, &error),
    }
}

/// Reports a failed output.
fn tell_failed(setting: &str, path: &Path, error: &dyn Display) {
    eprintln!("voltsim: {setting}: cannot write {}: {error}", path.display());
    note(Outcome::Failed, path);
}

/// Records the outcome of an output.
pub(crate) fn note(outcome: Outcome, path: &Path) {
    if let Some(folder) = &options().output_status {
        // A missing folder means that nobody waits for the record.
        let _ = outputs::tell(folder, outcome, path);
    }
}

/// True if a process of this run has written the output; without records, if the file is not empty.
pub(crate) fn is_written(path: &Path) -> bool {
    match &options().output_status {
        Some(folder) => outputs::has(folder, Outcome::Written, path),
        None => path.metadata().is_ok_and(|file| file.len() > 0),
    }
}

/// An output that grows by lines; several processes may append.
pub(crate) struct Lines {
    setting: &'static str,
    path: PathBuf,
    file: File,
    has_failed: AtomicBool,
}

impl Lines {
    /// Opens the output named by a setting; reports a failure and returns `None`.
    pub(crate) fn open(setting: &'static str, path: &Path) -> Option<Lines> {
        match File::options().append(true).create(true).open(path) {
            Ok(file) => {
                Some(Lines { setting, path: path.to_owned(), file, has_failed: AtomicBool::new(false) })
            }
            Err(error) => {
                tell_failed(setting, path, &error);
                None
            }
        }
    }

    /// Size of the output in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |file| file.len())
    }

    /// Appends whole lines in one write, so that processes do not mix lines. Stops after a failure.
    pub(crate) fn add(&self, lines: &str) {
        if self.has_failed.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = self.append(lines.as_bytes())
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            tell_failed(self.setting, &self.path, &format_args!("{error}; output stops here"));
        }
    }

    fn append(&self, lines: &[u8]) -> io::Result<()> {
        let mut file = &self.file;
        let mut rest = lines;
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(0) => return Err(self.cut(lines.len() - rest.len(), io::ErrorKind::WriteZero.into())),
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.cut(lines.len() - rest.len(), error)),
            }
        }
        Ok(())
    }

    /// Removes a partly written line, unless another process has appended.
    fn cut(&self, begun: usize, error: io::Error) -> io::Error {
        let end = (&self.file).stream_position().unwrap_or(0);
        if begun > 0 && end == self.length() {
            // On failure the output keeps half a line.
            let _ = self.file.set_len(end.saturating_sub(begun as u64));
        }
        error
    }
}
