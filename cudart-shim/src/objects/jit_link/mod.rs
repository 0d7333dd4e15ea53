//! Links of nvJitLink. PTX of all inputs becomes one image in place of machine code. Inputs with LTO
//! IR go through the vendor's library, which makes PTX of them.

mod options;
mod vendor;

use crate::code::image::{Code, INPUT, ImageError};
use crate::code::unresolved::Stage;
use options::{Options, Refused};
use ptx_frontend::Module as PtxModule;
use ptx_frontend::container::{Linked, Origin};
use ptx_frontend::usage::usage;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, c_int};
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};
use vendor::{Input, NotLinked, Vendor};

/// Errors of `nvJitLinkResult`, by the vendor's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Failure {
    UnrecognizedOption = 1,
    MissingArchitecture = 2,
    InvalidInput = 3,
    PtxCompile = 4,
    NvvmCompile = 5,
    Internal = 6,
    UnrecognizedInput = 8,
    NullInput = 10,
    IncompatibleOptions = 11,
    IncorrectInputType = 12,
    MissingFatBinary = 15,
    UnsupportedArchitecture = 17,
    LtoNotEnabled = 18,
}

impl Failure {
    /// The failure of a code; codes that this version does not name are internal errors.
    fn of(code: c_int) -> Failure {
        use Failure::*;
        let all = [
            UnrecognizedOption,
            MissingArchitecture,
            InvalidInput,
            PtxCompile,
            NvvmCompile,
            Internal,
            UnrecognizedInput,
            NullInput,
            IncompatibleOptions,
            IncorrectInputType,
            MissingFatBinary,
            UnsupportedArchitecture,
            LtoNotEnabled,
        ];
        all.into_iter().find(|failure| *failure as c_int == code).unwrap_or(Internal)
    }
}

/// `nvJitLinkInputType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cubin = 1,
    Ptx = 2,
    LtoIr = 3,
    FatBinary = 4,
    Object = 5,
    Library = 6,
}

/// The type whose content decides.
const ANY: c_int = 10;

/// First bytes of LTO IR, as NVRTC writes it.
const LTO_IR: [u8; 4] = [0xed, 0x43, 0x4e, 0x7f];

impl Kind {
    /// The kind of an input.
    ///
    /// # Errors
    /// The type is unknown or the content is of another type.
    fn of(kind: c_int, bytes: &[u8]) -> Result<Kind, Failure> {
        let found = Kind::of_content(bytes);
        let asked = match kind {
            1 => Kind::Cubin,
            // Text that is no PTX is an error of the assembler.
            2 if found.is_none() => return Ok(Kind::Ptx),
            2 => Kind::Ptx,
            3 => Kind::LtoIr,
            4 => Kind::FatBinary,
            5 => Kind::Object,
            6 => Kind::Library,
            ANY => return found.ok_or(Failure::UnrecognizedInput),
            _ => return Err(Failure::IncorrectInputType),
        };
        // An ELF file is an object or a cubin.
        let is_elf = |kind| matches!(kind, Kind::Cubin | Kind::Object);
        match found {
            Some(found) if found == asked || is_elf(found) && is_elf(asked) => Ok(asked),
            _ => Err(Failure::IncorrectInputType),
        }
    }

    fn of_content(bytes: &[u8]) -> Option<Kind> {
        if bytes.starts_with(&LTO_IR) {
            return Some(Kind::LtoIr);
        }
        if bytes.starts_with(b"!<arch>\n") {
            return Some(Kind::Library);
        }
        use ptx_frontend::container::Image;
        Some(match Image::from_bytes(bytes, Origin::ModuleImage).ok()? {
            Image::FatBinary(_) => Kind::FatBinary,
            Image::Cubin(_) | Image::Linked(_) => Kind::Cubin,
            Image::Host(_) => Kind::Object,
            Image::Ptx(_) => Kind::Ptx,
        })
    }
}

/// A link in progress.
#[derive(Debug, Default)]
pub(crate) struct JitLink {
    /// Absent after a refused option.
    options: Option<Options>,
    /// PTX of the inputs.
    modules: Vec<Arc<PtxModule>>,
    max_registers: Option<u32>,
    /// Inputs for the vendor's library.
    lto: Vec<Input>,
    /// The linked image, after completion.
    image: Option<Vec<u8>>,
    /// The linked PTX, after completion with `-ptx`.
    ptx: Option<Vec<u8>>,
    errors: String,
    information: String,
}

impl JitLink {
    /// Begins a link. A link with refused options exists, for the sake of its error log.
    fn new(given: &[&CStr]) -> (JitLink, Option<Failure>) {
        match Options::read(given) {
            Ok(options) => (JitLink { options: Some(options), ..JitLink::default() }, None),
            Err(Refused(failure, message)) => {
                (JitLink { errors: message + "\n", ..JitLink::default() }, Some(failure))
            }
        }
    }

    /// Notes a message in the error log.
    pub(crate) fn fail(&mut self, failure: Failure, message: &str) -> Failure {
        let _ = writeln!(self.errors, "{}", message.trim_end());
        failure
    }

    /// Adds an input.
    pub(crate) fn add(&mut self, kind: c_int, bytes: &[u8], name: &CStr) -> Result<(), Failure> {
        let text = name.to_string_lossy().into_owned();
        let Some(Options { capability, lto, .. }) = self.options else {
            return Err(self.fail(Failure::Internal, &format!("{text}: the link has refused options")));
        };
        let kind = Kind::of(kind, bytes)
            .map_err(|failure| self.fail(failure, &format!("{text}: the input is not of the given type")))?;
        if kind == Kind::LtoIr && !lto {
            let message = format!("{text}: LTO IR needs the option -lto");
            return Err(self.fail(Failure::LtoNotEnabled, &message));
        }
        let mut code = Code::default();
        let origin = Origin::file(text.as_str());
        let added = match kind {
            Kind::LtoIr => Ok(()),
            Kind::Cubin | Kind::Ptx | Kind::FatBinary => code.add_bytes(bytes, origin, capability),
            Kind::Object => code.add_object(bytes, origin, capability),
            Kind::Library => code.add_library(bytes, origin, capability),
        };
        added.map_err(|error| {
            let message = error.log(INPUT);
            self.fail(failure_of(&error), &message)
        })?;
        if code.modules.is_empty() && lto && kind != Kind::Ptx {
            self.lto.push(Input { kind: kind as c_int, bytes: bytes.to_vec(), name: name.to_owned() });
        }
        self.modules.extend(code.modules);
        self.max_registers = self.max_registers.or(code.max_registers);
        Ok(())
    }

    /// Links the inputs; `vendor` opens the vendor's library for a capability.
    fn complete(&mut self, vendor: impl FnOnce(u32) -> Option<Vendor>) -> Result<(), Failure> {
        let Some(options) = self.options.clone() else {
            return Err(self.fail(Failure::Internal, "the link has refused options"));
        };
        if options.ptx && !self.modules.is_empty() {
            return Err(self.fail(Failure::IncorrectInputType, "-ptx requires that all inputs have LTO IR"));
        }
        if !self.lto.is_empty() {
            let Some(vendor) = vendor(options.capability) else {
                return Err(self.fail(
                    Failure::Internal,
                    "voltsim: LTO IR needs NVIDIA's nvJitLink, which was not found; \
                     set VOLTSIM_NVJITLINK to its file, or link without -lto",
                ));
            };
            let linked = vendor
                .link(&options, &self.lto)
                .map_err(|NotLinked(failure, log)| self.fail(failure, &log))?;
            self.information.push_str(&linked.information);
            if options.ptx {
                self.ptx = Some(linked.ptx);
                return Ok(());
            }
            let mut code = Code::default();
            let added = code.add_bytes(&linked.ptx, Origin::file("ltoPtx"), options.capability);
            added.map_err(|error| self.fail(failure_of(&error), &error.log(INPUT)))?;
            self.modules.extend(code.modules);
        }
        let code = Code { modules: self.modules.clone(), ..Code::default() };
        let code =
            code.resolved(Stage::Link).map_err(|error| self.fail(failure_of(&error), &error.log(INPUT)))?;
        let max_registers = options.max_registers.or(self.max_registers);
        if options.verbose {
            let target = format!("sm_{}", options.capability);
            self.information.extend(code.modules.iter().map(|module| usage(module, &target, max_registers)));
        }
        let texts = code.modules.iter().map(|module| module.source().text().as_bytes()).collect();
        self.image = Some(Linked { texts, max_registers }.to_bytes());
        Ok(())
    }

    /// The linked image, which takes the place of machine code.
    pub(crate) fn image(&self) -> Result<&[u8], Failure> {
        self.image.as_deref().ok_or(Failure::Internal)
    }

    /// The linked PTX with its NUL.
    pub(crate) fn ptx(&self) -> Result<Vec<u8>, Failure> {
        let wants_ptx = self.options.as_ref().is_some_and(|options| options.ptx);
        let missing = if wants_ptx { Failure::Internal } else { Failure::InvalidInput };
        Ok([self.ptx.as_deref().ok_or(missing)?, &[0]].concat())
    }

    /// The error log with its NUL; empty without errors.
    pub(crate) fn errors(&self) -> Vec<u8> {
        log(&self.errors)
    }

    /// The information log with its NUL; empty without information.
    pub(crate) fn information(&self) -> Vec<u8> {
        log(&self.information)
    }
}

fn log(text: &str) -> Vec<u8> {
    if text.is_empty() { Vec::new() } else { [text.as_bytes(), &[0]].concat() }
}

/// The code for refused device code.
fn failure_of(error: &ImageError) -> Failure {
    match error {
        ImageError::Ptx(_) | ImageError::Illegal { .. } => Failure::PtxCompile,
        ImageError::MachineCodeOnly(_) => Failure::UnsupportedArchitecture,
        ImageError::Container(_) | ImageError::HostFile | ImageError::NoMemory { .. } => {
            Failure::InvalidInput
        }
        ImageError::Unresolved(_) => Failure::Internal,
    }
}

/// Links in progress, and the vendor's library.
#[derive(Debug, Default)]
pub(crate) struct JitLinks {
    live: FxHashMap<usize, JitLink>,
    created: usize,
    vendor: OnceLock<Option<Vendor>>,
}

/// Handles lie in an address range that no process uses.
const HANDLES: usize = 0x5700_0000_0000_0000;

impl JitLinks {
    /// Begins a link and returns its handle. A link with refused options has a handle too.
    pub(crate) fn begin(&mut self, given: &[&CStr]) -> (usize, Option<Failure>) {
        self.created += 1;
        let handle = HANDLES | (self.created << 4);
        let (link, failure) = JitLink::new(given);
        self.live.insert(handle, link);
        (handle, failure)
    }

    /// The link with a handle.
    pub(crate) fn link(&mut self, handle: usize) -> Result<&mut JitLink, Failure> {
        self.live.get_mut(&handle).ok_or(Failure::NullInput)
    }

    /// Links the inputs of a link.
    pub(crate) fn complete(&mut self, handle: usize) -> Result<(), Failure> {
        let vendor = &self.vendor;
        let link = self.live.get_mut(&handle).ok_or(Failure::NullInput)?;
        link.complete(|capability| *vendor.get_or_init(|| Vendor::open(capability)))
    }

    /// Ends a link.
    pub(crate) fn end(&mut self, handle: usize) -> Result<(), Failure> {
        self.live.remove(&handle).map(drop).ok_or(Failure::NullInput)
    }
}
