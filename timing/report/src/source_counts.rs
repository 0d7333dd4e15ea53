//! Listings of code, and counts of launches by program counter in JSON.

use serde_json::{Map, Value, json};
use timing::record::{SourceCounts, stalls};
use timing::sm::{InstructionCounters, PcCounts, STALLS};
use warp_stream::kernel_name::signature;

/// PTX of a kernel with its positions in CUDA source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Number, to which [`SourceCounts::listing`] refers.
    pub number: u64,
    /// Mangled name of the kernel.
    pub kernel: String,
    /// CUDA source files.
    pub files: Vec<ListedFile>,
    /// Instructions in the order of the text.
    pub lines: Vec<ListedLine>,
}

/// Lines of a CUDA source file that instructions come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListedFile {
    /// Name, as the compiler wrote it.
    pub name: String,
    /// Line numbers from 1, and the texts; none if the file is unreadable.
    pub lines: Vec<(u32, String)>,
}

/// A PTX instruction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListedLine {
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// Name of the function.
    pub function: String,
    /// The instruction.
    pub text: String,
    /// Index in [`Listing::files`] and line of the CUDA source; `None` without `-lineinfo`.
    pub source: Option<(u32, u32)>,
}

/// The counts of a launch: a list for each count that is not 0 everywhere.
pub(super) fn json(source: &SourceCounts) -> Value {
    let rows = &source.rows;
    let column =
        |value: fn(&PcCounts) -> u64| -> Vec<u64> { rows.iter().map(|row| value(&row.counts)).collect() };
    let mut columns = vec![
        ("warp_instructions", column(|counts| counts.warp_instructions)),
        ("thread_instructions", column(|counts| counts.thread_instructions)),
        ("sectors", column(|counts| counts.sectors)),
        ("shared_conflicts", column(|counts| counts.shared_conflicts)),
        ("l1_conflicts", column(|counts| counts.l1_conflicts)),
    ];
    for (place, counter) in stalls().into_iter().enumerate() {
        columns.push((counter.name, rows.iter().map(|row| row.counts.stalls[place]).collect()));
    }
    let (counts, stalls) = columns.split_at(columns.len() - STALLS);
    let shown = |columns: &[(&str, Vec<u64>)]| -> Map<String, Value> {
        let columns = columns.iter().filter(|(_, values)| values.iter().any(|value| *value != 0));
        columns.map(|(name, values)| ((*name).to_owned(), json!(values))).collect()
    };
    json!({
        "listing": source.listing,
        "address": rows.iter().map(|row| row.address).collect::<Vec<_>>(),
        "line": rows.iter().map(|row| row.line).collect::<Vec<_>>(),
        "class": rows.iter().map(|row| InstructionCounters::class_name(row.class)).collect::<Vec<_>>(),
        "counts": shown(counts),
        "stalls": shown(stalls),
    })
}

/// A listing: lists with an element for each instruction, and the files.
pub(super) fn listing(listing: &Listing) -> Value {
    let Listing { number, kernel, files, lines } = listing;
    let files: Vec<Value> = files
        .iter()
        .map(|file| {
            let (numbers, texts): (Vec<u32>, Vec<&str>) =
                file.lines.iter().map(|(number, text)| (*number, text.as_str())).unzip();
            json!({ "name": file.name, "line": numbers, "text": texts })
        })
        .collect();
    json!({
        "number": number,
        "kernel": signature(kernel),
        "line": lines.iter().map(|line| line.line).collect::<Vec<_>>(),
        "function": lines.iter().map(|line| line.function.as_str()).collect::<Vec<_>>(),
        "text": lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(),
        "file": lines.iter().map(|line| line.source.map(|(file, _)| file)).collect::<Vec<_>>(),
        "source_line": lines.iter().map(|line| line.source.map(|(_, line)| line)).collect::<Vec<_>>(),
        "files": files,
    })
}
