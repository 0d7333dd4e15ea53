//! Names of the vendor's files that Voltsim's libraries replace.

/// Prefixes of names whose replacements use the vendor's file.
pub(crate) const PASSED_ON: [&str; 2] = [NVRTC, NVJITLINK];

/// Tells whether a program does without the vendor's file where there is none. The replacement then
/// stays away too.
pub(crate) fn is_optional(name: &str) -> bool {
    name.starts_with(NVJITLINK)
}

const NVRTC: &str = "libnvrtc.so";
const NVJITLINK: &str = "libnvJitLink.so";

/// Voltsim's library for a file `name`. A file without a version is a link; `target` returns the
/// name of its target.
pub(crate) fn ours(name: &str, target: impl FnOnce() -> Option<String>) -> Option<String> {
    match name {
        "libcudart.so" | NVRTC | NVJITLINK => versioned(&target()?),
        _ => versioned(name),
    }
}

/// Voltsim's stand-in for a file `name` of the vendor's, if the run has stand-ins. `target` is as for
/// [`ours`].
pub(crate) fn stand_in(name: &str, target: impl FnOnce() -> Option<String>) -> Option<String> {
    let linked = if name.ends_with(".so") { target()? } else { name.to_owned() };
    let (stem, version) = linked.split_once(".so.")?;
    let major = version.split('.').next()?;
    let is_known = matches!(stem, "libcublas" | "libcublasLt" | "libcufft") && name.starts_with(stem);
    is_known.then(|| format!("stand-ins/{stem}.so.{major}"))
}

/// Voltsim's library for a name with a version, whose first number counts.
fn versioned(name: &str) -> Option<String> {
    if name == "libcuda.so" || name.starts_with("libcuda.so.") {
        return Some("libcuda.so.1".to_owned());
    }
    if name.starts_with("libnccl.so.2") {
        return Some("libnccl.so.2".to_owned());
    }
    if name.starts_with("libnvidia-ml.so") {
        return Some("libnvidia-ml.so.1".to_owned());
    }
    if let Some(version) = name.strip_prefix("libnvJitLink.so.") {
        let major = version.split('.').next()?;
        return Some(format!("libvoltsim_nvjitlink_{major}.so"));
    }
    let (stem, eleven) = [("libcudart.so.", "11.0"), ("libnvrtc.so.", "11.2")]
        .into_iter()
        .find(|(stem, _)| name.starts_with(stem))?;
    let major = name.strip_prefix(stem)?.split('.').next()?;
    let version = if major == "11" { eleven } else { major };
    Some(format!("{stem}{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unlinked(name: &str) -> Option<String> {
        ours(name, || None)
    }

    #[test]
    fn long_version_selects_by_major_version() {
        for (name, expected) in [
            ("libnvrtc.so.12", "libnvrtc.so.12"),
            ("libnvrtc.so.13.3.33", "libnvrtc.so.13"),
            ("libnvrtc.so.11.8.89", "libnvrtc.so.11.2"),
            ("libcudart.so.11.8.89", "libcudart.so.11.0"),
            ("libnvJitLink.so.12.9.86", "libvoltsim_nvjitlink_12.so"),
            ("libnvJitLink.so.13", "libvoltsim_nvjitlink_13.so"),
            ("libcudart.so.12.9.79", "libcudart.so.12"),
            ("libcuda.so", "libcuda.so.1"),
            ("libcuda.so.580.65.06", "libcuda.so.1"),
            ("libnvidia-ml.so.1", "libnvidia-ml.so.1"),
            ("libnccl.so.2.26.5", "libnccl.so.2"),
        ] {
            assert_eq!(unlinked(name).as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn unversioned_file_selects_by_link_target() {
        assert_eq!(
            ours("libnvrtc.so", || Some("libnvrtc.so.12".to_owned())).as_deref(),
            Some("libnvrtc.so.12")
        );
        assert_eq!(unlinked("libcudart.so"), None);
    }

    #[test]
    fn stand_in_has_the_major_version_of_the_file() {
        let of = |name: &str| stand_in(name, || Some(format!("{name}.13")));
        assert_eq!(of("libcublas.so.12.4.5.8").as_deref(), Some("stand-ins/libcublas.so.12"));
        assert_eq!(of("libcufft.so.11.2.1.3").as_deref(), Some("stand-ins/libcufft.so.11"));
        assert_eq!(of("libcufftw.so.11"), None);
        assert_eq!(of("libcublasLt.so").as_deref(), Some("stand-ins/libcublasLt.so.13"));
        assert_eq!(of("libcudart.so.12"), None);
        assert_eq!(of("libcublasLt.a"), None);
    }

    #[test]
    fn other_libraries_are_left_alone() {
        for name in
            ["libnvrtc-builtins.so.13.3", "libcudadevrt.a", "libcublas.so.13", "libc.so.6", "libcuda.sofa"]
        {
            assert_eq!(unlinked(name), None, "{name}");
        }
    }
}
