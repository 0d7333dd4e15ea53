//! On-disk cache of decoded functions, in the folder of the option `cache`.

use crate::host::environment::options;
use crate::host::log;
use ptx_frontend::cache::FunctionCache;
use run_options::system;
use run_options::values::CacheFolder;
use std::path::PathBuf;
use std::sync::{Arc, Once, OnceLock};

/// Capacity of the directory in bytes.
const CAPACITY: u64 = 512 << 20;

/// The process's cache, which opens no file before the first lookup.
pub(crate) fn code_cache() -> Option<Arc<FunctionCache>> {
    static CACHE: OnceLock<Option<Arc<FunctionCache>>> = OnceLock::new();
    CACHE
        .get_or_init(|| {
            folder(options().cache.as_ref(), system::cache_folder)
                .map(|at| Arc::new(FunctionCache::new(at, CAPACITY)))
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

/// The folder that is wanted, or `voltsim/functions` in the user's folder for caches.
fn folder(wanted: Option<&CacheFolder>, user: impl FnOnce() -> Option<PathBuf>) -> Option<PathBuf> {
    match wanted {
        Some(CacheFolder::Off) => None,
        Some(CacheFolder::Folder(folder)) => Some(folder.clone()),
        None => user().map(|user| user.join("voltsim/functions")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_lies_in_the_named_folder_or_the_users() {
        let user = || Some(PathBuf::from("/h/.cache"));
        let named = CacheFolder::Folder("/c".into());
        assert_eq!(folder(Some(&named), user), Some("/c".into()));
        assert_eq!(folder(None, user), Some("/h/.cache/voltsim/functions".into()));
    }

    #[test]
    fn nothing_is_cached_without_a_folder() {
        assert_eq!(folder(Some(&CacheFolder::Off), || Some(PathBuf::from("/h/.cache"))), None);
        assert_eq!(folder(None, || None), None);
    }
}
