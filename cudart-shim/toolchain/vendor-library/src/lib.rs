//! Search for a library of the vendor, for a front that uses it.

#![allow(unsafe_code)]

use std::env;
use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Folders of a CUDA installation.
const INSTALLED: [&str; 3] = ["/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/opt/cuda/lib64"];

/// A library of the vendor and the places where it may lie.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Variable of the environment with the library's file.
    pub variable: &'a str,
    /// Beginning of the library's names, such as `libnvrtc.so`.
    pub stem: &'a CStr,
    /// Names in the order of preference.
    pub names: &'a [&'a OsStr],
    /// Folders of NVIDIA's Python packages, below `site-packages`.
    pub packages: &'a [&'a str],
}

impl Wanted<'_> {
    /// File of the library: that in the variable, else the path that the program named. Else the
    /// first in `LD_LIBRARY_PATH`, the running Python's packages, `CUDA_PATH`, `CUDA_HOME`, and the
    /// usual folders of CUDA. Earlier names precede. Files in the folder of `own` are fronts.
    pub fn file(&self, own: Option<&Path>) -> Option<PathBuf> {
        if let Some(file) = env::var_os(self.variable).filter(|file| !file.is_empty()) {
            return Some(file.into());
        }
        asked_for(self.stem).or_else(|| find(&folders(self.packages), self.names, own))
    }

    /// Opens the library, without its symbols becoming visible to others.
    pub fn open(&self, own: Option<&Path>) -> Option<Opened> {
        let path = self.file(own)?;
        let path = CString::new(path.into_os_string().into_encoded_bytes()).ok()?;
        // `dlopen` would return the front again (`preload/dlopen`).
        // SAFETY: a C string; the library's constructors are the vendor's.
        let library =
            unsafe { libc::dlmopen(libc::LM_ID_BASE, path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        (!library.is_null()).then_some(Opened(library as usize))
    }
}

/// An open library, which is never closed.
#[derive(Clone, Copy, Debug)]
pub struct Opened(usize);

impl Opened {
    /// Address of a symbol.
    pub fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: a live handle and a C string.
        let address = unsafe { libc::dlsym(self.0 as *mut c_void, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// First file of an early name in the folders. Files in the folder of `own` are left out.
fn find(folders: &[PathBuf], names: &[&OsStr], own: Option<&Path>) -> Option<PathBuf> {
    let folder = |file: &Path| Some(file.canonicalize().ok()?.parent()?.to_owned());
    let own = own.and_then(folder);
    let mut files = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.find(|file| file.is_file() && (own.is_none() || folder(file) != own))
}

/// Path that the program gave to `dlopen`, if it loaded the front so; `preload/dlopen` records the
/// path.
fn asked_for(stem: &CStr) -> Option<PathBuf> {
    // SAFETY: a C string; the search follows the order of the program's libraries.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"voltsim_asked_for".as_ptr()) };
    if function.is_null() {
        return None;
    }
    // SAFETY: the preloaded library defines this symbol with this type.
    let function: unsafe extern "C" fn(*const c_char) -> *const c_char =
        unsafe { std::mem::transmute(function) };
    // SAFETY: a C string.
    let path = unsafe { function(stem.as_ptr()) };
    if path.is_null() {
        return None;
    }
    // SAFETY: not null, so a C string that is never freed.
    let path = unsafe { CStr::from_ptr(path) };
    Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}

fn folders(packages: &[&str]) -> Vec<PathBuf> {
    let list = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&list).collect();
    folders.extend(python_packages(packages));
    let cuda = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(env::var_os);
    folders.extend(cuda.flat_map(|cuda| [Path::new(&cuda).join("lib64"), Path::new(&cuda).join("lib")]));
    folders.extend(INSTALLED.map(PathBuf::from));
    folders
}

/// Folders of NVIDIA's packages for the running interpreter: `bin/python` has
/// `lib/pythonX/site-packages` beside it.
fn python_packages(packages: &[&str]) -> Vec<PathBuf> {
    let Some(program) = env::args_os().next() else { return Vec::new() };
    let Some(prefix) = Path::new(&program).parent().and_then(Path::parent) else { return Vec::new() };
    let Ok(versions) = std::fs::read_dir(prefix.join("lib")) else { return Vec::new() };
    let versions = versions.filter_map(|entry| Some(entry.ok()?.path()));
    versions
        .filter(|path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"python")))
        .flat_map(|path| packages.iter().map(move |package| path.join("site-packages").join(package)))
        .collect()
}

/// Path under which the library with this crate was loaded.
pub fn own_file() -> Option<PathBuf> {
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
    fn earlier_name_precedes_and_fronts_are_left_out() {
        let place = std::env::temp_dir().join(format!("voltsim-vendor-library-{}", std::process::id()));
        let folders = ["one", "two"].map(|name| place.join(name));
        let put = |folder: usize, name: &str| -> std::io::Result<PathBuf> {
            std::fs::create_dir_all(&folders[folder])?;
            let file = folders[folder].join(name);
            std::fs::write(&file, "")?;
            Ok(file)
        };
        let newest = ["libnvrtc.so.13", "libnvrtc.so.12"].map(OsStr::new);
        assert_eq!(find(&folders, &newest, None), None);
        let older = put(0, "libnvrtc.so.12").ok();
        assert_eq!(find(&folders, &newest, None), older);
        let front = put(1, "libnvrtc.so.13").ok();
        assert_eq!(find(&folders, &newest, None), front);
        assert_eq!(find(&folders, &newest, front.as_deref()), older);
        assert_eq!(find(&folders, &newest[1..], None), older);
        assert!(std::fs::remove_dir_all(&place).is_ok());
    }
}
