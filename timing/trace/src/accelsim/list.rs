//! Lists of kernels: commands in the order of the program.

use std::path::{Path, PathBuf};

use super::TraceError;
use super::parse::{hexadecimal, number};

/// How the file of a list is called.
pub const LIST: &str = "kernelslist.g";

/// Is a file a list of kernels by its name?
pub fn is_list(file: &Path) -> bool {
    let ends = file.extension().is_some_and(|ending| ending == "g");
    ends || file.file_name().is_some_and(|name| name == RAW_LIST)
}

/// How the tracer calls its list, which names traces that are not sorted yet.
const RAW_LIST: &str = "kernelslist";

/// Endings of packed traces, which a list may leave out.
const PACKED: [&str; 2] = ["xz", "gz"];

/// What a program did.
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
        /// The file of its trace.
        file: PathBuf,
    },
}

/// Reads a list. Lines that are neither a copy to the device nor a kernel are passed over, as Accel-Sim does.
///
/// # Errors
/// The file cannot be read, is a list of the tracer's own output, or a copy is malformed.
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
                reason: "a copy is MemcpyHtoD,0xADDRESS,BYTES".to_owned(),
            })?;
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// The tracer's own list, if that is given or stands where a list of sorted traces is missing.
fn raw_list(file: &Path) -> Option<PathBuf> {
    if file.file_name().is_some_and(|name| name == RAW_LIST) {
        return Some(file.to_owned());
    }
    let beside = file.with_file_name(RAW_LIST);
    (!file.exists() && beside.is_file()).then_some(beside)
}

/// The file of a trace, or the packed one beside it where only that exists.
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

/// The text of a list; kernels are named by their files' names.
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
