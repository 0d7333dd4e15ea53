//! Kernel lists: commands in program order.

use std::path::{Path, PathBuf};

use super::TraceError;
use super::parse::{hexadecimal, number};

/// File name of a list.
pub const LIST: &str = "kernelslist.g";

/// True if the file name is a kernel list's.
pub fn is_list(file: &Path) -> bool {
    let ends = file.extension().is_some_and(|ending| ending == "g");
    ends || file.file_name().is_some_and(|name| name == RAW_LIST)
}

/// File name of the tracer's list, which names unsorted traces.
const RAW_LIST: &str = "kernelslist";

/// Endings of compressed traces, which a list may omit.
const PACKED: [&str; 2] = ["xz", "gz"];

/// A command of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A copy from the host to the device.
    Copy {
        /// First byte on the device.
        address: u64,
        /// Bytes.
        bytes: u64,
    },
    /// A launch.
    Kernel {
        /// Trace file.
        file: PathBuf,
    },
}

/// Reads a list. Skips lines other than copies to the device and kernels, as Accel-Sim does.
///
/// # Errors
/// The file is unreadable or the tracer's raw list, or a copy is malformed.
pub fn read_list(file: &Path) -> Result<Vec<Entry>, TraceError> {
    if let Some(file) = raw_list(file) {
        return Err(TraceError::Raw { file });
    }
    let text =
        std::fs::read_to_string(file).map_err(|error| TraceError::File { file: file.to_owned(), error })?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut entries = Vec::new();
    for (index, line) in text.lines().map(str::trim).enumerate() {
        if line.starts_with("kernel") {
            entries.push(Entry::Kernel { file: packed(folder.join(line)) });
        } else if let Some(copy) = line.strip_prefix("MemcpyHtoD") {
            let entry = copy_of(copy).ok_or_else(|| TraceError::Line {
                file: file.to_owned(),
                line: index + 1,
                reason: "a copy must be MemcpyHtoD,0xADDRESS,BYTES".to_owned(),
            })?;
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// The tracer's raw list, if given or found in place of a missing sorted list.
fn raw_list(file: &Path) -> Option<PathBuf> {
    if file.file_name().is_some_and(|name| name == RAW_LIST) {
        return Some(file.to_owned());
    }
    let beside = file.with_file_name(RAW_LIST);
    (!file.exists() && beside.is_file()).then_some(beside)
}

/// The trace file, or the compressed one beside it if only that exists.
fn packed(file: PathBuf) -> PathBuf {
    if file.exists() {
        return file;
    }
    let with = |ending: &str| {
        let mut name = file.clone().into_os_string();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    };
    PACKED.iter().map(|ending| with(ending)).find(|packed| packed.is_file()).unwrap_or(file)
}

fn copy_of(text: &str) -> Option<Entry> {
    let mut parts = text.strip_prefix(',')?.split(',').map(str::trim);
    let (address, bytes) = (hexadecimal(parts.next()?)?, number(parts.next()?)?);
    parts.next().is_none().then_some(Entry::Copy { address, bytes })
}

/// Text of a list; kernels appear by file name.
pub fn write_list(entries: &[Entry]) -> String {
    let line = |entry: &Entry| match entry {
        Entry::Copy { address, bytes } => format!("MemcpyHtoD,0x{address:016x},{bytes}\n"),
        Entry::Kernel { file } => match file.file_name() {
            Some(name) => format!("{}\n", name.to_string_lossy()),
            None => String::new(),
        },
    };
    entries.iter().map(line).collect()
}
