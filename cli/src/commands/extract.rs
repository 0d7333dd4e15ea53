//! `voltsim extract`: lists what a file's fat binaries hold and writes the PTX to files.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ptx_frontend::Module;
use ptx_frontend::container::{
    Architecture, Container, ContainerError, Entry, EntryKind, Image, ImageFile, Origin, cubin,
};
use serde::Serialize;

use crate::failure::Failure;
use crate::table;

/// Write the PTX embedded in an executable, shared library, object file or fat binary
///
/// Each PTX entry becomes a file NUMBER.ARCHITECTURE.ptx (3.sm_75.ptx), numbered as in the list.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Executable, shared library, object file, fat binary, cubin or PTX text
    file: PathBuf,

    /// Folder for the PTX files; made when it is not there
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
    compression: String,
    /// Bytes in the file.
    stored_size: u64,
    /// Bytes after decompression.
    size: u64,
    /// Source file, when the program was compiled with debug or line information.
    identifier: Option<String>,
    /// Options for the vendor's assembler.
    options: Option<String>,
    /// Names of the kernels; none for kinds that cannot be read and for PTX without a readable outline.
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
    let mut rows = Vec::new();
    let result = collect(&image, args, &mut rows);
    // What was read before the damage is reported all the same.
    report(args, &rows, out)?;
    result.map(|()| ExitCode::SUCCESS)
}

fn collect(image: &Image<'_>, args: &Args, rows: &mut Vec<Row>) -> Result<(), Failure> {
    let containers: Box<dyn Iterator<Item = Result<Container<'_>, ContainerError>>> = match image {
        Image::FatBinary(containers) => Box::new(containers.clone()),
        Image::Host(host) => Box::new(host.containers()),
        Image::Cubin(bytes) => {
            rows.push(cubin_row(bytes, args)?);
            return Ok(());
        }
        Image::Ptx(text) => {
            rows.push(ptx_row(text, args)?);
            return Ok(());
        }
    };
    for (number, container) in containers.enumerate() {
        let container = container.map_err(Failure::unreadable)?;
        for entry in container.entries() {
            let entry = entry.map_err(Failure::unreadable)?;
            rows.push(entry_row(&entry, number, rows.len(), args)?);
        }
    }
    Ok(())
}

fn entry_row(entry: &Entry<'_>, container: usize, number: usize, args: &Args) -> Result<Row, Failure> {
    let text = match entry.kind {
        EntryKind::Ptx => Some(entry.ptx().map_err(Failure::unreadable)?),
        _ => None,
    };
    let kernels = match (&text, entry.kind) {
        (Some(text), _) => ptx_kernels(text),
        (None, EntryKind::Elf) => Some(entry.sass_kernel_names().map_err(Failure::unreadable)?),
        (None, _) => None,
    };
    let written = match (&args.output, &text) {
        (Some(folder), Some(text)) => Some(write_ptx(folder, number, Some(entry.architecture), text)?),
        _ => None,
    };
    let (major, minor) = entry.version;
    Ok(Row {
        number,
        container: Some(container),
        offset: entry.place().offset,
        kind: entry.kind.to_string(),
        architecture: Some(entry.architecture.to_string()),
        ptx_version: text.is_some().then(|| format!("{major}.{minor}")),
        compression: entry.compression().map_or_else(|_| "unknown".into(), |method| method.to_string()),
        stored_size: entry.stored_size(),
        size: entry.uncompressed_size(),
        identifier: entry.identifier.as_deref().map(Into::into),
        options: entry.options.as_deref().map(Into::into),
        kernels,
        written,
    })
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
        compression: "none".into(),
        stored_size: size as u64,
        size: size as u64,
        identifier: None,
        options: None,
        kernels: None,
        written: None,
    }
}

fn cubin_row(bytes: &[u8], args: &Args) -> Result<Row, Failure> {
    let kernels = cubin::kernel_names(bytes, Origin::file(&args.file)).map_err(Failure::unreadable)?;
    Ok(Row { kernels: Some(kernels), ..bare_row(EntryKind::Elf, bytes.len()) })
}

fn ptx_row(text: &str, args: &Args) -> Result<Row, Failure> {
    let written = match &args.output {
        Some(folder) => Some(write_ptx(folder, 0, None, text)?),
        None => None,
    };
    Ok(Row { kernels: ptx_kernels(text), written, ..bare_row(EntryKind::Ptx, text.len()) })
}

fn ptx_kernels(text: &str) -> Option<Vec<String>> {
    let module = Module::parse(text, "").ok()?;
    Some(module.kernels().map(Into::into).collect())
}

fn write_ptx(
    folder: &Path,
    number: usize,
    architecture: Option<Architecture>,
    text: &str,
) -> Result<PathBuf, Failure> {
    let name = match architecture {
        Some(architecture) => format!("{number}.{architecture}.ptx"),
        None => format!("{number}.ptx"),
    };
    let path = folder.join(name);
    fs::write(&path, format!("{text}\n")).map_err(|error| not_writable(&path, &error))?;
    Ok(path)
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
        let rows = entries_of_kernel.into_iter().map(|(name, entries)| [entries.join(" "), name.into()]);
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
        row.compression.clone(),
        row.stored_size.to_string(),
        row.size.to_string(),
        or_dash(&row.kernels.as_ref().map(|kernels| kernels.len().to_string())),
    ]
}

fn not_writable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::in_file(path, error).remedy("give a folder that can be written with --output")
}
