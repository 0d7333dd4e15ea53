//! Variables that others define and the library reads: CUDA's, and the host's.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// A variable of CUDA.
#[derive(Clone, Copy, Debug)]
pub struct CudaVariable {
    /// The name.
    pub name: &'static str,
    /// The meaning in Voltsim.
    pub doc: &'static str,
}

/// The variables of CUDA that have a meaning here (CUDA programming guide, "CUDA Environment
/// Variables").
pub const CUDA: &[CudaVariable] = &[VISIBLE_DEVICES, DEVICE_ORDER, LAUNCH_BLOCKING];

const VISIBLE_DEVICES: CudaVariable = CudaVariable {
    name: "CUDA_VISIBLE_DEVICES",
    doc: "Devices that the program sees, in this order: indices or UUIDs (`GPU-…`, or their beginnings). NVML shows \
          all devices.",
};

const DEVICE_ORDER: CudaVariable = CudaVariable {
    name: "CUDA_DEVICE_ORDER",
    doc: "The variable makes no difference, as all devices are alike.",
};

const LAUNCH_BLOCKING: CudaVariable = CudaVariable {
    name: "CUDA_LAUNCH_BLOCKING",
    doc: "With 1, calls that launch or copy return when the work is over. Nothing runs beside another.",
};

/// Values of CUDA's variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CudaVariables {
    /// `CUDA_VISIBLE_DEVICES`; an empty one hides all devices.
    pub visible_devices: Option<String>,
    /// `CUDA_LAUNCH_BLOCKING`.
    pub launch_blocking: bool,
}

impl CudaVariables {
    /// The variables of this process.
    pub fn of_environment() -> CudaVariables {
        let blocking = set(LAUNCH_BLOCKING.name);
        CudaVariables {
            visible_devices: env::var_os(VISIBLE_DEVICES.name)
                .map(|value| value.to_string_lossy().into_owned()),
            launch_blocking: blocking.is_some_and(|value| value != "0"),
        }
    }
}

/// The user's folder for caches: `$XDG_CACHE_HOME`, or `~/.cache`.
pub fn cache_folder() -> Option<PathBuf> {
    cache_folder_of(set)
}

fn cache_folder_of(set: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = set("XDG_CACHE_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")));
    folder.filter(|folder| folder.is_absolute())
}

/// True if a library whose name has this part is loaded before all others of this process.
pub fn is_preloaded(part: &str) -> bool {
    set("LD_PRELOAD").is_some_and(|libraries| libraries.to_string_lossy().contains(part))
}

/// A variable of this process that is not empty.
fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_folder_is_absolute() {
        let folder = |variables: &[(&str, &str)]| {
            cache_folder_of(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            })
        };
        assert_eq!(folder(&[("HOME", "/h")]), Some("/h/.cache".into()));
        assert_eq!(folder(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]), Some("/x".into()));
        assert_eq!(folder(&[("HOME", "relative")]), None);
        assert_eq!(folder(&[]), None);
    }
}
