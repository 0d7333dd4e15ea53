//! The cache returns functions exactly as decoded, or misses.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ptx_frontend::Module;
use ptx_frontend::cache::FunctionCache;

const CAPACITY: u64 = 1 << 24;

/// Returns a module with a long kernel, preceded by `before`.
fn text(before: &str, last: &str) -> String {
    let code = "add.s32 %r1, %r1, 1;\n".repeat(200);
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n{before}
         .visible .entry k() {{ .reg .b32 %r<9>; .reg .b64 %rd<9>;\n{code}{last}\nret; }}"
    )
}

fn open(text: &str, folder: &Path) -> (Module, Arc<FunctionCache>) {
    let cache = Arc::new(FunctionCache::new(folder.to_owned(), CAPACITY));
    (Module::parse(text, "m").unwrap().with_cache(Arc::clone(&cache)), cache)
}

#[test]
fn a_function_is_read_back_equal() {
    let folder = tempfile::tempdir().unwrap();
    let text = text("", "");
    let (first, cache) = open(&text, folder.path());
    let decoded = first.function("k").unwrap();
    assert_eq!((cache.counts().hits, cache.counts().stores), (0, 1));
    let (second, cache) = open(&text, folder.path());
    assert_eq!(second.function("k").unwrap(), decoded);
    assert_eq!((cache.counts().hits, cache.counts().stores), (1, 0));
}

#[test]
fn cached_functions_have_the_line_numbers_of_the_current_text() {
    let folder = tempfile::tempdir().unwrap();
    open(&text("", ""), folder.path()).0.function("k").unwrap();
    let lower = text("\n\n// three lines more\n", "");
    let (module, cache) = open(&lower, folder.path());
    let function = module.function("k").unwrap();
    assert_eq!(cache.counts().hits, 1);
    assert_eq!(*function, *Module::parse(lower.as_str(), "m").unwrap().function("k").unwrap());
}

#[test]
fn changed_referents_invalidate_cached_functions() {
    let folder = tempfile::tempdir().unwrap();
    let last = "mov.u64 %rd1, x;";
    let variants =
        [".global .b32 x;", ".shared .b32 x;", ".func x() { ret; }", ".func x(.param .b32 a) { ret; }"];
    for before in variants {
        let text = text(before, last);
        let (module, _) = open(&text, folder.path());
        let fresh = Module::parse(text.as_str(), "m").unwrap().function("k").unwrap();
        assert_eq!(module.function("k").unwrap(), fresh, "{before}");
    }
}

#[test]
fn a_damaged_file_is_a_miss() {
    let folder = tempfile::tempdir().unwrap();
    let text = text("", "");
    let decoded = open(&text, folder.path()).0.function("k").unwrap();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    let (module, cache) = open(&text, folder.path());
    assert_eq!(module.function("k").unwrap(), decoded);
    assert_eq!((cache.counts().hits, cache.counts().rejected), (0, 1));
}

#[test]
fn an_unusable_cache_folder_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let (module, cache) = open(&text("", ""), &file.join("cache"));
    assert!(module.function("k").is_ok());
    assert!(cache.problem().is_some());
}

#[test]
fn short_functions_are_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (module, cache) = open(".version 7.0 .target sm_70 .entry k() { ret; }", folder.path());
    module.function("k").unwrap();
    assert_eq!(cache.counts().stores, 0);
}
