//! Files that the process writes because its user names them: the statistics, the summary, the log and all others.
//!
//! Each appears whole or not at all, but for those that grow line by line. What could not be written is said on standard
//! error, and in the folder that `VOLTSIM_OUTPUT_STATUS` names, for `voltsim run`, whose exit status tells it.

use crate::host::environment;
use saved_run::outputs::{self, Outcome};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use voltsim_checkpoint::output::Output;

/// Writes the output that a setting names. `fill` gives its bytes.
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

/// Tells that an output could not be written.
fn tell_failed(setting: &str, path: &Path, error: &dyn Display) {
    eprintln!("voltsim: {setting}: cannot write {}: {error}", path.display());
    note(Outcome::Failed, path);
}

/// Notes what has become of an output.
pub(crate) fn note(outcome: Outcome, path: &Path) {
    if let Some(folder) = environment::variable(outputs::VARIABLE) {
        // Without the folder nobody waits for it.
        let _ = outputs::tell(Path::new(&folder), outcome, path);
    }
}

/// Has some process of this run written an output? Without somebody who knows, whether there is something in it.
pub(crate) fn is_written(path: &Path) -> bool {
    match environment::variable(outputs::VARIABLE) {
        Some(folder) => outputs::has(Path::new(&folder), Outcome::Written, path),
        None => path.metadata().is_ok_and(|file| file.len() > 0),
    }
}

/// An output that grows line by line, to which several processes may add.
pub(crate) struct Lines {
    setting: &'static str,
    path: PathBuf,
    file: File,
    has_failed: AtomicBool,
}

impl Lines {
    /// Opens the output that a setting names. `None` if that fails, which is told.
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

    /// Bytes that the output has.
    pub(crate) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |file| file.len())
    }

    /// Adds whole lines in one write, so that lines of several processes do not mix. After a failure nothing more is added.
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

    /// Takes back the beginning of a line that could not be written, unless somebody has added to it.
    fn cut(&self, begun: usize, error: io::Error) -> io::Error {
        let end = (&self.file).stream_position().unwrap_or(0);
        if begun > 0 && end == self.length() {
            // The output has half a line then, and its end says nothing of what came after.
            let _ = self.file.set_len(end.saturating_sub(begun as u64));
        }
        error
    }
}
