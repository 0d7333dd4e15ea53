//! Counts of launches by program counter, listings of their code, and their forms in JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use warp_stream::kernel_name::signature;
use warp_stream::{MachineCode, OperationClass};

use crate::sm::memory::SECTORS;
use crate::sm::{InstructionCounters, IssueCounters, PcCounts, STALLS};
use crate::statistics::{Counter, Counters, Counts};

/// Counts of a launch by program counter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceCounts {
    /// Number of the [`Listing`] of the launch's code, if there is one.
    pub listing: Option<u64>,
    /// Instructions with counts, by address.
    pub rows: Vec<PcRow>,
}

/// An instruction with its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcRow {
    /// Bytes from the start of the kernel's code.
    pub address: u32,
    /// Line of the PTX text, from 1; 0 if unknown.
    pub line: u32,
    /// Operation class.
    pub class: OperationClass,
    /// Counts.
    pub counts: PcCounts,
}

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

impl SourceCounts {
    /// The counts of a launch by position in its code.
    pub(crate) fn new(code: &MachineCode, counts: &[PcCounts]) -> SourceCounts {
        let rows = code.instructions.iter().zip(counts);
        let rows = rows.filter(|(_, counts)| **counts != PcCounts::default());
        let row = |(instruction, counts): (&warp_stream::MachineInstruction, &PcCounts)| PcRow {
            address: instruction.address,
            line: instruction.line,
            class: instruction.class,
            counts: *counts,
        };
        SourceCounts { listing: None, rows: rows.map(row).collect() }
    }

    /// The first counter that the counts do not add up to, with its value and their sum. Counters
    /// that the run does not model are left out.
    pub fn imbalance(&self, counters: &Counts) -> Option<(&'static str, u64, u64)> {
        let mut sum = PcCounts::default();
        self.rows.iter().for_each(|row| sum.add(&row.counts));
        let of = |names: &[(&str, &str)]| {
            let named = |counter: &Counter| names.contains(&(counter.section, counter.name));
            counters.iter().filter(|(counter, _)| named(counter)).map(|(_, value)| value).sum::<u64>()
        };
        let conflicts = |section| {
            [(section, "load_conflicts"), (section, "store_conflicts"), (section, "atomic_conflicts")]
        };
        let sums = [
            ("sm.warp_instructions", of(&[("sm", "warp_instructions")]), sum.warp_instructions),
            ("sm.thread_instructions", of(&[("sm", "thread_instructions")]), sum.thread_instructions),
            ("the sectors of the coalescer", of(&SECTORS), sum.sectors),
            ("the conflicts of shared memory", of(&conflicts("shared")), sum.shared_conflicts),
            ("the conflicts of L1", of(&conflicts("l1")), sum.l1_conflicts),
        ];
        let stalls = stalls().into_iter().zip(sum.stalls);
        let stalls = stalls.map(|(counter, sum)| (counter.name, of(&[(counter.section, counter.name)]), sum));
        sums.into_iter().chain(stalls).find(|(_, count, sum)| count != sum)
    }
}

/// Counters of empty issue slots that belong to an instruction, in their order.
fn stalls() -> Vec<&'static Counter> {
    let mut counters = Vec::new();
    IssueCounters::default().each(&mut |counter, _| counters.push(counter));
    counters.into_iter().skip(1).take(STALLS).collect()
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
