//! The command line of `ptxas`.

use std::path::PathBuf;

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Version,
    Assemble(Options),
}

/// What matters of the options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) inputs: Vec<PathBuf>,
    pub(crate) output: PathBuf,
    /// `sm_NN`.
    pub(crate) target: String,
    /// Registers a thread may use.
    pub(crate) max_registers: Option<u32>,
    pub(crate) verbose: bool,
}

/// Options that take a value as the next argument unless it follows `=`; all but four change nothing here.
const WITH_VALUE: [&str; 16] = [
    "output-file",
    "o",
    "gpu-name",
    "arch",
    "maxrregcount",
    "entry",
    "e",
    "opt-level",
    "O",
    "machine",
    "m",
    "regAllocOptLevel",
    "fmad",
    "fast-compile",
    "Ofast-compile",
    "device-function-maxrregcount",
];

/// The target without `-arch`.
const DEFAULT_TARGET: &str = "sm_75";

impl Options {
    /// Reads the arguments after the program's name.
    pub(crate) fn read(arguments: &[String]) -> Result<Task, String> {
        let mut options = Self {
            inputs: Vec::new(),
            output: "elf.o".into(),
            target: DEFAULT_TARGET.to_owned(),
            max_registers: None,
            verbose: false,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let Some(option) = argument.strip_prefix('-').filter(|option| !option.is_empty()) else {
                options.inputs.push(argument.into());
                continue;
            };
            let option = option.trim_start_matches('-');
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None if WITH_VALUE.contains(&option) => {
                    let value = rest.next().ok_or_else(|| format!("Argument expected after '{argument}'"))?;
                    (option, Some(value.clone()))
                }
                None => (option, None),
            };
            match (name, value) {
                ("help" | "h", _) => return Ok(Task::Help),
                ("version" | "V", _) => return Ok(Task::Version),
                ("verbose" | "v", None) => options.verbose = true,
                ("output-file" | "o", Some(value)) => options.output = value.into(),
                ("gpu-name" | "arch", Some(value)) => options.target = value,
                ("maxrregcount", Some(value)) => {
                    let most = value.parse().map_err(|_| format!("'{value}' is no number of registers"))?;
                    options.max_registers = Some(most).filter(|most| *most > 0);
                }
                _ => {}
            }
        }
        if options.inputs.is_empty() {
            return Err("No input file specified".to_owned());
        }
        let number = options.target.strip_prefix("sm_").map(|number| number.trim_end_matches(['a', 'f']));
        if number.is_none_or(|number| number.parse::<u32>().is_err()) {
            return Err(format!("Value '{}' is not defined for option 'gpu-name'", options.target));
        }
        Ok(Task::Assemble(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Task, String> {
        let arguments: Vec<_> = line.split(' ').map(str::to_owned).collect();
        Options::read(&arguments)
    }

    #[test]
    fn a_value_stands_behind_an_equals_sign_or_alone() {
        let expected = Options {
            inputs: vec!["a.ptx".into()],
            output: "a.cubin".into(),
            target: "sm_90a".to_owned(),
            max_registers: Some(64),
            verbose: true,
        };
        let line = "-lineinfo -v --gpu-name=sm_90a --maxrregcount 64 a.ptx -o a.cubin --fmad=false -O 3";
        assert_eq!(read(line), Ok(Task::Assemble(expected)));
    }

    #[test]
    fn no_input_an_unknown_target_and_a_missing_value_are_errors() {
        assert!(read("-v").is_err());
        assert!(read("a.ptx -arch compute_70").is_err());
        assert!(read("a.ptx -o").is_err());
    }
}
