//! On-disk cache of decoded functions, in the directory `VOLTSIM_CACHE` (`off`: no cache).

use crate::host::log;
use ptx_frontend::cache::FunctionCache;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Once, OnceLock};

/// Capacity of the directory in bytes.
const CAPACITY: u64 = 512 << 20;

/// The process's cache. It opens no file before the first lookup.
pub(crate) fn code_cache() -> Option<Arc<FunctionCache>> {
    static CACHE: OnceLock<Option<Arc<FunctionCache>>> = OnceLock::new();
    CACHE
        .get_or_init(|| {
            folder(|name| std::env::var_os(name)).map(|at| Arc::new(FunctionCache::new(at, CAPACITY)))
        })
        .clone()
}

/// Logs the cache's first error, once.
pub(crate) fn log_problem() {
    static LOGGED: Once = Once::new();
    if let Some(problem) = code_cache().and_then(|cache| cache.problem()) {
        LOGGED.call_once(|| log::line(|| format!("cache of decoded functions: {problem}")));
    }
}

/// `VOLTSIM_CACHE`, else `voltsim/functions` in the user's cache folder.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    match set("VOLTSIM_CACHE") {
        Some(off) if off == "off" => None,
        Some(folder) => Some(folder.into()),
        None => {
            let user = set("XDG_CACHE_HOME").map(PathBuf::from);
            let user = user.or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".cache")));
            user.filter(|user| user.is_absolute()).map(|user| user.join("voltsim/functions"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(variables: &[(&str, &str)]) -> Option<PathBuf> {
        folder(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn cache_directory_is_the_variable_or_the_users_cache() {
        assert_eq!(folder_with(&[("VOLTSIM_CACHE", "/c"), ("HOME", "/h")]), Some("/c".into()));
        assert_eq!(folder_with(&[("HOME", "/h")]), Some("/h/.cache/voltsim/functions".into()));
        assert_eq!(
            folder_with(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]),
            Some("/x/voltsim/functions".into())
        );
    }

    #[test]
    fn no_directory_means_no_cache() {
        assert_eq!(folder_with(&[("VOLTSIM_CACHE", "off"), ("HOME", "/h")]), None);
        assert_eq!(folder_with(&[]), None);
        assert_eq!(folder_with(&[("HOME", "relative")]), None);
    }
}
