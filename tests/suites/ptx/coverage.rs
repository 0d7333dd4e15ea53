//! Forms of the op table that the files execute, as listed in `tests/ptx/forms.tsv` for `voltsim status
//! isa`.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use ptx_frontend::isa::{self, Op, OpLine};

use crate::directives;

/// Environment variable that makes the test write the table.
const UPDATE: &str = "VOLTSIM_UPDATE";

const HEADING: &str =
    "# A file that executes the form, for each form of the op table; written by the test that checks it.\n";

/// File and the forms in its kernels.
struct File<'a> {
    /// Path below `tests/ptx`.
    path: &'a Path,
    forms: Vec<Op>,
}

/// Checks that a file executes every form, and that `forms.tsv` in `root` lists one for each.
pub(crate) fn check(root: &Path, files: &[PathBuf]) -> Result<(), Failed> {
    let files = files.iter().map(|path| read(root, path)).collect::<Result<Vec<_>, _>>()?;
    let mut table = HEADING.to_owned();
    let mut missing = Vec::new();
    for line in isa::table() {
        let name = format!("{}.{}", line.group, line.name);
        let executing = files.iter().filter(|file| file.forms.contains(&line.op));
        match executing.min_by_key(|file| distance(file, line)) {
            Some(file) => table.push_str(&format!("{name}\ttests/ptx/{}\n", file.path.display())),
            None => missing.push(name),
        }
    }
    if !missing.is_empty() {
        return Err(format!("no file executes {}", missing.join(", ")).into());
    }
    let stored = root.join("forms.tsv");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(stored, table)?;
    } else if std::fs::read_to_string(stored)? != table {
        return Err(format!("tests/ptx/forms.tsv is out of date; run again with {UPDATE}=1").into());
    }
    Ok(())
}

fn read<'a>(root: &Path, path: &'a Path) -> Result<File<'a>, Failed> {
    let text = std::fs::read_to_string(path)?;
    let test = directives::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut forms = Vec::new();
    if !test.expects_refusal() {
        let module = ptx_frontend::Module::parse(text, &path.to_string_lossy())?;
        for name in module.kernels() {
            forms.extend(module.function(name)?.instructions.iter().map(|instruction| instruction.op));
        }
    }
    Ok(File { path: path.strip_prefix(root).unwrap_or(path), forms })
}

/// Ranks files by how specifically they test a form: same folder, matching name, shorter name.
fn distance<'a>(file: &File<'a>, line: &OpLine) -> (bool, Reverse<usize>, usize, &'a Path) {
    let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
    let of_group = file.path.starts_with(line.group);
    let common = line.name.split('_').zip(stem.split('_')).take_while(|(form, file)| form == file).count();
    (!of_group, Reverse(common), stem.len(), file.path)
}
