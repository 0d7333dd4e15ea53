//! Options that need or exclude each other.

use std::fmt;

use crate::declarations::{DECLARATIONS, Key, Taker};

/// A rule that the options of a command break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The command needs an option.
    Required {
        /// The option.
        option: Key,
    },
    /// An option needs one of others.
    Needs {
        /// The option that is given.
        option: Key,
        /// The options of which one is missing.
        one_of: &'static [Key],
    },
    /// An option excludes another.
    Excludes {
        /// The option that is given.
        option: Key,
        /// The other option, which is given too.
        other: Key,
    },
}

impl Broken {
    /// The user's way out, as an imperative sentence without a full stop.
    pub fn remedy(&self) -> String {
        match self {
            Broken::Required { option } => format!("add {}", option.declaration().usage()),
            Broken::Needs { one_of, .. } => {
                let usages: Vec<String> = one_of.iter().map(|key| key.declaration().usage()).collect();
                format!("add {}", usages.join(", or "))
            }
            Broken::Excludes { .. } => "leave one of them out".to_owned(),
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Required { option } => write!(f, "{} is missing", option.declaration().flag()),
            Broken::Needs { option, one_of } => {
                let flags: Vec<String> = one_of.iter().map(|key| key.declaration().flag()).collect();
                write!(f, "{} needs {}", option.declaration().flag(), flags.join(" or "))
            }
            Broken::Excludes { option, other } => {
                let [option, other] = [option, other].map(|key| key.declaration().flag());
                write!(f, "{option} and {other} exclude each other")
            }
        }
    }
}

/// Checks the options of a command. `is_option` says which were given as options, `is_given` which
/// at all, as options or variables.
///
/// # Errors
/// The first rule that they break.
pub fn check(
    taker: Taker,
    is_option: impl Fn(Key) -> bool,
    is_given: impl Fn(Key) -> bool,
) -> Result<(), Broken> {
    for declaration in DECLARATIONS.iter().filter(|declaration| declaration.is_taken_by(taker)) {
        let option = declaration.key;
        if !is_option(option) {
            if declaration.required_by.contains(&taker) {
                return Err(Broken::Required { option });
            }
            continue;
        }
        let one_of = declaration.needs_one_of;
        if !one_of.is_empty() && !one_of.iter().any(|key| is_given(*key)) {
            return Err(Broken::Needs { option, one_of });
        }
        if let Some(other) = declaration.excludes.iter().copied().find(|key| is_given(*key)) {
            return Err(Broken::Excludes { option, other });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn broken(taker: Taker, options: &[Key], variables: &[Key]) -> Option<Broken> {
        let is_given = |key| options.contains(&key) || variables.contains(&key);
        check(taker, |key| options.contains(&key), is_given).err()
    }

    #[test]
    fn option_names_the_option_that_it_needs() {
        let told = broken(Taker::Run, &[Key::check_report], &[]).unwrap();
        assert_eq!(told.to_string(), "--check-report needs --check");
        assert_eq!(told.remedy(), "add --check CHECKS");
        assert_eq!(broken(Taker::Run, &[Key::check_report], &[Key::check]), None);
        let told = broken(Taker::Run, &[Key::checkpoint_file], &[]).unwrap();
        assert_eq!(told.to_string(), "--output needs --checkpoint or --checkpoint-every");
    }

    #[test]
    fn options_that_exclude_each_other_are_named() {
        let told = broken(Taker::Run, &[Key::check, Key::checkpoint, Key::checkpoint_file], &[]).unwrap();
        assert_eq!(told.to_string(), "--check and --checkpoint exclude each other");
        let told =
            broken(Taker::Resume, &[Key::checkpoint, Key::checkpoint_every, Key::checkpoint_file], &[]);
        assert!(matches!(told, Some(Broken::Excludes { .. })), "{told:?}");
    }

    #[test]
    fn recording_needs_its_folder() {
        assert_eq!(broken(Taker::Record, &[], &[]), Some(Broken::Required { option: Key::record }));
        assert_eq!(broken(Taker::Run, &[], &[]), None);
    }

    #[test]
    fn no_command_has_an_option_twice() {
        for taker in [Taker::Run, Taker::Resume, Taker::Record, Taker::Capture, Taker::Coverage, Taker::Plan]
        {
            let taken = DECLARATIONS.iter().filter(|declaration| declaration.is_taken_by(taker));
            let mut names: Vec<_> = taken.map(|declaration| declaration.option).collect();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{taker:?}");
        }
    }
}
