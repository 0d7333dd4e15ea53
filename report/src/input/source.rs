//! Counts by program counter, and listings of PTX with lines of CUDA source.

use std::collections::BTreeMap;

use super::fields::Fields;
use crate::ReportError;

/// Counts of one launch by program counter, summed by line of PTX.
#[derive(Debug, Default)]
pub struct SourceCounts {
    /// Number of the listing, if the file has one.
    pub listing: Option<u64>,
    /// Counts by line of the PTX text.
    pub lines: BTreeMap<u64, LineCounts>,
}

/// Counts of a line.
#[derive(Debug, Clone, Default)]
pub struct LineCounts {
    /// Warp instructions.
    pub issued: f64,
    /// Thread instructions.
    pub threads: f64,
    /// Sectors of memory accesses.
    pub sectors: f64,
    /// Extra passes through bank conflicts of shared memory and L1.
    pub conflicts: f64,
    /// Lost issue slots by the name of their counter in section `issue`.
    pub stalls: BTreeMap<String, f64>,
}

/// PTX of a kernel.
#[derive(Debug)]
pub struct Listing {
    /// Number, to which launches refer.
    pub number: u64,
    /// CUDA source files.
    pub files: Vec<File>,
    /// Instructions in the order of the text.
    pub lines: Vec<Line>,
}

/// A CUDA source file.
#[derive(Debug)]
pub struct File {
    /// Name.
    pub name: String,
    /// Texts of lines by number; none if the file was unreadable.
    pub lines: BTreeMap<u64, String>,
}

/// A PTX instruction.
#[derive(Debug)]
pub struct Line {
    /// Line of the PTX text, from 1.
    pub number: u64,
    /// Function.
    pub function: String,
    /// The instruction.
    pub text: String,
    /// Place in [`Listing::files`] and line of CUDA source.
    pub source: Option<(usize, u64)>,
}

impl LineCounts {
    /// Lost issue slots.
    pub fn lost(&self) -> f64 {
        self.stalls.values().sum()
    }

    /// Issue slots that the line takes: issued instructions and slots lost at them.
    pub fn slots(&self) -> f64 {
        self.issued + self.lost()
    }

    /// Adds the counts of another line.
    pub fn add(&mut self, other: &LineCounts) {
        self.issued += other.issued;
        self.threads += other.threads;
        self.sectors += other.sectors;
        self.conflicts += other.conflicts;
        for (name, value) in &other.stalls {
            *self.stalls.entry(name.clone()).or_default() += value;
        }
    }
}

impl SourceCounts {
    pub(super) fn read(fields: &Fields<'_>) -> Result<SourceCounts, ReportError> {
        let numbers = fields.get("line").numbers()?;
        let columns = |name: &str| -> Result<Vec<(String, Vec<f64>)>, ReportError> {
            let entries = fields.get(name).entries()?;
            entries.into_iter().map(|(name, values)| Ok((name.to_owned(), values.numbers()?))).collect()
        };
        let (counts, stalls) = (columns("counts")?, columns("stalls")?);
        let mut lines: BTreeMap<u64, LineCounts> = BTreeMap::new();
        for (row, number) in numbers.iter().enumerate() {
            let line = lines.entry(*number as u64).or_default();
            let mut more = LineCounts::default();
            for (name, values) in &counts {
                let value = values.get(row).copied().unwrap_or(0.0);
                match name.as_str() {
                    "warp_instructions" => more.issued += value,
                    "thread_instructions" => more.threads += value,
                    "sectors" => more.sectors += value,
                    "shared_conflicts" | "l1_conflicts" => more.conflicts += value,
                    _ => {}
                }
            }
            for (name, values) in &stalls {
                let value = values.get(row).copied().unwrap_or(0.0);
                if value > 0.0 {
                    more.stalls.insert(name.clone(), value);
                }
            }
            line.add(&more);
        }
        let listing = fields.get("listing");
        let listing = (!listing.is_missing()).then(|| listing.number()).transpose()?;
        Ok(SourceCounts { listing: listing.map(|number| number as u64), lines })
    }
}

impl Listing {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Listing, ReportError> {
        let files = fields.get("files").list()?;
        let (functions, texts) = (fields.get("function").list()?, fields.get("text").list()?);
        let (of_files, of_lines) = (fields.get("file").list()?, fields.get("source_line").list()?);
        let mut lines = Vec::new();
        for (row, number) in fields.get("line").numbers()?.into_iter().enumerate() {
            let text = |list: &[Fields<'_>]| match list.get(row) {
                Some(field) => field.text().map(str::to_owned),
                None => Ok(String::new()),
            };
            let place = |list: &[Fields<'_>]| match list.get(row) {
                Some(field) if !field.is_missing() => field.number().map(Some),
                _ => Ok(None),
            };
            let source = place(&of_files)?.zip(place(&of_lines)?);
            lines.push(Line {
                number: number as u64,
                function: text(&functions)?,
                text: text(&texts)?,
                source: source.map(|(file, line)| (file as usize, line as u64)),
            });
        }
        Ok(Listing {
            number: fields.get("number").number()? as u64,
            files: files.iter().map(File::read).collect::<Result<_, _>>()?,
            lines,
        })
    }
}

impl File {
    fn read(fields: &Fields<'_>) -> Result<File, ReportError> {
        let numbers = fields.get("line").numbers()?;
        let texts = fields.get("text").list()?;
        let texts = texts.iter().map(|text| text.text().map(str::to_owned));
        let lines = numbers.iter().map(|number| *number as u64).zip(texts);
        Ok(File {
            name: fields.get("name").text()?.to_owned(),
            lines: lines.map(|(number, text)| Ok((number, text?))).collect::<Result<_, ReportError>>()?,
        })
    }
}
