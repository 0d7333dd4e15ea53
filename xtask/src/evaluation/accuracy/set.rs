//! Description of a measured kernel, beside its source: `DIR/set.toml`.

use super::measurements::Row;
use crate::error::{Error, Result};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the description in the folder.
const FILE: &str = "set.toml";

/// A kernel, and how a configuration is compiled and launched.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Set {
    /// Source file in the folder. The parameters of a row are its macros.
    source: PathBuf,
    /// Kernel, by its name in PTX.
    pub(super) kernel: String,
    /// The source has no `extern "C"`, which gives the kernel its name.
    #[serde(default)]
    extern_c: bool,
    /// More compiler options.
    #[serde(default)]
    pub(super) options: Vec<String>,
    /// Elements along x, y and z that the grid covers.
    problem: Vec<u64>,
    /// Parameters whose product is the number of elements of a CTA, along x, y and z.
    grid: Vec<Vec<String>>,
    /// Parameters that are the block's sizes.
    block: Vec<String>,
    /// Arguments and constants, as `launch.c` takes them.
    pub(super) arguments: Vec<String>,
    #[serde(skip)]
    path: PathBuf,
}

impl Set {
    /// Reads the description in a folder.
    pub(super) fn read(folder: &Path) -> Result<Set> {
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
        let set = toml::from_str::<Set>(&text);
        let set = set.map_err(|source| Error::List { path: path.clone(), source: Box::new(source) })?;
        Ok(Set { path, ..set })
    }

    /// The source as the compiler takes it.
    pub(super) fn source(&self) -> Result<String> {
        let path = self.path.with_file_name(&self.source);
        let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
        Ok(if self.extern_c { format!("extern \"C\" {{\n{text}\n}}\n") } else { text })
    }

    /// CTAs and threads of a CTA along x, y and z.
    pub(super) fn sizes(&self, row: &Row) -> Result<[u64; 6]> {
        let value = |name: &String| {
            row.value(name).filter(|value| *value > 0).ok_or_else(|| Error::Set {
                path: self.path.clone(),
                reason: format!("the measurements have no parameter `{name}` above 0"),
            })
        };
        let mut sizes = [1; 6];
        for (axis, of_axis) in self.grid.iter().take(3).enumerate() {
            let elements = of_axis.iter().map(value).product::<Result<u64>>()?;
            let problem = self.problem.get(axis).copied().unwrap_or(1);
            sizes[axis] = problem.div_ceil(elements);
        }
        for (axis, name) in self.block.iter().take(3).enumerate() {
            sizes[3 + axis] = value(name)?;
        }
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const SET: &str = r#"
        source = "kernel.cu"
        kernel = "k"
        extern_c = true
        problem = [4096, 100]
        grid = [["width", "tile"], ["height"]]
        block = ["width", "height"]
        arguments = ["buffer:16"]
    "#;

    fn row(parameters: &[(&str, u64)]) -> Row {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Row { parameters, microseconds: 1.0 }
    }

    #[test]
    fn grid_covers_the_problem() {
        let set: Set = toml::from_str(SET).unwrap();
        let row = row(&[("width", 48), ("height", 8), ("tile", 3)]);
        assert_eq!(set.sizes(&row).unwrap(), [29, 13, 1, 48, 8, 1]);
    }

    #[test]
    fn missing_and_zero_parameters_are_named() {
        let set: Set = toml::from_str(SET).unwrap();
        for parameters in [&[("width", 48), ("height", 8)][..], &[("width", 48), ("tile", 0), ("height", 1)]]
        {
            let said = set.sizes(&row(parameters)).unwrap_err().to_string();
            assert!(said.contains("`tile`"), "{said}");
        }
    }

    #[test]
    fn source_and_description_lie_in_one_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Set::read(folder.path()).unwrap_err().to_string().contains("set.toml"));
        fs::write(folder.path().join(FILE), SET).unwrap();
        fs::write(folder.path().join("kernel.cu"), "void k();").unwrap();
        let set = Set::read(folder.path()).unwrap();
        assert_eq!(set.source().unwrap(), "extern \"C\" {\nvoid k();\n}\n");
    }
}
