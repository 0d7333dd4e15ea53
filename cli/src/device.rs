//! `--device`: names and files are judged before the program starts.

use std::path::{Path, PathBuf};

use timing::specification::gpu;

use crate::failure::Failure;
use crate::gpu_file;

/// The device that fits the program, which its libraries choose.
const AUTO: &str = "auto";

/// The name of a device, or the absolute path of its file.
///
/// # Errors
/// There is no such device or file, or the file's `[device]` cannot be used.
pub(crate) fn named(device: &str) -> Result<PathBuf, Failure> {
    if device == AUTO {
        return Ok(device.into());
    }
    if let Some(name) = gpu::spelt(device) {
        return Ok(name.into());
    }
    if !gpu::is_file(device) {
        let names: Vec<&str> = gpu::names().collect();
        return Err(Failure::new(format_args!("--device: there is no device `{device}`"))
            .remedy(format!("name one of {}, auto, or a GPU file ending in .toml", names.join(", "))));
    }
    let file = Path::new(device);
    if !file.exists() {
        return Err(Failure::new(format_args!("--device {device}: there is no such file"))
            .remedy("check the path; `voltsim gpus` lists the devices that need no file"));
    }
    let document = gpu_file::document(device)
        .and_then(|document| gpu_file::spec(&document).map(|_| document))
        .map_err(|failure| Failure::new(format_args!("--device {failure}")))?;
    gpu_file::tell_old_layout(&document);
    crate::paths::absolute(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_a_name_that_there_is_or_a_file() {
        assert_eq!(named("v100").expect("there is one"), Path::new("v100"));
        assert_eq!(named("RTX-4090").expect("there is one"), Path::new("rtx4090"));
        let said = named("v99").expect_err("there is none").to_string();
        assert!(said.contains("`v99`") && said.contains("titan-v, a100"), "{said}");
        let said = named("none/x.toml").expect_err("no such file").to_string();
        assert!(said.contains("none/x.toml: there is no such file"), "{said}");
    }
}
