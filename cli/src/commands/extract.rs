//! `voltsim extract`: lists what a file's fat binaries hold and writes the PTX to files.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ptx_frontend::Module;
use ptx_frontend::container::{
    Architecture, Compression, Container, ContainerError, Entry, EntryKind, Image, ImageFile, Origin, cubin,
};
use serde::Serialize;
use warp_stream::kernel_name::signature;

use crate::failure::Failure;
use crate::outputs;
use crate::table;

/// Write the PTX embedded in an executable, shared library, object file or fat binary
///
/// Each PTX entry becomes a file NUMBER.ARCHITECTURE.ptx (3.sm_75.ptx), numbered as in the list.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Executable, shared library, object file, fat binary, cubin or PTX text
    file: PathBuf,

    /// Folder for the PTX files, which is made
    #[arg(short, long, value_name = "DIR", required_unless_present = "list")]
    output: Option<PathBuf>,

    /// List the entries; without --output nothing is written
    #[arg(long)]
    list: bool,

    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

/// The list as JSON.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    entries: &'a [Row],
}

/// One line of the list.
#[derive(Serialize)]
struct Row {
    /// Number of the entry in the file, from 0.
    number: usize,
    /// Number of its container in the file, from 0; none for a bare cubin or PTX text.
    container: Option<usize>,
    /// Bytes from the start of the file to the entry.
    offset: u64,
    kind: String,
    architecture: Option<String>,
    /// Of the PTX ISA, PTX entries only.
    ptx_version: Option<String>,
    compression: &'static str,
    /// Bytes in the file.
    stored_size: u64,
    /// Bytes after decompression.
    size: u64,
    /// Source file, when the program was compiled with debug or line information.
    identifier: Option<String>,
    /// Options for the vendor's assembler.
    options: Option<String>,
    /// Names of the kernels; none for kinds that cannot be read and for PTX without a readable
    /// outline.
    kernels: Option<Vec<String>>,
    /// The file written.
    written: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let file = ImageFile::open(&args.file).map_err(Failure::unreadable)?;
    let image = file.image().map_err(Failure::unreadable)?;
    if let Some(folder) = &args.output {
        fs::create_dir_all(folder).map_err(|error| not_writable(folder, &error))?;
    }
    let mut extraction = Extraction { args, rows: Vec::new(), damage: Vec::new() };
    extraction.add_image(&image)?;
    // Readable entries are reported even if others are damaged.
    report(args, &extraction.rows, out)?;
    match Failure::damaged(extraction.damage) {
        Some(failure) => Err(failure),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Entries that have been read so far.
struct Extraction<'a> {
    args: &'a Args,
    rows: Vec<Row>,
    damage: Vec<ContainerError>,
}

impl Extraction<'_> {
    fn add_image(&mut self, image: &Image<'_>) -> Result<(), Failure> {
        match image {
            Image::FatBinary(containers) => self.add_containers(containers.clone()),
            Image::Host(host) => self.add_containers(host.containers()),
            Image::Cubin(bytes) => {
                let kernels = self.intact(cubin::kernel_names(bytes, Origin::file(&self.args.file)));
                self.rows.push(Row { kernels, ..bare_row(EntryKind::Elf, bytes.len()) });
                Ok(())
            }
            Image::Linked(linked) => linked
                .texts
                .iter()
                .try_for_each(|text| self.add_image(&Image::Ptx(String::from_utf8_lossy(text)))),
            Image::Ptx(text) => {
                let written = self.write_ptx(None, text)?;
                let row = bare_row(EntryKind::Ptx, text.len());
                self.rows.push(Row { kernels: ptx_kernels(text), written, ..row });
                Ok(())
            }
        }
    }

    fn add_containers<'c>(
        &mut self,
        containers: impl Iterator<Item = Result<Container<'c>, ContainerError>>,
    ) -> Result<(), Failure> {
        for (number, container) in containers.enumerate() {
            let Some(container) = self.intact(container) else { continue };
            for entry in container.entries() {
                if let Some(entry) = self.intact(entry) {
                    self.add_entry(number, &entry)?;
                }
            }
        }
        Ok(())
    }

    fn add_entry(&mut self, container: usize, entry: &Entry<'_>) -> Result<(), Failure> {
        let is_ptx = entry.kind == EntryKind::Ptx;
        let text = if is_ptx { self.intact(entry.ptx()) } else { None };
        let kernels = match (&text, entry.kind) {
            (Some(text), _) => ptx_kernels(text),
            (None, EntryKind::Elf) => self.intact(entry.sass_kernel_names()),
            (None, _) => None,
        };
        let written = match &text {
            Some(text) => self.write_ptx(Some(entry.architecture), text)?,
            None => None,
        };
        let (major, minor) = entry.version;
        self.rows.push(Row {
            number: self.rows.len(),
            container: Some(container),
            offset: entry.place().offset,
            kind: entry.kind.to_string(),
            architecture: Some(entry.architecture.to_string()),
            ptx_version: is_ptx.then(|| format!("{major}.{minor}")),
            compression: entry.compression().map_or("unknown", Compression::name),
            stored_size: entry.stored_size(),
            size: entry.uncompressed_size(),
            identifier: entry.identifier.as_deref().map(Into::into),
            options: entry.options.as_deref().map(Into::into),
            kernels,
            written,
        });
        Ok(())
    }

    /// The value read; an error is noted as damage.
    fn intact<T>(&mut self, read: Result<T, ContainerError>) -> Option<T> {
        read.map_err(|error| self.damage.push(error)).ok()
    }

    /// Writes the text of the next row to its file, if files are wanted.
    fn write_ptx(&self, architecture: Option<Architecture>, text: &str) -> Result<Option<PathBuf>, Failure> {
        let Some(folder) = &self.args.output else { return Ok(None) };
        let number = self.rows.len();
        let name = match architecture {
            Some(architecture) => format!("{number}.{architecture}.ptx"),
            None => format!("{number}.ptx"),
        };
        let path = folder.join(name);
        outputs::write(&path, format!("{text}\n"))?;
        Ok(Some(path))
    }
}

/// The row of a file that is no container but one payload.
fn bare_row(kind: EntryKind, size: usize) -> Row {
    Row {
        number: 0,
        container: None,
        offset: 0,
        kind: kind.to_string(),
        architecture: None,
        ptx_version: None,
        compression: Compression::None.name(),
        stored_size: size as u64,
        size: size as u64,
        identifier: None,
        options: None,
        kernels: None,
        written: None,
    }
}

/// Names of the kernels in PTX `text`; none when it cannot be taken apart.
fn ptx_kernels(text: &str) -> Option<Vec<String>> {
    let module = Module::parse(text, "").ok()?;
    Some(module.kernels().map(Into::into).collect())
}

fn report(args: &Args, rows: &[Row], out: &mut dyn Write) -> Result<(), Failure> {
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &Report { file: &args.file, entries: rows })
            .map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    table::write(out, HEADING, &rows.iter().map(cells).collect::<Vec<_>>())?;
    let mut entries_of_kernel = BTreeMap::<&str, Vec<String>>::new();
    for row in rows {
        for kernel in row.kernels.iter().flatten() {
            entries_of_kernel.entry(kernel).or_default().push(row.number.to_string());
        }
    }
    if !entries_of_kernel.is_empty() {
        writeln!(out)?;
        let rows = entries_of_kernel
            .into_iter()
            .map(|(name, entries)| [entries.join(" "), signature(name).into_owned()]);
        table::write(out, ["in entries", "kernel"], &rows.collect::<Vec<_>>())?;
    }
    Ok(())
}

const HEADING: [&str; 9] =
    ["entry", "container", "kind", "architecture", "ptx", "compression", "stored", "size", "kernels"];

fn cells(row: &Row) -> [String; 9] {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    [
        row.number.to_string(),
        or_dash(&row.container.map(|number| number.to_string())),
        row.kind.clone(),
        or_dash(&row.architecture),
        or_dash(&row.ptx_version),
        row.compression.into(),
        row.stored_size.to_string(),
        row.size.to_string(),
        or_dash(&row.kernels.as_ref().map(|kernels| kernels.len().to_string())),
    ]
}

fn not_writable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::in_file(path, error).remedy("give a folder that can be written with --output")
}
