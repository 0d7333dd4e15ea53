//! Reading the options of a run from the environment.

use std::ffi::{OsStr, OsString};
use std::fmt;

use crate::declarations::{DECLARATIONS, Declaration, OnMistake, RunOptions, Texts};
use crate::encoding::{self, VARIABLE};

/// A variable that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The variable.
    pub variable: &'static str,
    /// The value.
    pub text: String,
    /// The rule that the value breaks.
    pub rule: String,
    /// The consequence: `using 16`.
    consequence: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}: {}; {}.", self.variable, self.text, self.rule, self.consequence)
    }
}

/// The options that the environment gives.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The options.
    pub options: RunOptions,
    /// Variables that cannot be read, to be told once.
    pub mistakes: Vec<Mistake>,
    /// True if a mistake keeps the device from starting.
    pub is_refused: bool,
}

impl Reading {
    /// Reads the value of the command and the variables of this process.
    ///
    /// A variable has precedence. The command removes the variables that its options replace, so a
    /// variable that is there was set for all runs, or inside of this run.
    pub fn of_environment() -> Reading {
        Reading::of(|name| std::env::var_os(name))
    }

    /// Reads the variables of this process alone, as a command does, which replaces the value of an
    /// outer run.
    pub fn of_variables() -> Reading {
        Reading::of(|name| if name == VARIABLE { None } else { std::env::var_os(name) })
    }

    /// [`Reading::of_environment`] of an environment.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Reading {
        let mut texts = Texts::default();
        let mut reading = Reading::default();
        if let Some(value) = variable(VARIABLE)
            && let Err(rule) = encoding::decode(&value, &mut texts)
        {
            reading.is_refused = true;
            reading.mistakes.push(Mistake {
                variable: VARIABLE,
                text: value.to_string_lossy().into_owned(),
                rule,
                consequence: "the device does not start".to_owned(),
            });
        }
        add_variables(&mut texts, variable);
        for declaration in DECLARATIONS {
            reading.check(declaration, &mut texts);
        }
        reading.options = RunOptions::read(&texts);
        reading
    }

    /// Checks the text of an option, and notes its mistake and what follows from it.
    fn check(&mut self, declaration: &Declaration, texts: &mut Texts) {
        let Some(text) = texts.get(declaration.key).map(OsStr::to_owned) else { return };
        let Err(wrong) = (declaration.check)(&text) else { return };
        let consequence = match (&wrong.instead, declaration.on_mistake) {
            (Some(instead), _) => format!("using {}", instead.to_string_lossy()),
            (None, OnMistake::Ignore) => "the variable is ignored".to_owned(),
            (None, OnMistake::Without(other)) => {
                texts.set(other, None);
                format!("{} is ignored", other.declaration().variable)
            }
            (None, OnMistake::Refuse) => {
                self.is_refused = true;
                "the device does not start".to_owned()
            }
        };
        texts.set(declaration.key, wrong.instead);
        let text = text.to_string_lossy().into_owned();
        let rule = wrong.rule.trim_end_matches('.').to_owned();
        self.mistakes.push(Mistake { variable: declaration.variable, text, rule, consequence });
    }
}

/// Takes texts from variables; an empty variable is no option.
fn add_variables(texts: &mut Texts, variable: impl Fn(&str) -> Option<OsString>) {
    for declaration in DECLARATIONS {
        if let Some(text) = variable(declaration.variable).filter(|text| !text.is_empty()) {
            texts.set(declaration.key, Some(text));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::values::Mode;

    fn reading(variables: &[(&str, &str)]) -> Reading {
        Reading::of(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, text)| text.into()))
    }

    #[test]
    fn mistake_names_variable_value_rule_and_consequence() {
        let read = reading(&[("VOLTSIM_DEVICES", "99")]);
        assert_eq!(read.options.devices.map(|devices| devices.get()), Some(16));
        assert_eq!(read.mistakes[0].to_string(), "VOLTSIM_DEVICES=99: must be 1 to 16; using 16.");
        let read = reading(&[("VOLTSIM_THREADS", "many")]);
        let told = "VOLTSIM_THREADS=many: must be a whole number; the variable is ignored.";
        assert_eq!(read.mistakes[0].to_string(), told);
        assert!(!read.is_refused && read.options.threads.is_none());
    }

    #[test]
    fn mode_that_cannot_be_read_keeps_the_device_from_starting() {
        let read = reading(&[("VOLTSIM_MODE", "detaild")]);
        assert!(read.is_refused && read.mistakes[0].to_string().contains("functional or detailed"));
    }

    #[test]
    fn selection_that_cannot_be_read_captures_nothing() {
        let read = reading(&[("VOLTSIM_CAPTURE", "folder"), ("VOLTSIM_CAPTURE_ONLY", "launch=a")]);
        assert_eq!(read.options.capture, None);
        assert!(read.mistakes[0].to_string().ends_with("; VOLTSIM_CAPTURE is ignored."));
    }

    #[test]
    fn variable_set_inside_of_a_run_replaces_the_value() {
        let value = RunOptions { threads: Some(4), mode: Some(Mode::Detailed), ..RunOptions::default() };
        let value = value.encode().into_string().unwrap();
        let read = reading(&[(VARIABLE, &value), ("VOLTSIM_THREADS", "2")]).options;
        assert_eq!((read.threads, read.mode), (Some(2), Some(Mode::Detailed)));
    }

    #[test]
    fn empty_variable_is_no_option() {
        assert_eq!(reading(&[("VOLTSIM_GPU", "")]).options, RunOptions::default());
    }

    #[test]
    fn value_of_another_version_keeps_the_device_from_starting() {
        let read = reading(&[(VARIABLE, "9;threads=2")]);
        assert!(read.is_refused && read.mistakes[0].rule.contains("version"), "{:?}", read.mistakes);
    }
}
