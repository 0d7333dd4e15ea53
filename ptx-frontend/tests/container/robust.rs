//! Malformed inputs cause no panic, and truncated inputs never list more entries than whole ones.

use proptest::prelude::*;
use ptx_frontend::container::cubin::{elf_size, kernel_names};
use ptx_frontend::container::elf::HostFile;
use ptx_frontend::container::fatbin::container_size;
use ptx_frontend::container::select::{choose_ptx, sass_kernels};
use ptx_frontend::container::{Container, ContainerError, Containers, Entry, Image, Origin, Wrapper};

use super::builder::{EntryBuilder, container, cubin, host_elf};

/// Reads every readable part of `bytes`.
fn read_all(bytes: &[u8]) {
    let origin = || Origin::ModuleImage;
    read_containers(Containers::new(bytes, origin()));
    if let Some(header) = bytes.first_chunk() {
        let _ = container_size(header, origin());
    }
    if let Some(record) = bytes.first_chunk() {
        let _ = Wrapper::parse(record, origin());
    }
    if let Some(header) = bytes.first_chunk() {
        let _ = elf_size(header, origin());
    }
    let _ = kernel_names(bytes, origin());
    let _ = Image::from_bytes(bytes, origin());
    if let Ok(file) = HostFile::parse(bytes, origin()) {
        file.containers().for_each(|container| read_containers([container]));
        let _ = (file.needed_libraries(), file.library_paths(), file.cuda_imports(), file.runtime_linkage());
    }
}

fn read_containers<'a>(containers: impl IntoIterator<Item = Result<Container<'a>, ContainerError>>) {
    for container in containers.into_iter().flatten() {
        let entries: Vec<Entry<'_>> = container.entries().filter_map(Result::ok).collect();
        for entry in &entries {
            let _ = (entry.ptx(), entry.sass_kernel_names(), entry.payload());
        }
        let _ = (choose_ptx(&entries, 70), sass_kernels(&entries));
    }
}

/// Returns a valid fat binary with entries of every kind and compression.
fn fat_binary() -> Vec<u8> {
    let text: String = (0..40).map(|number| format!("mov.u32 %r{number}, {number};\n")).collect();
    let ptx = EntryBuilder::ptx(75, &text).identifier("x.cu").options("-O1");
    let entries = [
        ptx.clone(),
        ptx.clone().lz4(),
        EntryBuilder::cubin(80, &["kernel"]),
        ptx.zstd(),
        EntryBuilder::cubin(80, &["kernel"]).lz4(),
    ];
    [container(&[]), container(&entries[..3]), container(&entries[3..])].concat()
}

fn inputs() -> [Vec<u8>; 3] {
    let fat_binary = fat_binary();
    let host = host_elf(&[(".nv_fatbin", &fat_binary), ("__nv_relfatbin", &container(&[]))]);
    [fat_binary, host, cubin(&["first", "second"])]
}

/// Returns the offsets of the entries before the first error.
fn listed(bytes: &[u8]) -> Vec<u64> {
    let containers = Containers::new(bytes, Origin::ModuleImage).map_while(Result::ok);
    let entries = containers.flat_map(|container| container.entries().map_while(Result::ok));
    entries.map(|entry| entry.place().offset).collect()
}

#[test]
fn every_truncation_lists_some_of_the_first_entries() {
    let whole = fat_binary();
    let all = listed(&whole);
    assert_eq!(all.len(), 5);
    for length in 0..whole.len() {
        let some = listed(&whole[..length]);
        assert!(all.starts_with(&some) && some.len() < all.len(), "{length}: {some:?}");
    }
}

#[test]
fn truncated_inputs_cause_no_panic() {
    for input in inputs() {
        for length in 0..input.len() {
            read_all(&input[..length]);
        }
    }
}

#[test]
fn single_bit_flips_cause_no_panic() {
    for input in inputs() {
        for bit in 0..input.len() * 8 {
            let mut damaged = input.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            read_all(&damaged);
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        read_all(&bytes);
    }

    #[test]
    fn arbitrary_bytes_after_a_header_cause_no_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let mut input = container(&[]);
        input[8..16].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        input.extend(bytes);
        read_all(&input);
    }

    #[test]
    fn arbitrary_payloads_cause_no_panic(
        payload in prop::collection::vec(any::<u8>(), 1..400),
        flag in prop::sample::select(vec![0x2000_u64, 0x8000]),
        claim in 0_u64..100_000,
        frame_header in any::<bool>(),
    ) {
        let payload = if frame_header { [&[0x28, 0xb5, 0x2f, 0xfd], &payload[..]].concat() } else { payload };
        read_all(&container(&[EntryBuilder::ptx(75, "").stored_as(flag, payload).claiming(claim)]));
    }

    #[test]
    fn several_overwritten_bytes_cause_no_panic(
        which in 0_usize..3,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut input = inputs()[which].clone();
        for (index, value) in damage {
            let position = index.index(input.len());
            input[position] = value;
        }
        read_all(&input);
    }
}
