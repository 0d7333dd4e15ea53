//! Fat binaries, ELF files and module images.

use ptx_frontend::container::cubin::{elf_size, kernel_names};
use ptx_frontend::container::elf::HostFile;
use ptx_frontend::container::fatbin::container_size;
use ptx_frontend::container::select::{choose_ptx, sass_kernels};
use ptx_frontend::container::{Container, ContainerError, Containers, Entry, Image, Origin, Wrapper};

/// Compute capability, times ten, for which PTX is chosen.
const CAPABILITY: u32 = 70;

/// Reads everything that the bytes may be.
pub fn container(bytes: &[u8]) {
    let origin = || Origin::ModuleImage;
    read(Containers::new(bytes, origin()));
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
        file.containers().for_each(|container| read([container]));
        let _ = (file.needed_libraries(), file.library_paths(), file.cuda_imports(), file.runtime_linkage());
    }
}

fn read<'a>(containers: impl IntoIterator<Item = Result<Container<'a>, ContainerError>>) {
    for container in containers.into_iter().flatten() {
        let entries: Vec<Entry<'_>> = container.entries().filter_map(Result::ok).collect();
        for entry in &entries {
            let _ = (entry.ptx(), entry.sass_kernel_names(), entry.payload());
        }
        let _ = (choose_ptx(&entries, CAPABILITY), sass_kernels(&entries));
    }
}
