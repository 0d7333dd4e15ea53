//! Cache folder: correct values only, no failures.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use common::{NO_ROOM, assert_succeeds, child, child_folder};
use voltsim_checkpoint::frame::Schema;
use voltsim_checkpoint::{CacheCounts, CacheKey, DiskCache};

const LARGE: u64 = 1 << 30;

fn schema() -> Schema {
    Schema::of("test values")
}

fn cache(folder: &Path, capacity: u64) -> DiskCache {
    DiskCache::new(folder.to_owned(), schema(), capacity)
}

fn key(number: u32) -> CacheKey {
    CacheKey::of(&[&number.to_le_bytes()])
}

/// Returns the only valid value of `key(number)`.
fn value(number: u32) -> Vec<u8> {
    number.to_le_bytes().repeat(250)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn caches_share_values_through_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("not/yet/there");
    let first = cache(&folder, LARGE);
    assert_eq!(first.get(&key(1)), None);
    first.put(&key(1), &value(1));
    assert_eq!(first.counts(), CacheCounts { misses: 1, stores: 1, ..CacheCounts::default() });
    let second = cache(&folder, LARGE);
    assert_eq!(second.get(&key(1)), Some(value(1)));
    assert_eq!(second.get(&key(2)), None);
    assert_eq!(second.counts(), CacheCounts { hits: 1, misses: 1, ..CacheCounts::default() });
    assert_eq!(second.problem(), None);
}

#[test]
fn keys_depend_on_part_boundaries() {
    assert_ne!(CacheKey::of(&[b"ab", b"c"]), CacheKey::of(&[b"a", b"bc"]));
    assert_ne!(CacheKey::of(&[b"ab"]), CacheKey::of(&[b"ab", b""]));
}

#[test]
fn damaged_files_are_misses_and_can_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    cache(folder.path(), LARGE).put(&key(1), &value(1));
    let path = files(folder.path()).remove(0);
    let whole = fs::read(&path).unwrap();
    let truncated = (0..whole.len()).step_by(37).map(|length| whole[..length].to_vec());
    let flipped = (0..whole.len() * 8).step_by(101).map(|bit| {
        let mut file = whole.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        file
    });
    for damaged in truncated.chain(flipped) {
        fs::write(&path, damaged).unwrap();
        let cache = cache(folder.path(), LARGE);
        assert_eq!(cache.get(&key(1)), None);
        assert_eq!(cache.counts(), CacheCounts { misses: 1, rejected: 1, ..CacheCounts::default() });
        assert!(cache.problem().unwrap().contains(path.to_str().unwrap()));
        cache.put(&key(1), &value(1));
        assert_eq!(cache.get(&key(1)), Some(value(1)));
    }
}

#[test]
fn files_under_the_name_of_another_key_are_misses() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), LARGE);
    cache.put(&key(1), &value(1));
    let first = files(folder.path()).remove(0);
    cache.put(&key(2), &value(2));
    let second = files(folder.path()).into_iter().find(|path| *path != first).unwrap();
    fs::copy(first, second).unwrap();
    assert_eq!(cache.get(&key(2)), None);
}

#[test]
fn values_of_other_schemas_are_misses() {
    let folder = tempfile::tempdir().unwrap();
    cache(folder.path(), LARGE).put(&key(1), &value(1));
    let other = DiskCache::new(folder.path().to_owned(), Schema::of("other values"), LARGE);
    assert_eq!(other.get(&key(1)), None);
    assert_eq!(other.counts().rejected, 1);
}

#[test]
fn an_impossible_folder_disables_caching() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let cache = cache(&file.path().join("folder"), LARGE);
    for _ in 0..2 {
        cache.put(&key(1), &value(1));
        assert_eq!(cache.get(&key(1)), None);
    }
    assert_eq!(cache.counts(), CacheCounts { misses: 2, ..CacheCounts::default() });
    assert!(cache.problem().unwrap().contains("caching is disabled"));
}

#[test]
fn non_files_are_misses() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), LARGE);
    cache.put(&key(1), &value(1));
    let path = files(folder.path()).remove(0);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(cache.get(&key(1)), None);
    assert!(cache.problem().unwrap().ends_with("not a file"));
}

#[test]
fn the_folder_is_pruned_in_lru_order() {
    let folder = tempfile::tempdir().unwrap();
    let capacity = 20_000;
    let cache = cache(folder.path(), capacity);
    let hours = |count: u64| SystemTime::now() - Duration::from_secs(count * 3600);
    for number in 0..8 {
        let before = files(folder.path());
        cache.put(&key(number), &value(number));
        let new = files(folder.path()).into_iter().find(|path| !before.contains(path)).unwrap();
        File::open(new).unwrap().set_modified(hours(100 - u64::from(number))).unwrap();
    }
    // Use makes the oldest value the newest.
    assert_eq!(cache.get(&key(0)), Some(value(0)));
    for number in 8..20 {
        cache.put(&key(number), &value(number));
    }
    let size: u64 = files(folder.path()).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(size <= capacity, "{size} bytes");
    assert_eq!(cache.get(&key(1)), None);
    assert_eq!(cache.get(&key(0)), Some(value(0)));
    assert_eq!(cache.counts().pruned + files(folder.path()).len() as u64, 20);
}

#[test]
fn pruning_removes_only_cache_files_and_abandoned_files() {
    let folder = tempfile::tempdir().unwrap();
    let old = SystemTime::now() - Duration::from_secs(1_000_000);
    for name in ["README", ".voltsim-0123-old", ".voltsim-0123-new"] {
        let file = File::create(folder.path().join(name)).unwrap();
        if !name.ends_with("new") {
            file.set_modified(old).unwrap();
        }
    }
    let cache = cache(folder.path(), 3000);
    for number in 0..6 {
        cache.put(&key(number), &value(number));
    }
    let exists = |name: &str| folder.path().join(name).exists();
    assert!(exists("README") && exists(".voltsim-0123-new") && !exists(".voltsim-0123-old"));
}

#[test]
fn values_larger_than_the_cache_are_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), 500);
    cache.put(&key(1), &value(1));
    assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
    assert_eq!(cache.problem(), None);
}

#[test]
fn a_full_disk_disables_caching_and_leaves_no_files() {
    const NAME: &str = "a_full_disk_disables_caching_and_leaves_no_files";
    if let Some(folder) = child_folder() {
        let cache = cache(&folder, LARGE);
        cache.put(&key(2), &value(2));
        assert_eq!(cache.get(&key(2)), None);
        assert_eq!(cache.get(&key(1)), Some(value(1)));
        assert_eq!(cache.counts(), CacheCounts { hits: 1, misses: 1, ..CacheCounts::default() });
        assert!(cache.problem().unwrap().contains("caching is disabled"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    cache(folder.path(), LARGE).put(&key(1), &value(1));
    assert_succeeds(child(NAME, folder.path(), NO_ROOM).output().unwrap());
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn processes_sharing_a_folder_read_right_values_or_none() {
    const NAME: &str = "processes_sharing_a_folder_read_right_values_or_none";
    if let Some(folder) = child_folder() {
        let cache = cache(&folder, 20_000);
        let offset = std::process::id();
        for round in 0..1500 {
            let number = (round * 7 + offset) % 30;
            match cache.get(&key(number)) {
                Some(found) => assert_eq!(found, value(number)),
                None => cache.put(&key(number), &value(number)),
            }
        }
        assert_eq!(cache.problem(), None);
        let counts = cache.counts();
        assert_eq!((counts.rejected, counts.stores), (0, counts.misses));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let children: Vec<_> = (0..4).map(|_| child(NAME, folder.path(), "").spawn().unwrap()).collect();
    for child in children {
        assert_succeeds(child.wait_with_output().unwrap());
    }
}
