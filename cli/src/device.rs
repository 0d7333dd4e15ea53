//! The device that a program is told it has: names and files are looked at before the program starts.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

#[path = "../../cudart-shim/profiles/built_in.rs"]
mod built_in;

/// The device that fits the program, which its libraries choose.
const AUTO: &str = "auto";

/// The name of a device, or the absolute path of its file.
///
/// # Errors
/// There is no such device or file, or the file is no TOML.
pub(crate) fn named(device: &str) -> Result<PathBuf, Failure> {
    if device == AUTO || built_in::BUILT_IN.iter().any(|(name, _)| *name == device) {
        return Ok(device.into());
    }
    if !device.ends_with(".toml") {
        let names: Vec<&str> = built_in::BUILT_IN.iter().map(|(name, _)| *name).collect();
        return Err(Failure::new(format_args!("--device: there is no device `{device}`"))
            .remedy(format!("name one of {}, auto, or a profile file ending in .toml", names.join(", "))));
    }
    let file = Path::new(device);
    let text = fs::read_to_string(file).map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        };
        Failure::new(format_args!("--device {device}: {what}"))
            .remedy("check the path; docs and examples of profiles are in cudart-shim/profiles")
    })?;
    text.parse::<toml::Table>()
        .map_err(|error| Failure::new(format_args!("--device {device}: {}", error.to_string().trim_end())))?;
    crate::program::absolute(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_a_name_that_there_is_or_a_file() {
        assert_eq!(named("v100").expect("there is one"), Path::new("v100"));
        let said = named("v99").expect_err("there is none").to_string();
        assert!(said.contains("`v99`") && said.contains("titan-v, v100, h100"), "{said}");
        let said = named("none/x.toml").expect_err("no such file").to_string();
        assert!(said.contains("none/x.toml: there is no such file"), "{said}");
    }
}
