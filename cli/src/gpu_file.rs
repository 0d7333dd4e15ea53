//! GPU files as the commands read them: documents, the device that they tell of, notices about the
//! old layout.

use api_table::attributes::attributes;
use timing::specification::{DeviceSpec, Document, gpu};

use crate::failure::Failure;

/// The document of a GPU's name or file.
///
/// # Errors
/// There is no such GPU, or the file cannot be read.
pub(crate) fn document(name: &str) -> Result<Document, Failure> {
    gpu::named(name).map_err(|error| Failure::new(&error).remedy(error.remedy()))
}

/// The device that a document tells of.
///
/// # Errors
/// A key of `[device]` is missing or cannot be used.
pub(crate) fn spec(document: &Document) -> Result<DeviceSpec, Failure> {
    let known = attributes().map_err(Failure::new)?;
    let is_attribute = |name: &str| known.iter().any(|(_, attribute)| *attribute == name);
    DeviceSpec::read(document, &is_attribute)
        .map_err(|error| Failure::new(error).remedy("`voltsim explain device` lists the keys"))
}

/// Tells how the new layout writes files of the old one.
pub(crate) fn tell_old_layout(document: &Document) {
    for notice in document.notices() {
        eprintln!("voltsim: {notice}");
    }
}
