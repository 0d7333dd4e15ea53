//! Stamps: a file beside a product holds a hash of its inputs, so that only changed inputs rebuild
//! it.

use crate::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Collects the inputs of a product.
#[derive(Clone, Default)]
pub(crate) struct Ingredients(blake3::Hasher);

impl Ingredients {
    /// Adds a text, such as an option or a version.
    pub(crate) fn text(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    /// Adds a file's name and contents.
    pub(crate) fn file(&mut self, path: &Path) -> Result<()> {
        let contents = fs::read(path).map_err(Error::file(path))?;
        self.text(&path.to_string_lossy());
        self.0.update(&(contents.len() as u64).to_le_bytes());
        self.0.update(&contents);
        Ok(())
    }

    /// Stamp of `product`.
    pub(crate) fn stamp(&self, product: &Path) -> Stamp {
        let mut name = product.as_os_str().to_owned();
        name.push(".stamp");
        Stamp { path: name.into(), hash: self.0.finalize().to_hex().to_string() }
    }
}

/// Stamp of an up-to-date product.
pub(crate) struct Stamp {
    path: PathBuf,
    hash: String,
}

impl Stamp {
    /// True if the product has the same inputs.
    pub(crate) fn is_current(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|found| found == self.hash)
    }

    /// Records that the product is complete.
    pub(crate) fn write(&self) -> Result<()> {
        fs::write(&self.path, &self.hash).map_err(Error::file(&self.path))
    }
}
