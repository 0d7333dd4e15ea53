//! The toolkit around this program: its release, and its assembler for messages.

use std::env;
use std::fs;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};

/// Variable with the release of the toolkit that the environment stands for.
const RELEASE: &str = "VOLTSIM_PTXAS_RELEASE";

/// The release in the environment, such as `12.4`.
///
/// # Errors
/// The value is no release.
pub(crate) fn release() -> Result<Option<String>, String> {
    let Some(release) = env::var_os(RELEASE).filter(|release| !release.is_empty()) else { return Ok(None) };
    let release = release.to_string_lossy().into_owned();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match release.split_once('.') {
        Some((major, minor)) if is_number(major) && is_number(minor) => Ok(Some(release)),
        _ => Err(format!("{RELEASE} is `{release}`; it must be a release such as 12.4")),
    }
}

/// The first `ptxas` other than this program: beside the parent process's program, in PATH, or
/// beside the nvcc in PATH.
pub(crate) fn assembler() -> Option<PathBuf> {
    let own = env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let parent = fs::read_link(format!("/proc/{}/exe", parent_id())).ok();
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let compilers = folders.iter().filter_map(|folder| folder.join("nvcc").canonicalize().ok());
    let beside = |program: PathBuf| program.parent().map(Path::to_owned);
    let all =
        parent.into_iter().filter_map(beside).chain(folders.clone()).chain(compilers.filter_map(beside));
    let found = all.map(|folder| folder.join("ptxas")).filter(|path| path.is_file());
    found.into_iter().find(|path| path.canonicalize().ok() != own)
}
