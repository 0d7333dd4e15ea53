//! Parses device code into PTX modules. Sources are registered fat binaries, module images of
//! unknown length, files, and images that this library linked.

use crate::abi::error::Error;
use crate::code::code_cache::code_cache;
use crate::code::unresolved;
use crate::code::unresolved::{Stage, Unresolved};
use crate::host::mapped::{file_at, readable_from};
use ptx_frontend::Module as PtxModule;
use ptx_frontend::container::archive::members;
use ptx_frontend::container::cubin::elf_size;
use ptx_frontend::container::elf::HostFile;
use ptx_frontend::container::fatbin::{
    CONTAINER_HEADER_SIZE, CONTAINER_MAGIC, WRAPPER_MAGIC, WRAPPER_SIZE, container_size,
};
use ptx_frontend::container::resource_usage::ResourceUsage;
use ptx_frontend::container::select::{choose_ptx, resource_usage, sass_kernels};
use ptx_frontend::container::{
    Architecture, Container, ContainerError, Entry, EntryKind, Image, LINKED_HEADER_SIZE, LINKED_MAGIC,
    Origin, Wrapper, linked_size,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::path::Path;
use std::sync::Arc;

const ELF_MAGIC: &[u8; 4] = b"\x7fELF";
const ELF_HEADER_SIZE: usize = 64;
/// Most containers of relocatable code in one program.
const MAX_RELOCATABLE: usize = 1 << 16;

/// The architectures of each kernel's machine code. Finding them is slow, and only messages name
/// them.
#[derive(Clone, Debug, Default)]
pub(crate) struct MachineCode {
    listed: BTreeMap<String, BTreeSet<Architecture>>,
    /// Resource usage by capability and kernel, of an image that the program may free after the call.
    usage: BTreeMap<u32, BTreeMap<String, ResourceUsage>>,
    /// Wrapper of the registered fat binary, scanned for more architectures on demand.
    wrapper: Option<usize>,
    /// File that the listed architectures come from.
    file: Option<String>,
    /// Mapped file that contains the image.
    holder: Option<String>,
}

impl MachineCode {
    /// The architectures with machine code for a kernel.
    ///
    /// # Safety
    /// The fat binary given to [`Code::of_registered`] must still be registered.
    pub(crate) unsafe fn architectures(&self, kernel: &str) -> BTreeSet<Architecture> {
        let mut found = self.listed.get(kernel).cloned().unwrap_or_default();
        // SAFETY: the caller upholds the contract.
        let containers = self.wrapper.and_then(|wrapper| unsafe { containers(wrapper) }.ok());
        // Unreadable machine code only shortens the message.
        for container in containers.into_iter().flatten().flatten() {
            let kernels = entries(&container).ok().and_then(|entries| sass_kernels(&entries).ok());
            found.extend(kernels.unwrap_or_default().remove(kernel).unwrap_or_default());
        }
        found
    }

    /// Resource usage of the kernels with machine code for exactly this compute capability (times ten).
    ///
    /// # Safety
    /// The fat binary given to [`Code::of_registered`] must still be registered.
    pub(crate) unsafe fn resource_usage(&self, capability: u32) -> BTreeMap<String, ResourceUsage> {
        let mut found = self.usage.get(&capability).cloned().unwrap_or_default();
        // SAFETY: the caller upholds the contract.
        let containers = self.wrapper.and_then(|wrapper| unsafe { containers(wrapper) }.ok());
        // Lowering answers for kernels whose machine code is unreadable.
        for container in containers.into_iter().flatten().flatten() {
            found.extend(usage_of(&container, capability));
        }
        found
    }

    /// The file of the code, if it is in a file.
    pub(crate) fn place(&self) -> Option<String> {
        self.wrapper.and_then(file_at).or_else(|| self.file.clone())
    }

    /// The mapped file that contains the code; `None` for an image that the program built or read
    /// itself.
    pub(crate) fn holder(&self) -> Option<String> {
        self.wrapper.and_then(file_at).or_else(|| self.holder.clone())
    }
}

/// Parsed device code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    /// PTX modules, linked as one program.
    pub(crate) modules: Vec<Arc<PtxModule>>,
    /// Kernels with machine code.
    pub(crate) machine_code: MachineCode,
    /// Register limit per thread, if the program set one when it linked or loaded the code.
    pub(crate) max_registers: Option<u32>,
}

/// Reasons to reject an image.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    #[error(transparent)]
    Container(#[from] ContainerError),
    #[error(transparent)]
    Ptx(#[from] ptx_frontend::Error),
    /// PTX that no driver loads. The message is the assembler's log.
    #[error("{log}")]
    Illegal { log: String },
    #[error("the image holds machine code for {0} and no PTX")]
    MachineCodeOnly(String),
    #[error("no program memory at address {address:#x}, where device code should be")]
    NoMemory { address: usize },
    #[error("the image is a host program or library, not a module")]
    HostFile,
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
}

impl From<&ImageError> for Error {
    fn from(error: &ImageError) -> Self {
        match error {
            ImageError::Container(ContainerError::Read { .. }) => Error::FileNotFound,
            ImageError::Container(_) | ImageError::NoMemory { .. } | ImageError::HostFile => {
                Error::InvalidKernelImage
            }
            ImageError::Unresolved(Unresolved { stage: Stage::Link, .. }) => Error::InvalidKernelImage,
            ImageError::Ptx(error) if error.is_unsupported_version() => Error::UnsupportedPtxVersion,
            ImageError::Ptx(_) | ImageError::Illegal { .. } | ImageError::Unresolved(_) => Error::InvalidPtx,
            ImageError::MachineCodeOnly(_) => Error::NoKernelImageForDevice,
        }
    }
}

impl ImageError {
    /// The error as text for the program's JIT log buffer. `input` names the source.
    pub(crate) fn log(&self, input: &str) -> String {
        match self {
            ImageError::Ptx(error) => error.log(input),
            other => other.to_string(),
        }
    }
}

/// Default source name in logs.
pub(crate) const INPUT: &str = "application ptx input";

/// When the functions of a source are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    /// At load: the program generated the source.
    AtLoad,
    /// At the function's launch: an assembler already checked the source, and a library may have
    /// thousands of kernels.
    AtLaunch,
}

type Images<T> = Result<T, ImageError>;

/// Bytes of the program's memory; fewer if the mapping ends early.
///
/// # Safety
/// The bytes must stay unchanged and mapped while the slice is used.
unsafe fn memory<'a>(address: usize, length: usize) -> &'a [u8] {
    let length = length.min(readable_from(address));
    if address == 0 || length == 0 {
        return &[];
    }
    // SAFETY: the bytes are readable, and the caller keeps them mapped.
    unsafe { std::slice::from_raw_parts(address as *const u8, length) }
}

/// A header in the program's memory.
///
/// # Safety
/// See [`memory`].
unsafe fn header<'a, const SIZE: usize>(address: usize) -> Images<&'a [u8; SIZE]> {
    // SAFETY: passed on from the caller.
    unsafe { memory(address, SIZE) }.try_into().map_err(|_| ImageError::NoMemory { address })
}

/// The container at an address.
///
/// # Safety
/// A container must lie at `address` and remain there while it is used.
unsafe fn container<'a>(address: usize, origin: Origin) -> Images<Container<'a>> {
    // SAFETY: the caller upholds the contract.
    let start = unsafe { header::<CONTAINER_HEADER_SIZE>(address) }?;
    let size = usize::try_from(container_size(start, origin.clone())?).unwrap_or(usize::MAX);
    // SAFETY: the caller upholds the contract. A wrong length gives a shorter slice, which is an
    // error.
    Ok(Container::parse(unsafe { memory(address, size) }, origin)?)
}

/// The containers of a registered fat binary.
///
/// # Safety
/// See [`Code::of_registered`].
unsafe fn containers<'a>(wrapper: usize) -> Images<impl Iterator<Item = Images<Container<'a>>>> {
    let origin = || Origin::RegisteredImage;
    // SAFETY: the wrapper remains mapped while it is registered.
    let record = Wrapper::parse(unsafe { header::<WRAPPER_SIZE>(wrapper) }?, origin())?;
    // SAFETY: the wrapper holds the addresses of the program's containers.
    let addresses =
        std::iter::once(record.container as usize).chain(unsafe { relocatable(record.relocatable) });
    let present = addresses.filter(|address| *address != 0);
    // SAFETY: as above.
    Ok(present.map(move |address| unsafe { container(address, origin()) }))
}

/// Resource usage of the kernels in a container; none if it is unreadable.
fn usage_of(container: &Container<'_>, capability: u32) -> BTreeMap<String, ResourceUsage> {
    let entries = entries(container).ok();
    entries.and_then(|entries| resource_usage(&entries, capability).ok()).unwrap_or_default()
}

fn entries<'a>(container: &Container<'a>) -> Images<Vec<Entry<'a>>> {
    Ok(container.entries().collect::<std::result::Result<_, _>>()?)
}

/// The architecture of the newest PTX in a registered fat binary. Damaged containers are skipped.
///
/// # Safety
/// See [`Code::of_registered`].
pub(crate) unsafe fn newest_ptx(wrapper: usize) -> Option<Architecture> {
    // SAFETY: the caller upholds the contract.
    let containers = unsafe { containers(wrapper) }.ok()?.filter_map(Images::ok);
    let entries = containers.filter_map(|container| entries(&container).ok()).flatten();
    let architectures = entries.filter(|entry| entry.kind == EntryKind::Ptx).map(|entry| entry.architecture);
    architectures.max_by_key(|architecture| (architecture.capability, architecture.portability))
}

impl Code {
    /// Returns the code if all its names are defined.
    pub(crate) fn resolved(self, stage: Stage) -> Images<Self> {
        unresolved::check(&self.modules, stage)?;
        Ok(self)
    }

    /// The code of a registered fat binary. An unreadable container does not affect the others.
    ///
    /// # Safety
    /// `wrapper` must be the argument that nvcc's stub passed to `__cudaRegisterFatBinary`, and
    /// still be registered.
    pub(crate) unsafe fn of_registered(wrapper: usize, capability: u32) -> Images<Self> {
        let mut code = Self::default();
        let mut failure = None;
        // SAFETY: the caller upholds the contract.
        for found in unsafe { containers(wrapper) }? {
            let added = found.and_then(|found| {
                code.machine_code.wrapper = Some(wrapper);
                code.add_ptx_of(&entries(&found)?, capability).map(|_| ())
            });
            failure = failure.or(added.err());
        }
        match failure {
            Some(error) if code.modules.is_empty() => Err(error),
            _ => Ok(code),
        }
    }

    /// The code of an image passed to `cuModuleLoadData` and similar calls, which pass no length.
    ///
    /// # Safety
    /// `image` must point to NUL-terminated PTX, a fat binary or its wrapper, a cubin, or an image
    /// linked by this library.
    pub(crate) unsafe fn of_image(image: usize, capability: u32) -> Images<Self> {
        let origin = || Origin::ModuleImage;
        // SAFETY: every kind has at least four bytes. Longer headers are read once the magic number
        // identifies the kind.
        let start = *unsafe { header::<4>(image) }?;
        let magic = u32::from_le_bytes(start);
        if magic == WRAPPER_MAGIC {
            // SAFETY: the magic number identifies a wrapper.
            return unsafe { Self::of_registered(image, capability) };
        }
        let mut code = Self::default();
        code.machine_code.file = file_at(image);
        code.machine_code.holder.clone_from(&code.machine_code.file);
        if magic == CONTAINER_MAGIC {
            // SAFETY: the magic number identifies a container.
            code.add(&unsafe { container(image, origin()) }?, capability)?;
            return Ok(code);
        }
        let length = if LINKED_MAGIC.starts_with(&start) {
            // SAFETY: a linked image starts with its magic number and length.
            linked_size(unsafe { header::<LINKED_HEADER_SIZE>(image) }?)
        } else if start == *ELF_MAGIC {
            // SAFETY: an ELF file starts with its header.
            elf_size(unsafe { header::<ELF_HEADER_SIZE>(image) }?, origin())?
        } else {
            // SAFETY: any other image is NUL-terminated text.
            unsafe { CStr::from_ptr(image as *const _) }.to_bytes().len() as u64
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        // SAFETY: the image remains mapped while it is read.
        code.add_bytes(unsafe { memory(image, length) }, origin(), capability)?;
        Ok(code)
    }

    /// The code of a file.
    pub(crate) fn of_file(path: &Path, capability: u32) -> Images<Self> {
        let read = |source| ContainerError::Read { path: path.to_owned(), source: Arc::new(source) };
        let bytes = std::fs::read(path).map_err(read)?;
        let mut code = Self::default();
        code.machine_code.file = Some(path.display().to_string());
        code.add_bytes(&bytes, Origin::file(path), capability)?;
        Ok(code)
    }

    /// Adds the code of an image of known length.
    pub(crate) fn add_bytes(&mut self, bytes: &[u8], origin: Origin, capability: u32) -> Images<()> {
        let name = origin.to_string();
        match Image::from_bytes(bytes, origin)? {
            Image::FatBinary(containers) => {
                for found in containers {
                    self.add(&found?, capability)?;
                }
                Ok(())
            }
            Image::Cubin(_) => Err(ImageError::MachineCodeOnly("another device".to_owned())),
            Image::Host(_) => Err(ImageError::HostFile),
            Image::Linked(linked) => {
                for (number, text) in linked.texts.iter().enumerate() {
                    let name = format!("linked PTX {}", number + 1);
                    self.add_ptx(&String::from_utf8_lossy(text), &name, Judged::AtLaunch)?;
                }
                self.max_registers = self.max_registers.or(linked.max_registers);
                Ok(())
            }
            Image::Ptx(text) => self.add_ptx(&text, &name, Judged::AtLoad),
        }
    }

    fn add(&mut self, container: &Container<'_>, capability: u32) -> Images<()> {
        let entries = entries(container)?;
        let usage = resource_usage(&entries, capability).unwrap_or_default();
        self.machine_code.usage.entry(capability).or_default().extend(usage);
        if !self.add_ptx_of(&entries, capability)? {
            // Unreadable machine code only shortens messages.
            self.machine_code.listed.extend(sass_kernels(&entries).unwrap_or_default());
        }
        Ok(())
    }

    /// Adds the PTX of fat binary entries. Returns false if all entries are machine code.
    fn add_ptx_of(&mut self, entries: &[Entry<'_>], capability: u32) -> Images<bool> {
        let Some(entry) = choose_ptx(entries, capability) else { return Ok(entries.is_empty()) };
        let name = entry.identifier.as_deref().unwrap_or("registered PTX");
        self.add_ptx(&entry.ptx()?, name, Judged::AtLaunch).map(|()| true)
    }

    fn add_ptx(&mut self, text: &str, name: &str, judged: Judged) -> Images<()> {
        let module = PtxModule::parse(text, name)?;
        let module = match code_cache() {
            Some(cache) => module.with_cache(cache),
            None => module,
        };
        if judged == Judged::AtLoad {
            let judgement = module.judge();
            if !judgement.errors.is_empty() {
                return Err(ImageError::Illegal { log: judgement.log(INPUT) });
            }
        }
        self.modules.push(Arc::new(module));
        Ok(())
    }
}

/// The containers of relocatable code listed by a version 2 wrapper.
///
/// # Safety
/// `array` must be null-terminated and belong to the program.
unsafe fn relocatable(array: Option<u64>) -> Vec<usize> {
    let Some(array) = array else { return Vec::new() };
    // SAFETY: the array lives as long as the program's registration.
    let words = unsafe { memory(array as usize, MAX_RELOCATABLE * size_of::<usize>()) }
        .chunks_exact(size_of::<usize>());
    words.map(|bytes| word(bytes) as usize).take_while(|address| *address != 0).collect()
}

fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// Substitute for the supported part of `libcudadevrt.a`: group synchronisation.
const DEVICE_RUNTIME: &str = include_str!("device_runtime.ptx");
/// Member of `libcudadevrt.a` with the device runtime.
const DEVICE_RUNTIME_MEMBER: &str = "cuda_device_runtime.o";

/// Object files and libraries, for the linker.
impl Code {
    /// Adds the device code of a host object file. Machine code is skipped; loading the image
    /// reports the kernels that need it.
    pub(crate) fn add_object(&mut self, bytes: &[u8], origin: Origin, capability: u32) -> Images<()> {
        HostFile::parse(bytes, origin)?.containers().try_for_each(|found| self.add(&found?, capability))
    }

    /// Adds the device code of a library of object files.
    pub(crate) fn add_library(&mut self, bytes: &[u8], origin: Origin, capability: u32) -> Images<()> {
        for member in members(bytes, origin.clone())? {
            if member.name == DEVICE_RUNTIME_MEMBER {
                // The original calls into a driver that does not exist here.
                self.add_ptx(DEVICE_RUNTIME, "device runtime", Judged::AtLaunch)?;
            } else {
                self.add_object(member.bytes, origin.clone(), capability)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_frontend::container::Linked;

    const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n\0";

    fn of_image(bytes: &[u8]) -> Images<Code> {
        // SAFETY: the tests pass images of the kinds the function takes.
        unsafe { Code::of_image(bytes.as_ptr() as usize, 70) }
    }

    fn kernels(code: &Code) -> Vec<String> {
        code.modules.iter().flat_map(|module| module.kernels()).map(str::to_owned).collect()
    }

    #[test]
    fn ptx_text_ends_at_its_nul() {
        assert_eq!(kernels(&of_image(PTX.as_bytes()).unwrap()), ["k"]);
    }

    fn linked(texts: &[&str]) -> Vec<u8> {
        let texts = texts.iter().map(|text| text.trim_end_matches('\0').as_bytes()).collect();
        Linked { texts, max_registers: Some(40) }.to_bytes()
    }

    #[test]
    fn linked_images_keep_modules_and_register_limits() {
        let code = of_image(&linked(&[PTX, &PTX.replace(" k(", " l(")])).unwrap();
        assert_eq!(kernels(&code), ["k", "l"]);
        assert_eq!(code.max_registers, Some(40));
    }

    #[test]
    fn damaged_linked_image_is_an_error() {
        let mut blob = linked(&[PTX]);
        blob[24] = 0xff;
        assert!(matches!(of_image(&blob), Err(ImageError::Container(_))));
    }

    #[test]
    fn device_runtime_parses() {
        let mut code = Code::default();
        code.add_ptx(DEVICE_RUNTIME, "device runtime", Judged::AtLoad).unwrap();
        assert_eq!(code.modules.len(), 1);
    }

    #[test]
    fn illegal_function_body_fails_its_module() {
        for (body, word) in [
            ("frobnicate.u32 a, a;", "frobnicate"),
            (".reg .b32 a; add.s32 a, a, nowhere;", "nowhere"),
            (".reg .b64 a; add.s32 a, a, 1;", "`a`"),
            ("bra L;", "`L`"),
        ] {
            let text = PTX.replace(" ret;", &format!(" {body} ret;"));
            let error = of_image(text.as_bytes()).unwrap_err();
            assert_eq!(Error::from(&error), Error::InvalidPtx, "{body}");
            let log = error.log(INPUT);
            assert!(log.starts_with("ptxas application ptx input, line 4; error   : "), "{log}");
            assert!(
                log.contains(word) && log.ends_with("ptxas fatal   : Ptx assembly aborted due to errors"),
                "{log}"
            );
        }
    }

    #[test]
    fn module_with_unsupported_instruction_loads() {
        let text = PTX.replace("7.0", "8.6").replace("sm_70", "sm_100a");
        let text = text.replace(" ret;", " tcgen05.wait::ld.sync.aligned; ret;");
        assert_eq!(kernels(&of_image(text.as_bytes()).unwrap()), ["k"]);
    }

    #[test]
    fn unknown_ptx_version_has_its_own_error() {
        let error = of_image(PTX.replace("7.0", "99.9").as_bytes()).unwrap_err();
        assert_eq!(Error::from(&error), Error::UnsupportedPtxVersion);
        assert!(
            error.log(INPUT).contains("line 1; fatal   : Unsupported .version 99.9"),
            "{}",
            error.log(INPUT)
        );
        for wrong in [PTX.replace("sm_70", "sm_999"), PTX.replace("size 64", "size 32")] {
            assert_eq!(Error::from(&of_image(wrong.as_bytes()).unwrap_err()), Error::InvalidPtx);
        }
    }

    #[test]
    fn text_other_than_ptx_is_an_invalid_image() {
        let error = of_image(b"hello\0").unwrap_err();
        assert_eq!(Error::from(&error), Error::InvalidKernelImage);
    }
}
