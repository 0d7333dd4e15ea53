//! The types of options' values: how each is read, what is wrong with a text, and how it is
//! written.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use functional::device::Tier;
use functional::host::Level;
use functional::sanitizer::Checks;
use launch_capture::{Selection, UntilStable, WarmUp};
use saved_run::Point;

/// The fault of a text that is no value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The rule that the text breaks: `must be 1 to 16`.
    pub rule: String,
    /// The value that the library uses instead, if not the usual one.
    pub instead: Option<OsString>,
}

impl Wrong {
    /// A broken rule.
    pub fn new(rule: impl Into<String>) -> Wrong {
        Wrong { rule: rule.into(), instead: None }
    }
}

/// A value of an option.
pub trait Value: Sized {
    /// The words that are its values, if it has no others.
    const WORDS: &'static [&'static str] = &[];

    /// Reads a text.
    ///
    /// # Errors
    /// The text is no such value.
    fn read(text: &OsStr) -> Result<Self, Wrong>;

    /// A text that [`Value::read`] reads as this value.
    fn written(&self) -> OsString;
}

fn utf8(text: &OsStr) -> Result<&str, Wrong> {
    text.to_str().ok_or_else(|| Wrong::new("must be text in UTF-8"))
}

impl Value for PathBuf {
    fn read(text: &OsStr) -> Result<PathBuf, Wrong> {
        Ok(PathBuf::from(text))
    }

    fn written(&self) -> OsString {
        self.clone().into_os_string()
    }
}

impl Value for String {
    fn read(text: &OsStr) -> Result<String, Wrong> {
        utf8(text).map(str::to_owned)
    }

    fn written(&self) -> OsString {
        self.into()
    }
}

impl Value for u32 {
    fn read(text: &OsStr) -> Result<u32, Wrong> {
        utf8(text)?.trim().parse().map_err(|_| Wrong::new("must be a whole number"))
    }

    fn written(&self) -> OsString {
        self.to_string().into()
    }
}

impl Value for bool {
    fn read(text: &OsStr) -> Result<bool, Wrong> {
        match utf8(text)? {
            "1" | "on" | "true" | "yes" => Ok(true),
            "0" | "off" | "false" | "no" => Ok(false),
            _ => Err(Wrong::new("must be 1 or 0")),
        }
    }

    fn written(&self) -> OsString {
        if *self { "1" } else { "0" }.into()
    }
}

impl Value for NonZero<u64> {
    fn read(text: &OsStr) -> Result<NonZero<u64>, Wrong> {
        utf8(text)?.trim().parse().map_err(|_| Wrong::new("must be a whole number, 1 or more"))
    }

    fn written(&self) -> OsString {
        self.to_string().into()
    }
}

/// Length of a point of a time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesInterval {
    /// By the length of the launch.
    Auto,
    /// Core cycles.
    Cycles(NonZero<u64>),
}

impl Value for SeriesInterval {
    fn read(text: &OsStr) -> Result<SeriesInterval, Wrong> {
        match utf8(text)?.trim() {
            "auto" => Ok(SeriesInterval::Auto),
            cycles => match cycles.parse() {
                Ok(cycles) => Ok(SeriesInterval::Cycles(cycles)),
                Err(_) => Err(Wrong::new("must be auto, or a whole number of core cycles, 1 or more")),
            },
        }
    }

    fn written(&self) -> OsString {
        match self {
            SeriesInterval::Auto => "auto".into(),
            SeriesInterval::Cycles(cycles) => cycles.to_string().into(),
        }
    }
}

/// The most devices that a program finds.
pub const MAX_DEVICES: u32 = 16;

/// A whole number from `LOW` to `HIGH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within<const LOW: u32, const HIGH: u32>(u32);

impl<const LOW: u32, const HIGH: u32> Within<LOW, HIGH> {
    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<const LOW: u32, const HIGH: u32> Value for Within<LOW, HIGH> {
    fn read(text: &OsStr) -> Result<Self, Wrong> {
        let rule = if HIGH == u32::MAX {
            format!("must be a whole number, {LOW} or more")
        } else {
            format!("must be {LOW} to {HIGH}")
        };
        let number = utf8(text)?.trim().parse::<u64>().map_err(|_| Wrong::new(rule.clone()))?;
        match u32::try_from(number).unwrap_or(u32::MAX) {
            number if (LOW..=HIGH).contains(&number) => Ok(Within(number)),
            number => Err(Wrong { rule, instead: Some(number.clamp(LOW, HIGH).to_string().into()) }),
        }
    }

    fn written(&self) -> OsString {
        self.0.to_string().into()
    }
}

/// A time in whole seconds, written with or without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub u32);

/// Units of time, and their seconds.
const TIMES: &[(&str, u32)] =
    &[("", 1), ("s", 1), ("sec", 1), ("m", 60), ("min", 60), ("h", 3600), ("hours", 3600), ("d", 86400)];

impl Value for Seconds {
    fn read(text: &OsStr) -> Result<Seconds, Wrong> {
        let text = utf8(text)?.trim();
        let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = unit.trim().to_ascii_lowercase();
        let factor = TIMES.iter().find(|(known, _)| *known == unit).map(|(_, factor)| *factor);
        let seconds = factor.and_then(|factor| number.parse::<u32>().ok()?.checked_mul(factor));
        let rule = "must be seconds, or a time with a unit: 90, 90s, 2min, 1h";
        seconds.map(Seconds).ok_or_else(|| Wrong::new(rule))
    }

    fn written(&self) -> OsString {
        self.0.to_string().into()
    }
}

/// How launches are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Launches are executed without time.
    Functional,
    /// Launches are timed, every unit in cycles.
    Detailed,
    /// Launches are timed with an analytical arithmetic pipeline.
    HybridAlu,
    /// Launches are timed with an analytical arithmetic pipeline and analytical memory.
    HybridMemory,
}

impl Mode {
    /// True if launches are timed.
    pub fn is_timed(self) -> bool {
        self != Mode::Functional
    }

    /// Name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Functional => "functional",
            Mode::Detailed => "detailed",
            Mode::HybridAlu => "hybrid-alu",
            Mode::HybridMemory => "hybrid-memory",
        }
    }
}

/// Mathematical libraries that a program loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Libraries {
    /// The installed ones.
    Vendor,
    /// Voltsim's.
    StandIns,
}

/// The files that `voltsim record` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFormat {
    /// Compact files with all that the timing model can use.
    Recording,
    /// Text traces that Accel-Sim reads.
    Accelsim,
}

/// A value that is one of a few words.
macro_rules! words {
    ($type:ty: $first:literal = $first_value:path, $($word:literal = $value:path),+) => {
        impl Value for $type {
            const WORDS: &'static [&'static str] = &[$first $(, $word)+];

            fn read(text: &OsStr) -> Result<Self, Wrong> {
                match utf8(text)? {
                    $first => Ok($first_value),
                    $( $word => Ok($value), )+
                    _ => Err(Wrong::new(concat!("must be ", $first $(, " or ", $word)+))),
                }
            }

            fn written(&self) -> OsString {
                match self {
                    $first_value => $first.into(),
                    $( $value => $word.into(), )+
                }
            }
        }
    };
}

words!(
    Mode: "functional" = Mode::Functional,
    "detailed" = Mode::Detailed,
    "hybrid-alu" = Mode::HybridAlu,
    "hybrid-memory" = Mode::HybridMemory
);
words!(RecordFormat: "recording" = RecordFormat::Recording, "accelsim" = RecordFormat::Accelsim);
words!(Libraries: "vendor" = Libraries::Vendor, "stand-ins" = Libraries::StandIns);
words!(Tier: "interpreter" = Tier::Interpreter, "native" = Tier::Native, "auto" = Tier::Auto);
words!(Level: "baseline" = Level::Baseline, "avx2" = Level::Avx2, "avx512" = Level::Avx512);

/// The place of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Standard error.
    Stderr,
    /// A file, which grows.
    File(PathBuf),
}

impl Value for LogTarget {
    fn read(text: &OsStr) -> Result<LogTarget, Wrong> {
        Ok(if text == "stderr" { LogTarget::Stderr } else { LogTarget::File(PathBuf::from(text)) })
    }

    fn written(&self) -> OsString {
        match self {
            LogTarget::Stderr => "stderr".into(),
            LogTarget::File(file) => file.written(),
        }
    }
}

/// The cache of decoded functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheFolder {
    /// Nothing is kept.
    Off,
    /// The functions are kept in this folder.
    Folder(PathBuf),
}

impl Value for CacheFolder {
    fn read(text: &OsStr) -> Result<CacheFolder, Wrong> {
        Ok(if text == "off" { CacheFolder::Off } else { CacheFolder::Folder(PathBuf::from(text)) })
    }

    fn written(&self) -> OsString {
        match self {
            CacheFolder::Off => "off".into(),
            CacheFolder::Folder(folder) => folder.written(),
        }
    }
}

/// Changes of a GPU's values, `section.key=value` each. A variable has one a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(pub Vec<String>);

impl Value for Changes {
    fn read(text: &OsStr) -> Result<Changes, Wrong> {
        let changes = Changes(utf8(text)?.lines().map(str::to_owned).collect());
        changes.check().map(|()| changes)
    }

    fn written(&self) -> OsString {
        self.0.join("\n").into()
    }
}

/// Runs of launch numbers: `2..3,17`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchNumbers(pub Vec<RangeInclusive<u64>>);

impl Value for LaunchNumbers {
    fn read(text: &OsStr) -> Result<LaunchNumbers, Wrong> {
        let run = |run: &str| {
            let (first, last) = run.split_once("..").unwrap_or((run, run));
            Some(first.parse().ok()?..=last.parse().ok()?)
        };
        let runs = utf8(text)?.split(',').filter(|text| !text.is_empty()).map(run).collect::<Option<_>>();
        runs.map(LaunchNumbers).ok_or_else(|| Wrong::new("must be numbers of launches: 2..3,17"))
    }

    fn written(&self) -> OsString {
        let runs = self.0.iter().map(|run| format!("{}..{}", run.start(), run.end()));
        runs.collect::<Vec<_>>().join(",").into()
    }
}

/// A value with the text that the user wrote, which messages repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<T> {
    text: String,
    /// The value.
    pub value: T,
}

impl<T> Written<T> {
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl<T: FromStr<Err: fmt::Display>> FromStr for Written<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        Ok(Written { text: text.to_owned(), value: text.parse()? })
    }
}

impl<T: FromStr<Err: fmt::Display>> Value for Written<T> {
    fn read(text: &OsStr) -> Result<Self, Wrong> {
        utf8(text)?.parse().map_err(|error: T::Err| Wrong::new(error.to_string()))
    }

    fn written(&self) -> OsString {
        self.text.clone().into()
    }
}

/// A selection of whole launches: one without `ctas=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeLaunches(pub Selection);

impl FromStr for WholeLaunches {
    type Err = launch_capture::BadSelection;

    fn from_str(text: &str) -> Result<WholeLaunches, Self::Err> {
        text.parse::<Selection>()?.of_whole_launches().map(WholeLaunches)
    }
}

/// A value that is read and written as its own text.
macro_rules! as_text {
    ($($type:ty),+) => {$(
        impl Value for $type {
            fn read(text: &OsStr) -> Result<Self, Wrong> {
                utf8(text)?.parse().map_err(|error| Wrong::new(format!("{error}")))
            }

            fn written(&self) -> OsString {
                self.to_string().into()
            }
        }
    )+};
}

as_text!(Checks, Point, UntilStable);

/// A selection of launches, or of CTAs of launches.
pub type SelectionText = Written<Selection>;
/// A selection of whole launches.
pub type WholeLaunchesText = Written<WholeLaunches>;
/// Launches and CTAs that warm caches.
pub type WarmUpText = Written<WarmUp>;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read<T: Value>(text: &str) -> Result<T, Wrong> {
        T::read(OsStr::new(text))
    }

    #[test]
    fn number_out_of_range_names_the_nearest() {
        let wrong = read::<Within<1, 16>>("99").unwrap_err();
        assert_eq!((wrong.rule.as_str(), wrong.instead), ("must be 1 to 16", Some("16".into())));
        assert_eq!(read::<Within<1, 16>>("0").unwrap_err().instead, Some("1".into()));
        assert_eq!(read::<Within<1, 16>>("many").unwrap_err().instead, None);
        assert_eq!(read::<Within<1, 16>>("16").unwrap().get(), 16);
    }

    #[test]
    fn times_have_units() {
        let times = ["90", "90s", "2 min", "1h"].map(|text| read::<Seconds>(text).unwrap().0);
        assert_eq!(times, [90, 90, 120, 3600]);
        for text in ["", "soon", "-1", "2 fortnights", "99999999999"] {
            assert!(read::<Seconds>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn selection_of_ctas_is_no_selection_of_whole_launches() {
        assert!(read::<SelectionText>("launch=1,ctas=0..3").is_ok());
        assert!(read::<WholeLaunchesText>("launch=1,ctas=0..3").is_err());
        assert_eq!(read::<WholeLaunchesText>("launch=1").unwrap().text(), "launch=1");
    }

    #[test]
    fn words_of_a_mode_are_named() {
        assert_eq!(
            read::<Mode>("detialed").unwrap_err().rule,
            "must be functional or detailed or hybrid-alu or hybrid-memory"
        );
    }
}
