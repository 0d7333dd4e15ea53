//! Claims about the cache folder: never wrong, never in the way.

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

/// The only value that may ever be found under `key(number)`.
fn value(number: u32) -> Vec<u8> {
    number.to_le_bytes().repeat(250)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_value_is_found_again_by_another_cache_on_the_folder() {
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
fn keys_depend_on_where_a_part_ends() {
    assert_ne!(CacheKey::of(&[b"ab", b"c"]), CacheKey::of(&[b"a", b"bc"]));
    assert_ne!(CacheKey::of(&[b"ab"]), CacheKey::of(&[b"ab", b""]));
}

#[test]
fn every_damage_is_a_miss_and_the_value_can_be_stored_again() {
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
fn a_file_under_another_keys_name_is_a_miss() {
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
fn values_of_another_schema_are_a_miss() {
    let folder = tempfile::tempdir().unwrap();
    cache(folder.path(), LARGE).put(&key(1), &value(1));
    let other = DiskCache::new(folder.path().to_owned(), Schema::of("other values"), LARGE);
    assert_eq!(other.get(&key(1)), None);
    assert_eq!(other.counts().rejected, 1);
}

#[test]
fn a_folder_that_cannot_be_made_is_no_cache_and_no_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let cache = cache(&file.path().join("folder"), LARGE);
    for _ in 0..2 {
        cache.put(&key(1), &value(1));
        assert_eq!(cache.get(&key(1)), None);
    }
    assert_eq!(cache.counts(), CacheCounts { misses: 2, ..CacheCounts::default() });
    assert!(cache.problem().unwrap().contains("nothing more is cached"));
}

#[test]
fn something_else_in_a_files_place_is_a_miss() {
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
fn the_folder_keeps_to_its_size_and_loses_what_was_not_used_for_longest() {
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
    // Using the oldest makes it the newest.
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
fn pruning_touches_only_the_caches_own_files_and_old_unfinished_ones() {
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
fn a_value_larger_than_the_cache_is_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), 500);
    cache.put(&key(1), &value(1));
    assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
    assert_eq!(cache.problem(), None);
}

#[test]
fn a_folder_without_room_is_given_up_and_left_clean() {
    const NAME: &str = "a_folder_without_room_is_given_up_and_left_clean";
    if let Some(folder) = child_folder() {
        let cache = cache(&folder, LARGE);
        cache.put(&key(2), &value(2));
        assert_eq!(cache.get(&key(2)), None);
        assert_eq!(cache.get(&key(1)), Some(value(1)));
        assert_eq!(cache.counts(), CacheCounts { hits: 1, misses: 1, ..CacheCounts::default() });
        assert!(cache.problem().unwrap().contains("nothing more is cached"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    cache(folder.path(), LARGE).put(&key(1), &value(1));
    assert_succeeds(child(NAME, folder.path(), NO_ROOM).output().unwrap());
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn processes_sharing_a_small_folder_find_right_values_or_none() {
    const NAME: &str = "processes_sharing_a_small_folder_find_right_values_or_none";
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
