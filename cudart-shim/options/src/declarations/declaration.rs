//! The parts of a declaration, and the macro that makes a typed struct of the declarations.

use std::ffi::{OsStr, OsString};

use super::Key;
use crate::values::Wrong;

/// A command that takes options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// `voltsim run`
    Run,
    /// `voltsim resume`
    Resume,
    /// `voltsim record`
    Record,
    /// `voltsim capture`
    Capture,
    /// `voltsim coverage`
    Coverage,
    /// `voltsim trace`
    Trace,
    /// `voltsim plan`
    Plan,
    /// `voltsim time`
    Time,
    /// `voltsim sweep`
    Sweep,
    /// `voltsim cache-model`
    CacheModel,
    /// `voltsim why`
    Why,
}

/// The commands that start a program.
pub(crate) const STARTERS: &[Taker] = &[
    Taker::Run,
    Taker::Resume,
    Taker::Record,
    Taker::Capture,
    Taker::Coverage,
    Taker::Trace,
    Taker::Plan,
    Taker::CacheModel,
];

/// The commands that start a program and may time its launches.
pub(crate) const TIMERS: &[Taker] = &[Taker::Run, Taker::Resume, Taker::Trace];

/// The commands that save a run.
pub(crate) const SAVERS: &[Taker] = &[Taker::Run, Taker::Resume];

/// A section of the reference page, and a heading in help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The device, the engine and what is reported.
    Running,
    /// The timing model.
    Timing,
    /// Saving and resuming a run.
    Checkpoints,
    /// Launches that are saved, recorded or planned.
    Launches,
    /// Messages between the command and the library; in no document.
    Internal,
}

impl Section {
    /// The sections that users read, in the order of the page.
    pub const SHOWN: [Section; 4] =
        [Section::Running, Section::Timing, Section::Checkpoints, Section::Launches];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Section::Running => "Running",
            Section::Timing => "Timing",
            Section::Checkpoints => "Checkpoints",
            Section::Launches => "Launches",
            Section::Internal => "Internal",
        }
    }
}

/// The form in which the command line gives an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The option stands alone and means this value.
    Switch(&'static str),
    /// The option has a value.
    Value,
    /// The option may have a value after `=`.
    OptionalValue,
    /// The option may be given several times.
    Repeated,
}

/// The library's reaction to a variable that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMistake {
    /// The run goes on as without the variable.
    Ignore,
    /// The run goes on without this other option.
    Without(Key),
    /// The device does not start.
    Refuse,
}

/// An option, as its one declaration describes it.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The option.
    pub key: Key,
    /// Name in the value that the command hands the library.
    pub name: &'static str,
    /// Environment variable.
    pub variable: &'static str,
    /// A sentence for help, and after an empty line the rest of the description.
    pub doc: &'static str,
    /// The words that are its values, if it has no others.
    pub words: &'static [&'static str],
    /// Reads a text; gives the text as [`RunOptions`](crate::RunOptions) encodes it.
    pub check: fn(&OsStr) -> Result<OsString, Wrong>,
    /// Where the page and help list it.
    pub section: Section,
    /// Name on the command line, without dashes.
    pub option: Option<&'static str>,
    /// Letter on the command line.
    pub short: Option<char>,
    /// The value's name in help.
    pub value: &'static str,
    /// The form of its value.
    pub form: Form,
    /// The commands that take it.
    pub takers: &'static [Taker],
    /// The commands that are refused without it.
    pub required_by: &'static [Taker],
    /// One of these options must be given too.
    pub needs_one_of: &'static [Key],
    /// None of these options may be given too.
    pub excludes: &'static [Key],
    /// The option asks for timed launches unless `--mode` says otherwise.
    pub implies_timing: bool,
    /// The library's reaction to a mistake.
    pub on_mistake: OnMistake,
}

impl Declaration {
    /// The fields that most declarations leave out.
    pub(crate) const PLAIN: Declaration = Declaration {
        key: Key::device,
        name: "",
        variable: "",
        doc: "",
        words: &[],
        check: |text| Ok(text.to_owned()),
        section: Section::Running,
        option: None,
        short: None,
        value: "VALUE",
        form: Form::Value,
        takers: &[],
        required_by: &[],
        needs_one_of: &[],
        excludes: &[],
        implies_timing: false,
        on_mistake: OnMistake::Ignore,
    };

    /// The first paragraph of the description, on one line and without a full stop.
    pub fn summary(&self) -> String {
        let first = self.doc.split("\n\n").next().unwrap_or_default();
        joined(first).trim_end_matches('.').to_owned()
    }

    /// The whole description, a line a paragraph.
    pub fn description(&self) -> String {
        let paragraphs: Vec<String> = self.doc.split("\n\n").map(joined).collect();
        paragraphs.join("\n\n")
    }

    /// The option as a message names it: `--check`.
    pub fn flag(&self) -> String {
        self.option.map_or_else(|| self.variable.to_owned(), |option| format!("--{option}"))
    }

    /// The option with its value, as a remedy writes it: `--check CHECKS`.
    pub fn usage(&self) -> String {
        match self.form {
            Form::Switch(_) => self.flag(),
            Form::OptionalValue => format!("{}[={}]", self.flag(), self.value),
            Form::Value | Form::Repeated => format!("{} {}", self.flag(), self.value),
        }
    }

    /// True if the command takes the option.
    pub fn is_taken_by(&self, taker: Taker) -> bool {
        self.option.is_some() && self.takers.contains(&taker)
    }
}

/// The words of a paragraph on one line.
fn joined(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Makes [`RunOptions`](crate::RunOptions), [`Key`](crate::Key) and
/// [`DECLARATIONS`](crate::DECLARATIONS).
///
/// An entry has a doc comment, a field name, the type of its value and its variable. The body has
/// those fields of a [`Declaration`] that differ from [`Declaration::PLAIN`].
macro_rules! options {
    ($(
        $(#[doc = $doc:literal])+
        $key:ident: $type:ty = $variable:literal { $($field:ident: $value:expr),* $(,)? }
    )+) => {
        /// An option of a run.
        #[allow(non_camel_case_types, reason = "a key has the name of its field")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Key {
            $( $(#[doc = $doc])+ $key, )+
        }

        /// The options of a run. An option that is not given is `None`.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct RunOptions {
            $( $(#[doc = $doc])+ pub $key: Option<$type>, )+
        }

        /// Every option, in the order of [`Key`].
        pub static DECLARATIONS: &[Declaration] = &[$(
            Declaration {
                key: Key::$key,
                name: stringify!($key),
                variable: $variable,
                doc: concat!($($doc, "\n"),+),
                words: <$type as Value>::WORDS,
                check: |text| <$type as Value>::read(text).map(|value| value.written()),
                $($field: $value,)*
                ..Declaration::PLAIN
            },
        )+];

        impl RunOptions {
            /// Reads options. Texts that cannot be read are left out.
            pub(crate) fn read(texts: &Texts) -> RunOptions {
                RunOptions {
                    $( $key: texts.get(Key::$key).and_then(|text| <$type as Value>::read(text).ok()), )+
                }
            }

            /// Options of texts that [`Declaration::check`] has given.
            pub fn of_texts(texts: impl IntoIterator<Item = (Key, OsString)>) -> RunOptions {
                let mut all = Texts::default();
                for (key, text) in texts {
                    all.set(key, Some(text));
                }
                RunOptions::read(&all)
            }

            /// The text of an option, if the option is given.
            pub fn text(&self, key: Key) -> Option<OsString> {
                match key {
                    $( Key::$key => self.$key.as_ref().map(Value::written), )+
                }
            }

            /// Takes every option that `others` gives.
            pub fn replace_by(&mut self, others: &RunOptions) {
                $( if others.$key.is_some() { self.$key.clone_from(&others.$key); } )+
            }
        }
    };
}

pub(crate) use options;
