//! The options of a run on the command line, made of their declarations.

use std::ffi::{OsStr, OsString};
use std::marker::PhantomData;
use std::process::Command;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches};
use run_options::{DECLARATIONS, Declaration, Form, Key, Reading, RunOptions, Taker, VARIABLE, rules};

/// Identifier of the argument `--profile`.
const PROFILE: &str = "profile";

/// A command that takes options of a run.
pub(crate) trait Taking {
    /// The command.
    const TAKER: Taker;
    /// True if the command starts a program.
    const STARTS: bool = true;
}

/// Marks of the commands.
pub(crate) mod taking {
    use super::{Taker, Taking};

    macro_rules! taking {
        ($($name:ident $($starts:literal)?),+) => {$(
            #[doc = concat!("`voltsim ", stringify!($name), "`.")]
            pub(crate) struct $name;

            impl Taking for $name {
                const TAKER: Taker = Taker::$name;
                $(const STARTS: bool = $starts;)?
            }
        )+};
    }

    taking!(Run, Resume, Record, Capture, Coverage, Trace, Plan, Time false, Sweep false, CacheModel, Why);
}

/// The options of a run that a command was given.
pub(crate) struct Given<T> {
    /// The options.
    pub(crate) options: RunOptions,
    /// The environment in which the program runs, by name.
    pub(crate) profile: Option<String>,
    taker: PhantomData<T>,
}

impl<T: Taking> clap::Args for Given<T> {
    fn augment_args(command: clap::Command) -> clap::Command {
        let profile = Arg::new(PROFILE)
            .long(PROFILE)
            .value_name("NAME")
            .help("Run in the environment that `voltsim setup NAME` has made in its usual place")
            .help_heading("Running");
        let taken = DECLARATIONS.iter().filter(|declaration| declaration.is_taken_by(T::TAKER));
        command.args(T::STARTS.then_some(profile)).args(taken.map(argument))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl<T: Taking> clap::FromArgMatches for Given<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let taken = DECLARATIONS.iter().filter(|declaration| declaration.is_taken_by(T::TAKER));
        let texts = taken.filter_map(|declaration| Some((declaration.key, text(declaration, matches)?)));
        let options = RunOptions::of_texts(texts);
        let variables = Reading::of_variables().options;
        let is_option = |key: Key| options.text(key).is_some();
        rules::check(T::TAKER, is_option, |key| is_option(key) || variables.text(key).is_some()).map_err(
            |broken| {
                let message = format!("{broken}\n  remedy: {}\n", broken.remedy());
                clap::Error::raw(ErrorKind::ArgumentConflict, message)
            },
        )?;
        let profile = T::STARTS.then(|| matches.get_one::<String>(PROFILE).cloned()).flatten();
        Ok(Given { options, profile, taker: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The argument of a declaration.
fn argument(declaration: &'static Declaration) -> Arg {
    let argument = Arg::new(declaration.name)
        .help_heading(declaration.section.title())
        .help(declaration.summary())
        .long_help(declaration.description().trim_end_matches('.').to_owned());
    let argument = declaration.option.into_iter().fold(argument, Arg::long);
    let argument = declaration.short.into_iter().fold(argument, Arg::short);
    if let Form::Switch(_) = declaration.form {
        return argument.action(ArgAction::SetTrue);
    }
    let argument = argument.value_name(declaration.value).value_parser(Checked(declaration));
    match declaration.form {
        Form::Repeated => argument.action(ArgAction::Append),
        Form::OptionalValue => argument.num_args(0..=1).require_equals(true).default_missing_value(""),
        Form::Value | Form::Switch(_) => argument,
    }
}

/// The text of an option that was given; values of a repeated one stand on lines of their own.
fn text(declaration: &Declaration, matches: &ArgMatches) -> Option<OsString> {
    if let Form::Switch(value) = declaration.form {
        return matches.get_flag(declaration.name).then(|| value.into());
    }
    let mut values = matches.get_many::<OsString>(declaration.name)?.cloned();
    let mut text = values.next()?;
    for value in values {
        text.push("\n");
        text.push(value);
    }
    Some(text)
}

/// Reads a value as its declaration says.
#[derive(Clone)]
struct Checked(&'static Declaration);

impl TypedValueParser for Checked {
    type Value = OsString;

    fn parse_ref(
        &self,
        _command: &clap::Command,
        _argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<OsString, clap::Error> {
        (self.0.check)(value).map_err(|wrong| {
            let (flag, value) = (self.0.flag(), value.to_string_lossy());
            clap::Error::raw(ErrorKind::ValueValidation, format!("{flag}={value}: {}\n", wrong.rule))
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = self.0.words.iter().map(|word| PossibleValue::new(*word));
        (!self.0.words.is_empty()).then(|| Box::new(words) as Box<dyn Iterator<Item = PossibleValue>>)
    }
}

/// The options of a run, with variables in place of options that are not given. Mistakes in
/// variables are the library's to tell.
pub(crate) fn with_variables(options: &RunOptions) -> RunOptions {
    let mut all = Reading::of_variables().options;
    all.replace_by(options);
    all
}

/// Hands the options to the libraries of a command's program. The options replace variables, and
/// those of an outer run.
pub(crate) fn hand_over(options: &RunOptions, command: &mut Command) {
    for declaration in DECLARATIONS {
        if options.text(declaration.key).is_some() {
            command.env_remove(declaration.variable);
        }
    }
    command.env(VARIABLE, options.encode());
}
