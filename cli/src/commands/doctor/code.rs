//! The device code of a file: the PTX that the device would select, kernels that exist as machine
//! code only, and instructions that Voltsim lacks.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use functional::bind::BindError;
use functional::device::{Device, DeviceSpec, Settings};
use functional::module::Module as LoadedModule;
use ptx_frontend::Module;
use ptx_frontend::container::elf::Section;
use ptx_frontend::container::select::{choose_ptx, sass_kernels};
use ptx_frontend::container::{Compression, Container, Containers, Entry, EntryKind};
use ptx_frontend::module;
use serde::Serialize;
use warp_stream::kernel_name::{readable, signature};

/// The device code of a file.
#[derive(Debug, Default, Serialize)]
pub(super) struct DeviceCode {
    /// The PTX chosen for the device, one per container that has any.
    pub(super) ptx: Vec<PtxModule>,
    /// Kernels without PTX, with the architectures they exist for.
    pub(super) sass_only: BTreeMap<String, Vec<String>>,
    /// Reasons why functions cannot run, with the number of functions.
    pub(super) unsupported: BTreeMap<String, Affected>,
    /// Containers with nothing but intermediate code for link-time optimisation.
    pub(super) link_time_only: Vec<String>,
    /// Containers and entries that cannot be read, PTX that is no module.
    pub(super) damage: Vec<String>,
    /// Kernels whose instructions were not looked at.
    pub(super) not_looked_at: usize,
    /// Bytes of PTX whose instructions were not looked at.
    pub(super) bytes_not_looked_at: usize,
    /// PTX whose instructions may still be looked at.
    #[serde(skip)]
    budget: Budget,
    /// Functions and variables of PTX whose instructions were not looked at: others may use them.
    #[serde(skip)]
    defined_elsewhere: HashSet<String>,
}

/// How much PTX is looked at instruction by instruction. A decoded instruction takes some 40 times
/// the memory of its text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Budget {
    pub(super) kernels: usize,
    /// Of PTX text.
    pub(super) bytes: usize,
}

impl Budget {
    /// All PTX.
    pub(super) const ALL: Budget = Budget { kernels: usize::MAX, bytes: usize::MAX };

    /// Takes a module out of the budget, if it has room for it.
    fn spend(&mut self, kernels: usize, bytes: usize) -> bool {
        let left = self.kernels.checked_sub(kernels).zip(self.bytes.checked_sub(bytes));
        if let Some((kernels, bytes)) = left {
            *self = Budget { kernels, bytes };
        }
        left.is_some()
    }
}

/// A chosen PTX entry.
#[derive(Debug, Serialize)]
pub(super) struct PtxModule {
    /// Number of the container in the file, from 0; none for a file that is PTX text.
    pub(super) container: Option<usize>,
    /// The text's `.target`.
    pub(super) target: String,
    /// The target is above the device.
    pub(super) above_device: bool,
    /// Of the PTX ISA.
    pub(super) version: String,
    pub(super) compression: &'static str,
    pub(super) kernels: Vec<String>,
}

/// Functions with the same problem.
#[derive(Debug, Serialize)]
pub(super) struct Affected {
    pub(super) functions: usize,
    /// The first place.
    pub(super) first: String,
}

impl DeviceCode {
    /// Reads all containers of a file for a device of compute capability `device` (ten times), and
    /// tells `found` of each module at once. The instructions of modules beyond `budget` are not
    /// looked at.
    pub(super) fn of<'a>(
        sections: impl IntoIterator<Item = (Section, Containers<'a>)>,
        device: u32,
        budget: Budget,
        found: &mut dyn FnMut(&PtxModule),
    ) -> Self {
        let mut code = Self { budget, ..Self::default() };
        let mut number = 0;
        for (section, containers) in sections {
            let mut modules = Vec::new();
            for container in containers {
                match container {
                    Ok(container) => modules.extend(code.add_container(number, &container, device, found)),
                    Err(error) => code.damage.push(error.to_string()),
                }
                number += 1;
                if section == Section::WholePrograms {
                    code.check_kernels(std::mem::take(&mut modules));
                }
            }
            code.check_kernels(modules);
        }
        // Linked machine code and the PTX it came from may stand in different containers (nvcc
        // -rdc=true).
        let mut sass_only = std::mem::take(&mut code.sass_only);
        let with_ptx: HashSet<&String> = code.ptx.iter().flat_map(|module| &module.kernels).collect();
        sass_only.retain(|name, _| !with_ptx.contains(name));
        code.sass_only = sass_only;
        code
    }

    /// The code of a file that is PTX texts, linked with each other.
    pub(super) fn of_texts<'a>(
        texts: impl IntoIterator<Item = Cow<'a, str>>,
        file: &Path,
        device: u32,
        found: &mut dyn FnMut(&PtxModule),
    ) -> Self {
        let mut code = Self { budget: Budget::ALL, ..Self::default() };
        let name = file.to_string_lossy();
        let mut add = |text: Cow<'_, str>| {
            code.add_module(&text, &name, (None, Compression::None.name()), device, found)
        };
        let modules = texts.into_iter().filter_map(&mut add).collect();
        code.check_kernels(modules);
        code
    }

    /// Adds a container's code; gives the module chosen for the device.
    fn add_container(
        &mut self,
        number: usize,
        container: &Container<'_>,
        device: u32,
        found: &mut dyn FnMut(&PtxModule),
    ) -> Option<Arc<Module>> {
        let mut entries = Vec::new();
        for entry in container.entries() {
            match entry {
                Ok(entry) => entries.push(entry),
                Err(error) => self.damage.push(error.to_string()),
            }
        }
        match sass_kernels(&entries) {
            Ok(kernels) => {
                for (name, architectures) in kernels {
                    let names = architectures.iter().map(ToString::to_string);
                    self.sass_only.entry(name).or_default().extend(names);
                }
            }
            Err(error) => self.damage.push(error.to_string()),
        }
        match choose_ptx(&entries, device) {
            Some(entry) => return self.add_ptx(number, entry, device, found),
            None if entries.iter().any(|entry| entry.kind == EntryKind::LinkTimeIr) => {
                self.link_time_only.push(container.place().to_string());
            }
            None => {}
        }
        None
    }

    fn add_ptx(
        &mut self,
        container: usize,
        entry: &Entry<'_>,
        device: u32,
        found: &mut dyn FnMut(&PtxModule),
    ) -> Option<Arc<Module>> {
        let compression = entry.compression().map_or("unknown", Compression::name);
        let name = format!("{} container {container}", entry.place().origin);
        match entry.ptx() {
            Ok(text) => self.add_module(&text, &name, (Some(container), compression), device, found),
            Err(error) => {
                self.damage.push(error.to_string());
                None
            }
        }
    }

    fn add_module(
        &mut self,
        text: &str,
        name: &str,
        (container, compression): (Option<usize>, &'static str),
        device: u32,
        found: &mut dyn FnMut(&PtxModule),
    ) -> Option<Arc<Module>> {
        let module = match Module::parse(text, name) {
            Ok(module) => module,
            Err(error) => {
                self.damage.push(error.to_string());
                return None;
            }
        };
        let outline = module.outline();
        let target = outline.target.map_or("", |target| target.of(text)).to_owned();
        let version = outline.version.map_or(String::new(), |(major, minor)| format!("{major}.{minor}"));
        let above_device = capability(&target).is_some_and(|capability| capability > device);
        let kernels: Vec<String> = module.kernels().map(Into::into).collect();
        let count = kernels.len();
        let listed = PtxModule { container, target, above_device, version, compression, kernels };
        found(&listed);
        self.ptx.push(listed);
        if !self.budget.spend(count, text.len()) {
            self.not_looked_at += count;
            self.bytes_not_looked_at += text.len();
            let functions = outline.functions.iter().filter(|item| item.body.is_some());
            self.defined_elsewhere.extend(functions.map(|item| item.name.of(text).to_owned()));
            self.defined_elsewhere.extend(module.variables().iter().map(|variable| variable.name.clone()));
            return None;
        }
        self.check_functions(&module);
        Some(Arc::new(module))
    }

    /// Prepares each kernel of `modules`, loaded as one, as its launch would, and notes what the
    /// engine refuses.
    fn check_kernels(&mut self, modules: Vec<Arc<Module>>) {
        let Some(first) = modules.first() else { return };
        let name = first.name().to_owned();
        let device = match Device::new(DeviceSpec::default(), Settings::default()) {
            Ok(device) => Arc::new(device),
            Err(error) => return self.note(error.to_string(), name),
        };
        let loaded = match LoadedModule::load(&device, modules.clone()) {
            Ok(loaded) => loaded,
            Err(error) => return self.note(error.to_string(), name),
        };
        for kernel in loaded.kernels() {
            match loaded.kernel(kernel) {
                // Each function that the front end refuses has its own note.
                Ok(_) | Err(BindError::Frontend(_)) => {}
                Err(BindError::Instruction { function, place, reason }) => {
                    let module = home_of(&function, &modules);
                    self.note(reason, format!("{module} line {} in `{}`", place.line, signature(&function)));
                }
                Err(BindError::Unresolved { symbol, .. }) if self.defined_elsewhere.contains(&symbol) => {}
                Err(BindError::Unresolved { function, symbol }) => {
                    let module = home_of(&function, &modules);
                    let what = format!("`{}` is not defined", signature(&symbol));
                    self.note(what, format!("{module} in `{}`", signature(&function)));
                }
                Err(error @ BindError::TooLarge { .. }) => self.note(error.to_string(), name.clone()),
            }
        }
    }

    /// Notes what is wrong in each function that `module` defines.
    fn check_functions(&mut self, module: &Module) {
        let text = module.source().text();
        let defined = module.outline().functions.iter().filter(|item| item.body.is_some());
        for name in defined.map(|item| item.name.of(text)) {
            match module.function(name) {
                Ok(_) => {}
                Err(module::Error::Invalid { problems, .. }) => {
                    let mut noted = Vec::new();
                    for problem in problems {
                        let what = problem.problem.to_string();
                        if !noted.contains(&what) {
                            let (file, line) = (&problem.file, problem.place.line);
                            let place = format!("{file} line {line} in `{}`", signature(name));
                            self.note(what.clone(), place);
                            noted.push(what);
                        }
                    }
                }
                Err(error) => {
                    self.note(error.to_string(), format!("{} `{}`", module.name(), signature(name)));
                }
            }
        }
    }

    fn note(&mut self, what: String, place: String) {
        let what = readable(&what).into_owned();
        let affected = self.unsupported.entry(what).or_insert(Affected { functions: 0, first: place });
        affected.functions += 1;
    }
}

/// Name of the one of `modules` that defines `function`.
fn home_of<'a>(function: &str, modules: &'a [Arc<Module>]) -> &'a str {
    let defines = |module: &&Arc<Module>| matches!(module.function_linkage(function), Some((_, true)));
    modules.iter().find(defines).map_or("", |module| module.name())
}

/// 75 for a target that starts with `sm_75`.
fn capability(target: &str) -> Option<u32> {
    let digits = target.trim_start().strip_prefix("sm_")?;
    let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

#[cfg(test)]
#[path = "../../../../ptx-frontend/tests/container/builder.rs"]
#[allow(dead_code, reason = "these tests use a part of the builder")]
mod builder;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ptx_frontend::container::{Image, ImageFile};

    use super::builder::{EntryBuilder, container, host_elf};
    use super::*;

    /// A library of relocatable code: a kernel that calls `count` functions, each in a container of
    /// its own.
    fn library(folder: &Path, count: usize) -> PathBuf {
        let head = ".version 7.0\n.target sm_70\n.address_size 64\n";
        let declared: String = (0..count).map(|n| format!(".extern .func f{n}();\n")).collect();
        let calls: String = (0..count).map(|n| format!("call f{n};\n")).collect();
        let kernel = format!("{head}{declared}.visible .entry kernel()\n{{\n{calls}call gone;\nret;\n}}\n");
        let kernel = kernel.replace(".visible", ".extern .func gone();\n.visible");
        let function = |n| {
            format!(
                "{head}.visible .func f{n}()\n{{\n.reg .b32 %r<2>;\n{}ret;\n}}\n",
                "mov.b32 %r1, 1;\n".repeat(500)
            )
        };
        let texts = [kernel].into_iter().chain((0..count).map(function));
        let containers: Vec<u8> = texts.flat_map(|text| container(&[EntryBuilder::ptx(70, &text)])).collect();
        let path = folder.join("library.so");
        std::fs::write(&path, host_elf(&[("__nv_relfatbin", &containers)])).unwrap();
        path
    }

    fn code_of(path: &Path, budget: Budget, found: &mut dyn FnMut(&PtxModule)) -> DeviceCode {
        let file = ImageFile::open(path).unwrap();
        let Image::Host(host) = file.image().unwrap() else { panic!("no library") };
        DeviceCode::of(host.sections(), 70, budget, found)
    }

    #[test]
    fn relocatable_code_is_looked_at_by_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = library(folder.path(), 10);
        let mut listed = 0;
        let budget = Budget { kernels: 1000, bytes: 25_000 };
        let code = code_of(&path, budget, &mut |_| listed += 1);
        assert_eq!((listed, code.ptx.len()), (11, 11));
        assert!((50_000..100_000).contains(&code.bytes_not_looked_at), "{}", code.bytes_not_looked_at);
        assert_eq!(code.not_looked_at, 0, "functions alone have no kernel");
        let whole = code_of(&path, Budget::ALL, &mut |_| {});
        assert_eq!(whole.bytes_not_looked_at, 0);
        // Functions of containers beyond the budget are defined, and what the kernel calls after
        // them is not looked at.
        assert!(code.unsupported.is_empty(), "{:?}", code.unsupported);
        assert_eq!(whole.unsupported.keys().collect::<Vec<_>>(), ["`gone` is not defined"]);
    }
}
