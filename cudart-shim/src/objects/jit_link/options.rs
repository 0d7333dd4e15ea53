//! Options of `nvJitLinkCreate`, by the documentation of nvJitLink 13.

use super::Failure;
use std::ffi::{CStr, CString};

/// Options without a value, and beginnings of options with one, that change no result here.
const WITHOUT_EFFECT: [&str; 21] = [
    "-O0",
    "-O3",
    "-Xnvvm=",
    "-Xptxas=",
    "-device-stack-protector=",
    "-fma=",
    "-ftz=",
    "-g",
    "-jump-table-density=",
    "-kernels-used=",
    "-lineinfo",
    "-no-cache",
    "-numba-debug",
    "-optimize-unused-variables",
    "-prec-div=",
    "-prec-sqrt=",
    "-r",
    "-split-compile-extended=",
    "-split-compile=",
    "-time",
    "-variables-used=",
];

/// Options of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Ten times the compute capability of the architecture.
    pub(crate) capability: u32,
    /// Link-time optimisation: LTO IR is an input.
    pub(crate) lto: bool,
    /// The result is PTX.
    pub(crate) ptx: bool,
    /// Adds each kernel's resource usage to the information log.
    pub(crate) verbose: bool,
    /// Register limit per thread.
    pub(crate) max_registers: Option<u32>,
    /// All options as the program gave them.
    pub(crate) given: Vec<CString>,
}

/// A refused option, with the message for the error log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) Failure, pub(crate) String);

impl Options {
    /// Reads the options.
    ///
    /// # Errors
    /// An unknown option, an unknown or missing architecture, or options that exclude each other.
    pub(crate) fn read(given: &[&CStr]) -> Result<Options, Refused> {
        let mut options =
            Options { given: given.iter().map(|&option| option.to_owned()).collect(), ..Options::default() };
        let mut architecture = None;
        for option in given {
            let option = option.to_string_lossy();
            match &*option {
                "-lto" => options.lto = true,
                "-ptx" => options.ptx = true,
                "-verbose" => options.verbose = true,
                text => {
                    if let Some(name) = text.strip_prefix("-arch=") {
                        architecture = Some(name.to_owned());
                    } else if let Some(most) = text.strip_prefix("-maxrregcount=") {
                        // The vendor's library ignores a value that is no number.
                        options.max_registers = most.parse().ok().filter(|most| *most > 0);
                    } else if !is_without_effect(text) {
                        let message = format!("unrecognized option: {text}");
                        return Err(Refused(Failure::UnrecognizedOption, message));
                    }
                }
            }
        }
        let Some(architecture) = architecture else {
            return Err(Refused(Failure::MissingArchitecture, "option -arch=sm_N is missing".to_owned()));
        };
        let (is_virtual, capability) = capability(&architecture).ok_or_else(|| {
            let message = format!("unrecognized architecture: {architecture}; it must be sm_N or compute_N");
            Refused(Failure::UnrecognizedOption, message)
        })?;
        options.capability = capability;
        let excluded = |message: &str| Err(Refused(Failure::IncompatibleOptions, message.to_owned()));
        match (options.lto, options.ptx) {
            (false, true) => excluded("-ptx requires -lto"),
            (_, false) if is_virtual => excluded("a virtual architecture requires -ptx"),
            _ => Ok(options),
        }
    }
}

fn is_without_effect(option: &str) -> bool {
    WITHOUT_EFFECT.iter().any(|known| match known.ends_with('=') {
        true => option.starts_with(known),
        false => option == *known,
    })
}

/// Ten times the compute capability of `sm_75`, `sm_90a` or `compute_75`, and true for the latter.
fn capability(architecture: &str) -> Option<(bool, u32)> {
    let (is_virtual, rest) = match architecture.strip_prefix("compute_") {
        Some(rest) => (true, rest),
        None => (false, architecture.strip_prefix("sm_")?),
    };
    let number = rest.strip_suffix(['a', 'f']).unwrap_or(rest).parse().ok()?;
    (20..1000).contains(&number).then_some((is_virtual, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_link_are_read() {
        let given = [c"-arch=sm_90a", c"-lto", c"-maxrregcount=64", c"-verbose", c"-ftz=true", c"-O3"];
        let options = Options::read(&given).unwrap();
        assert_eq!((options.capability, options.max_registers), (90, Some(64)));
        assert!(options.lto && !options.ptx && options.verbose);
        assert_eq!(options.given.len(), given.len());
    }

    #[test]
    fn wrong_options_have_the_codes_of_the_vendor() {
        for (given, failure) in [
            (&[c"-lto"][..], Failure::MissingArchitecture),
            (&[c"-arch=sm_75", c"-O7"], Failure::UnrecognizedOption),
            (&[c"-arch=sm_75", c"-g=1"], Failure::UnrecognizedOption),
            (&[c"-arch=volta"], Failure::UnrecognizedOption),
            (&[c"-arch=sm_75", c"-ptx"], Failure::IncompatibleOptions),
            (&[c"-arch=compute_75", c"-lto"], Failure::IncompatibleOptions),
        ] {
            assert_eq!(
                Options::read(given).map_err(|Refused(failure, _)| failure),
                Err(failure),
                "{given:?}"
            );
        }
    }
}
