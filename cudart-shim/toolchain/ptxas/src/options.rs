//! Command line of `ptxas`: options of 11.8, 12.9 and 13.5 by both names.

use ptx_frontend::Module;
use ptx_frontend::isa::{Target, first_version};
use std::path::PathBuf;

/// Task of the command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Version,
    /// List of targets.
    Targets,
    /// List of PTX versions.
    Versions,
    Assemble(Options),
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    File(PathBuf),
    /// Text of `--input-as-string`.
    Text(String),
}

/// Options with an effect here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) inputs: Vec<Input>,
    pub(crate) output: PathBuf,
    /// `sm_NN`, also for a virtual architecture (`compute_NN`).
    pub(crate) target: String,
    /// True for a virtual architecture: PTX is checked and nothing is written.
    pub(crate) is_virtual: bool,
    /// Register limit of a thread.
    pub(crate) max_registers: Option<u32>,
    pub(crate) verbose: bool,
}

/// Options with a value, by long and short name. The value follows `=` or is the next argument.
const WITH_VALUE: [(&str, &str); 25] = [
    ("Ofast-compile", "Ofc"),
    ("allow-expensive-optimizations", "allow-expensive-optimizations"),
    ("def-load-cache", "dlcm"),
    ("def-store-cache", "dscm"),
    ("force-load-cache", "flcm"),
    ("force-store-cache", "fscm"),
    ("device-function-maxrregcount", "func-maxrregcount"),
    ("device-stack-protector", "device-stack-protector"),
    ("enable-func-clone-sc", "enable-func-clone-sc"),
    ("entry", "e"),
    ("fmad", "fmad"),
    ("gpu-name", "arch"),
    ("input-as-string", "ias"),
    ("machine", "m"),
    ("maxntid", "maxntid"),
    ("maxrregcount", "maxrregcount"),
    ("minnctapersm", "minnctapersm"),
    ("opt-level", "O"),
    ("options-file", "optf"),
    ("output-file", "o"),
    ("position-independent-code", "pic"),
    ("register-usage-level", "regUsageLevel"),
    ("sanitize", "sanitize"),
    ("split-compile", "split-compile"),
    // Undocumented; Triton passes it.
    ("regAllocOptLevel", "regAllocOptLevel"),
];

/// Options without a value, by long and short name.
const FLAGS: [(&str, &str); 37] = [
    ("apply-controls", "apply-controls"),
    ("compile-as-tools-patch", "astoolspatch"),
    ("compile-only", "c"),
    ("compiler-annotations", "annotate"),
    ("device-debug", "g"),
    ("disable-optimizer-constants", "disable-optimizer-consts"),
    ("disable-warnings", "w"),
    ("dont-merge-basicblocks", "no-bb-merge"),
    ("extensible-whole-program", "ewp"),
    ("g-tensor-memory-access-check", "g-tmem-access-check"),
    ("generate-line-info", "lineinfo"),
    ("gno-fabric-access-check", "gno-fabric-access-check"),
    ("gno-tensor-memory-access-check", "gno-tmem-access-check"),
    ("help", "h"),
    ("jobserver", "jobserver"),
    ("legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior"),
    ("list-arch", "arch-ls"),
    ("list-version", "version-ls"),
    ("make-errors-visible-at-exit", "make-errors-visible-at-exit"),
    ("optimize-float-atomics", "opt-fp-atomics"),
    ("override-directive-values", "override-directive-values"),
    ("preserve-relocs", "preserve-relocs"),
    ("return-at-end", "ret-end"),
    ("sp-bounds-check", "sp-bounds-check"),
    ("suppress-async-bulk-multicast-advisory-warning", "suppress-async-bulk-multicast-advisory-warning"),
    ("suppress-debug-info", "suppress-debug-info"),
    ("suppress-double-demote-warning", "suppress-double-demote-warning"),
    ("suppress-position-independent-code-warning", "suppress-position-independent-code-warning"),
    ("suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info"),
    ("suppress-stack-size-warning", "suppress-stack-size-warning"),
    ("verbose", "v"),
    ("verbose2", "v2"),
    ("version", "V"),
    ("warn-on-double-precision-use", "warn-double-usage"),
    ("warn-on-local-memory-usage", "warn-lmem-usage"),
    ("warn-on-spills", "warn-spills"),
    ("warning-as-error", "Werror"),
];

/// Target without `-arch`.
const DEFAULT_TARGET: &str = "sm_75";

/// Deepest nesting of options files.
const MAX_NESTED: usize = 8;

/// Long name of an option without dashes.
fn long_name(table: &[(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(long, short)| *long == name || *short == name).map(|(long, _)| *long)
}

impl Options {
    /// Parses the arguments after the program name.
    pub(crate) fn read(arguments: &[String]) -> Result<Task, String> {
        let mut options = Self {
            inputs: Vec::new(),
            output: "elf.o".into(),
            target: DEFAULT_TARGET.to_owned(),
            is_virtual: false,
            max_registers: None,
            verbose: false,
        };
        if let Some(task) = options.take(arguments, 0)? {
            return Ok(task);
        }
        if options.inputs.is_empty() {
            return Err("No input file specified".to_owned());
        }
        options.split_target()?;
        Ok(Task::Assemble(options))
    }

    /// Takes arguments; some select another task.
    fn take(&mut self, arguments: &[String], depth: usize) -> Result<Option<Task>, String> {
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let Some(option) = argument.strip_prefix('-').filter(|option| !option.is_empty()) else {
                self.inputs.push(Input::File(argument.into()));
                continue;
            };
            let option = option.strip_prefix('-').unwrap_or(option);
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => attached(option).unwrap_or((option, None)),
            };
            if let Some(flag) = long_name(&FLAGS, name) {
                match flag {
                    "help" => return Ok(Some(Task::Help)),
                    "version" => return Ok(Some(Task::Version)),
                    "list-arch" => return Ok(Some(Task::Targets)),
                    "list-version" => return Ok(Some(Task::Versions)),
                    "verbose" => self.verbose = true,
                    _ => {}
                }
                continue;
            }
            let name = long_name(&WITH_VALUE, name).ok_or_else(|| format!("Unknown option '-{name}'"))?;
            let value = match value {
                Some(value) => value,
                None => rest.next().ok_or_else(|| format!("Argument expected after '{argument}'"))?.clone(),
            };
            self.set(name, value, depth)?;
        }
        Ok(None)
    }

    /// Sets an option with a value, by its long name.
    fn set(&mut self, name: &str, value: String, depth: usize) -> Result<(), String> {
        match name {
            "output-file" => self.output = value.into(),
            "gpu-name" => self.target = value,
            "input-as-string" => self.inputs.push(Input::Text(value)),
            "machine" if value != "64" => {
                return Err(format!("Value '{value}' is not defined for option 'machine'"));
            }
            "options-file" => {
                if depth >= MAX_NESTED {
                    return Err(format!("Options file '{value}' is nested too deeply"));
                }
                let text = std::fs::read_to_string(&value)
                    .map_err(|_| format!("Could not open options file '{value}'"))?;
                let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                self.take(&arguments, depth + 1)?;
            }
            "maxrregcount" => match value.as_str() {
                "archmax" => self.max_registers = None,
                "archmin" => self.max_registers = Some(16),
                number => {
                    let most = number
                        .parse()
                        .map_err(|_| format!("Invalid value '{value}' for option 'maxrregcount'"))?;
                    self.max_registers = Some(most).filter(|most| *most > 0);
                }
            },
            "fmad" if value != "true" && value != "false" => {
                return Err(format!("'{value}': expected true or false"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Distinguishes real and virtual architectures and rejects unknown ones.
    fn split_target(&mut self) -> Result<(), String> {
        let target = self.target.clone();
        let refused = || format!("Value '{target}' is not defined for option 'gpu-name'");
        let (is_virtual, name) = match target.strip_prefix("compute_") {
            Some(name) => (true, name),
            None => (false, target.strip_prefix("sm_").ok_or_else(refused)?),
        };
        first_version(name).ok_or_else(refused)?;
        self.is_virtual = is_virtual;
        self.target = format!("sm_{name}");
        Ok(())
    }

    /// Reason why the module's `.target` forbids the target, if it does.
    pub(crate) fn misfit(&self, module: &Module) -> Option<String> {
        let list = module.outline().target?.of(module.source().text());
        let of_module = list.split(',').find_map(|word| word.trim().strip_prefix("sm_"))?;
        let asked = self.target.strip_prefix("sm_")?;
        let (needed, target) = (Target::from_name(of_module)?, Target::from_name(asked)?);
        let is_family = of_module.ends_with('f');
        let fits_letter =
            !needed.specific || of_module == asked || is_family && needed.number / 10 == target.number / 10;
        if needed.number > target.number {
            return Some(
                "SM version specified by .target is higher than default SM version assumed".to_owned(),
            );
        }
        (!fits_letter).then(|| {
            let kind = if self.is_virtual { "compute" } else { "sm" };
            format!("PTX with .target 'sm_{of_module}' cannot be compiled for architecture '{kind}_{asked}'")
        })
    }
}

/// Options with an attached value: `-O3`, `-m64`.
fn attached(option: &str) -> Option<(&str, Option<String>)> {
    let (name, value) = option.split_at_checked(1)?;
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    (matches!(name, "O" | "m") && digits).then(|| (name, Some(value.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Task, String> {
        let arguments: Vec<_> = line.split(' ').map(str::to_owned).collect();
        Options::read(&arguments)
    }

    fn options(line: &str) -> Options {
        match read(line) {
            Ok(Task::Assemble(options)) => options,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn option_value_follows_an_equals_sign_or_a_blank() {
        let expected = Options {
            inputs: vec![Input::File("a.ptx".into())],
            output: "a.cubin".into(),
            target: "sm_90a".to_owned(),
            is_virtual: false,
            max_registers: Some(64),
            verbose: true,
        };
        let line =
            "-lineinfo -v --gpu-name=sm_90a --maxrregcount 64 a.ptx -o a.cubin --fmad=false -O 3 -m64 -O3";
        assert_eq!(options(line), expected);
    }

    #[test]
    fn virtual_architecture_is_accepted() {
        for (name, target) in
            [("compute_90", "sm_90"), ("compute_90a", "sm_90a"), ("compute_121f", "sm_121f")]
        {
            let read = options(&format!("-arch={name} a.ptx"));
            assert_eq!((read.target.as_str(), read.is_virtual), (target, true));
        }
    }

    #[test]
    fn command_lines_of_clients_are_accepted() {
        for line in [
            // nvcc
            "-arch=compute_90 -m64 k.ptx",
            "--generate-line-info -arch=sm_90 -m64 -v k.ptx -o k.cubin",
            "-arch=sm_80 -m64 -g --dont-merge-basicblocks --return-at-end k.ptx -o k.cubin",
            "-arch=sm_80 -m64 --preserve-relocs -c -dlcm=ca -warn-spills -Werror k.ptx -o k.cubin",
            // Triton
            "-lineinfo -v --regAllocOptLevel=2 --gpu-name=sm_90a k.ptx -o k.o",
            "-suppress-debug-info -v --fmad=false --opt-level 0 --gpu-name=sm_80 k.ptx -o k.o",
            // JAX and XLA
            "k.ptx -o k.cubin -arch=sm_90 --warn-on-spills -v -O2 --generate-line-info",
            // CuPy, Numba
            "-o k.cubin --gpu-name sm_75 --maxrregcount archmax -lineinfo k.ptx",
        ] {
            options(line);
        }
    }

    #[test]
    fn wrong_command_line_error_uses_the_assemblers_words() {
        for (line, message) in [
            ("-v", "No input file specified"),
            ("a.ptx -arch compute_999", "Value 'compute_999' is not defined for option 'gpu-name'"),
            ("a.ptx -arch sm_95", "Value 'sm_95' is not defined for option 'gpu-name'"),
            ("a.ptx -arch 90", "Value '90' is not defined for option 'gpu-name'"),
            ("a.ptx -o", "Argument expected after '-o'"),
            ("a.ptx --frobnicate", "Unknown option '-frobnicate'"),
            ("a.ptx -m 32", "Value '32' is not defined for option 'machine'"),
            ("a.ptx -fmad maybe", "'maybe': expected true or false"),
            ("a.ptx -maxrregcount=x", "Invalid value 'x' for option 'maxrregcount'"),
        ] {
            assert_eq!(read(line), Err(message.to_owned()), "{line}");
        }
    }

    #[test]
    fn module_fits_targets_by_its_suffix() {
        let misfit = |module: &str, target: &str| {
            let text = format!(".version 8.8\n.target {module}\n");
            options(&format!("-arch={target} a.ptx")).misfit(&Module::parse(text, "a.ptx").unwrap())
        };
        for (module, target) in [
            ("sm_75", "sm_90a"),
            ("sm_90a", "sm_90a"),
            ("sm_90a", "compute_90a"),
            ("sm_100f", "sm_103"),
            ("sm_100f", "sm_103a"),
        ] {
            assert_eq!(misfit(module, target), None, "{module} for {target}");
        }
        for (module, target) in
            [("sm_90", "sm_80"), ("sm_90a", "sm_90"), ("sm_90a", "sm_100a"), ("sm_100f", "sm_120")]
        {
            assert!(misfit(module, target).is_some(), "{module} for {target}");
        }
    }
}
