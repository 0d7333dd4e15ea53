//! Search for the real NVRTC.

use std::env;
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Name of the library if this library's own is unknown.
const USUAL_NAME: &str = "libnvrtc.so.12";
/// Names tried after the own name, newest first. A client that tries several versions finds every
/// front, though only one real library may exist.
const OTHER_NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"];
/// Folders of a CUDA installation.
const INSTALLED: [&str; 3] = ["/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/opt/cuda/lib64"];
/// Folders of NVIDIA's Python packages.
const PACKAGES: [&str; 3] = ["nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib", "nvidia/cu12/lib"];

/// File of the real library: `VOLTSIM_NVRTC`, else the path that the program named. Else the first
/// in `LD_LIBRARY_PATH`, the running Python's packages, `CUDA_PATH`, `CUDA_HOME`, and the usual
/// folders of CUDA. The own name precedes other versions.
pub(crate) fn real_library() -> Option<PathBuf> {
    if let Some(file) = env::var_os("VOLTSIM_NVRTC").filter(|file| !file.is_empty()) {
        return Some(file.into());
    }
    if let Some(file) = asked_for() {
        return Some(file);
    }
    let own = own_file();
    let name = own.as_deref().and_then(Path::file_name).filter(|name| is_name(name));
    let name = name.unwrap_or(OsStr::new(USUAL_NAME));
    let own = own.as_deref().and_then(|own| own.canonicalize().ok());
    find(&folders(), name, own.as_deref())
}

/// First file of this name in the folders, else of another version's name. Never returns `own`, the
/// name of this front.
fn find(folders: &[PathBuf], name: &OsStr, own: Option<&Path>) -> Option<PathBuf> {
    let names = [name].into_iter().chain(OTHER_NAMES.map(OsStr::new));
    let mut files = names.flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.find(|file| file.is_file() && file.canonicalize().ok().as_deref() != own)
}

/// Path that the program gave to `dlopen`, if it loaded this library so; `preload/dlopen` records
/// the path.
fn asked_for() -> Option<PathBuf> {
    // SAFETY: a C string; the search follows the order of the program's libraries.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"voltsim_nvrtc_asked_for".as_ptr()) };
    if function.is_null() {
        return None;
    }
    // SAFETY: the preloaded library defines this symbol with this type.
    let function: extern "C" fn() -> *const c_char = unsafe { std::mem::transmute(function) };
    let path = function();
    if path.is_null() {
        return None;
    }
    // SAFETY: not null, so a C string that is never freed.
    let path = unsafe { CStr::from_ptr(path) };
    Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}

fn is_name(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"libnvrtc.so.")
}

fn folders() -> Vec<PathBuf> {
    let list = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&list).collect();
    folders.extend(python_packages());
    let cuda = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(env::var_os);
    folders.extend(cuda.flat_map(|cuda| [Path::new(&cuda).join("lib64"), Path::new(&cuda).join("lib")]));
    folders.extend(INSTALLED.map(PathBuf::from));
    folders
}

/// Folders of NVIDIA's packages for the running interpreter: `bin/python` has
/// `lib/pythonX/site-packages` beside it.
fn python_packages() -> Vec<PathBuf> {
    let Some(program) = env::args_os().next() else { return Vec::new() };
    let Some(prefix) = Path::new(&program).parent().and_then(Path::parent) else { return Vec::new() };
    let Ok(versions) = std::fs::read_dir(prefix.join("lib")) else { return Vec::new() };
    let versions = versions.filter_map(|entry| Some(entry.ok()?.path()));
    versions
        .filter(|path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"python")))
        .flat_map(|path| PACKAGES.map(|package| path.join("site-packages").join(package)))
        .collect()
}

/// Path under which this library was loaded.
fn own_file() -> Option<PathBuf> {
    let mut information = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let address = own_file as *const libc::c_void;
    // SAFETY: dladdr accepts any address and fills the structure when it returns non-zero.
    if unsafe { libc::dladdr(address, information.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: filled, as dladdr said.
    let information = unsafe { information.assume_init() };
    if information.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader keeps the name alive while the library is loaded.
    let name = unsafe { CStr::from_ptr(information.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_name_precedes_other_versions() {
        let place = std::env::temp_dir().join(format!("voltsim-nvrtc-{}", std::process::id()));
        let folders = ["one", "two"].map(|name| place.join(name));
        let put = |folder: usize, name: &str| -> std::io::Result<PathBuf> {
            std::fs::create_dir_all(&folders[folder])?;
            let file = folders[folder].join(name);
            std::fs::write(&file, "")?;
            Ok(file)
        };
        let wanted = OsStr::new("libnvrtc.so.13");
        assert_eq!(find(&folders, wanted, None), None);
        let older = put(0, "libnvrtc.so.12").ok();
        assert_eq!(find(&folders, wanted, None), older);
        let own = put(1, "libnvrtc.so.13").ok();
        assert_eq!(find(&folders, wanted, None), own);
        assert_eq!(find(&folders, OsStr::new("libnvrtc.so.12"), None), older);
        assert_eq!(find(&folders, wanted, own.as_deref()), older);
        assert!(std::fs::remove_dir_all(&place).is_ok());
    }
}
