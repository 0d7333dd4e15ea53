//! The report as text.

use std::io::{self, Write};

use ptx_frontend::container::elf::RuntimeLinkage;

use super::code::PtxModule;
use super::libraries::Found;
use super::{FileReport, Report};
use crate::table;

/// Details shown of one problem.
const SHOWN: usize = 10;

/// Writes the report; with `all`, the names of all kernels and all details of problems.
pub(super) fn write(report: &Report, all: bool, out: &mut dyn Write) -> io::Result<()> {
    for file in &report.files {
        write_file(file, report.device, all, out)?;
    }
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

fn write_file(file: &FileReport, device: u32, all: bool, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", file.file.display())?;
    if let Some(runtime) = &file.runtime {
        writeln!(out, "  runtime: {}", in_words(runtime))?;
        let (done, missing) = (file.calls.done, file.calls.missing.len());
        if done + missing > 0 {
            writeln!(out, "  CUDA functions imported: {}, of which {missing} are not there", done + missing)?;
        }
    }
    for module in &file.code.ptx {
        write_module(module, device, all, out)?;
    }
    if !file.code.sass_only.is_empty() {
        writeln!(out, "  kernels without PTX: {}", file.code.sass_only.len())?;
    }
    if file.code.not_looked_at > 0 {
        let count = file.code.not_looked_at;
        writeln!(out, "  kernels whose instructions were not looked at: {count} (--all looks at all)")?;
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
            writeln!(out, "    {kernel}")?;
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
