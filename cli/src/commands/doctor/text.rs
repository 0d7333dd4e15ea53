//! The report as text: what is found of a file is written at once, the problems at the end.

use std::io::{self, Write};

use ptx_frontend::container::elf::RuntimeLinkage;
use warp_stream::kernel_name::signature;

use super::code::PtxModule;
use super::libraries::Found;
use super::{FileReport, Report};

use crate::table;

/// Details shown of one problem.
const SHOWN: usize = 10;

/// Writes what is found as it is found.
pub(super) struct Listing<'w> {
    out: &'w mut dyn Write,
    /// A report as JSON has no listing.
    is_text: bool,
    /// Kernels are named.
    all: bool,
    device: u32,
    /// The first failure to write; nothing is written after it.
    result: io::Result<()>,
}

impl<'w> Listing<'w> {
    /// For a device of this compute capability, ten times.
    pub(super) fn new(out: &'w mut dyn Write, is_text: bool, all: bool, device: u32) -> Self {
        Self { out, is_text, all, device, result: Ok(()) }
    }

    fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.is_text && self.result.is_ok() {
            self.result = write(self.out).and_then(|()| self.out.flush());
        }
    }

    /// A file is about to be read.
    pub(super) fn begin(&mut self, file: &FileReport) {
        self.write(|out| write_head(file, out));
    }

    /// A module was found in it.
    pub(super) fn module(&mut self, module: &PtxModule) {
        let (device, all) = (self.device, self.all);
        self.write(|out| write_module(module, device, all, out));
    }

    /// The file was read.
    pub(super) fn end(&mut self, file: &FileReport) {
        self.write(|out| write_foot(file, out));
    }

    /// Gives the output back.
    pub(super) fn finish(self) -> io::Result<&'w mut dyn Write> {
        self.result.map(|()| self.out)
    }
}

/// Writes libraries and problems; with `all`, all details of problems.
pub(super) fn write_rest(report: &Report, all: bool, out: &mut dyn Write) -> io::Result<()> {
    if !report.libraries.is_empty() {
        let rows: Vec<_> = report
            .libraries
            .iter()
            .map(|library| {
                let found = match &library.found {
                    Found::Voltsim => "voltsim".into(),
                    Found::At(path) => path.display().to_string(),
                    Found::Nowhere => "not found".into(),
                };
                [library.soname.clone(), found]
            })
            .collect();
        table::write(out, ["library", "found"], &rows)?;
        writeln!(out)?;
    }
    match report.problems.len() {
        0 if report.files.iter().any(|file| file.code.bytes_not_looked_at > 0) => {
            writeln!(out, "nothing is missing in what was looked at")?;
        }
        0 => writeln!(out, "nothing is missing")?,
        1 => writeln!(out, "1 problem")?,
        count => writeln!(out, "{count} problems")?,
    }
    for problem in &report.problems {
        writeln!(out, "- {}", problem.what)?;
        let shown = if all { usize::MAX } else { SHOWN };
        for detail in problem.details.iter().take(shown) {
            writeln!(out, "    {detail}")?;
        }
        match problem.details.len().saturating_sub(shown) {
            0 => {}
            more => writeln!(out, "    and {more} more (--all names them)")?,
        }
        writeln!(out, "  remedy: {}", problem.remedy)?;
    }
    Ok(())
}

fn write_head(file: &FileReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", file.file.display())?;
    if let Some(runtime) = &file.runtime {
        writeln!(out, "  runtime: {}", in_words(runtime))?;
        let (done, missing) = (file.calls.done, file.calls.missing.len());
        if done + missing > 0 {
            writeln!(out, "  CUDA functions imported: {}, of which {missing} are not there", done + missing)?;
        }
    }
    Ok(())
}

fn write_foot(file: &FileReport, out: &mut dyn Write) -> io::Result<()> {
    if !file.code.sass_only.is_empty() {
        writeln!(out, "  kernels without PTX: {}", file.code.sass_only.len())?;
    }
    if file.code.bytes_not_looked_at > 0 {
        let (kernels, megabytes) = (file.code.not_looked_at, file.code.bytes_not_looked_at as f64 / 1e6);
        writeln!(
            out,
            "  kernels whose instructions were not looked at: {kernels}, in {megabytes:.1} MB of PTX (--all looks at all)"
        )?;
    }
    writeln!(out)
}

fn write_module(module: &PtxModule, device: u32, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let PtxModule { target, version, compression, .. } = module;
    let container = module.container.map_or(String::new(), |number| format!(" in container {number}"));
    let count = module.kernels.len();
    write!(out, "  PTX{container}: {target}, ISA {version}, compression {compression}, kernels: {count}")?;
    if module.above_device {
        write!(out, " (above the device's sm_{device}; it is run all the same)")?;
    }
    writeln!(out)?;
    if all {
        for kernel in &module.kernels {
            writeln!(out, "    {}", signature(kernel))?;
        }
    }
    Ok(())
}

fn in_words(linkage: &RuntimeLinkage) -> String {
    match linkage {
        RuntimeLinkage::Shared => "shared library".into(),
        RuntimeLinkage::Static { functions } => {
            format!("static, {functions} functions of its API in the symbol table")
        }
        RuntimeLinkage::StaticStripped => "static, without a symbol table".into(),
        RuntimeLinkage::None => "not used".into(),
    }
}
