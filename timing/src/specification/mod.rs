//! What a GPU is, as data: each unit's specification, read from a file where every value has its unit and its source.
//!
//! A unit declares its part with [`specification!`]; that makes the structure, what reads it from a [`Document`], and the
//! list of its keys for `voltsim explain`. A file may start from another one with `base = "NAME"` and change what differs.

mod document;
mod error;
pub mod gpu;
mod quantity;
mod value;
mod written;

pub use document::{Document, Entry};
pub use error::{Place, SpecificationError};
pub use gpu::GpuSpec;
pub use value::Value;

/// A key of a GPU's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Section, named as the unit.
    pub section: &'static str,
    /// Name within the section.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Its unit; files may use larger ones (`KiB` where this is `B`).
    pub unit: &'static str,
    /// What may stand there, for keys that are a choice.
    pub choices: &'static [&'static str],
    /// Meaning of each choice.
    pub meanings: &'static [&'static str],
    /// The value of files without the key; nothing if every file needs the key.
    pub default: Option<&'static str>,
}

/// Declares a unit's part of a GPU's file: a structure, each field with its unit, and where files may leave the key out
/// with the value that then holds (`cap: u32 ["accesses"] = 4`).
///
/// ```
/// timing::specification! {
///     /// A cache.
///     pub struct ExampleSpec in "example" {
///         /// Bytes of a line.
///         line: u32 ["B"],
///         /// From the request to the answer.
///         latency: u32 ["cycles"],
///     }
/// }
/// let document = timing::specification::Document::parse(
///     "example.toml",
///     r#"
///     [example]
///     line = { value = 128, unit = "B", source = "measured" }
///     latency = { value = 28, unit = "cycles", source = "measured" }
///     "#,
/// )?;
/// assert_eq!(ExampleSpec::read(&document)?, ExampleSpec { line: 128, latency: 28 });
/// # Ok::<(), timing::specification::SpecificationError>(())
/// ```
#[macro_export]
macro_rules! specification {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident in $section:literal {
            $($(#[doc = $meaning:literal])* $field:ident: $ty:ty [$unit:literal] $(= $default:literal)?,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $($(#[doc = $meaning])* pub $field: $ty,)*
        }

        impl $name {
            /// The section's name in a GPU's file.
            pub const SECTION: &'static str = $section;

            /// The keys of its section.
            pub const KEYS: &'static [$crate::specification::Key] = &[
                $($crate::specification::Key {
                    section: $section,
                    name: stringify!($field),
                    meaning: concat!($($meaning),*).trim_ascii(),
                    unit: $unit,
                    choices: <$ty as $crate::specification::Value>::CHOICES,
                    meanings: <$ty as $crate::specification::Value>::MEANINGS,
                    default: $crate::specification!(@first $(Some(stringify!($default)),)? None),
                },)*
            ];

            /// Its values as text, by key.
            pub fn values(&self) -> Vec<(String, String)> {
                vec![$((
                    concat!($section, ".", stringify!($field)).to_owned(),
                    format!("{:?}", self.$field),
                ),)*]
            }

            /// Reads the section.
            ///
            /// # Errors
            /// A key that is missing, or has another unit or a value of another kind.
            pub fn read(
                document: &$crate::specification::Document,
            ) -> Result<$name, $crate::specification::SpecificationError> {
                Ok($name { $($field: $crate::specification!(
                    @first $(document.get_or($section, stringify!($field), $unit, $default)?,)?
                    document.get($section, stringify!($field), $unit)?
                ),)* })
            }
        }
    };
    (@first $first:expr $(, $rest:expr)?) => { $first };
}

/// Declares a choice that a GPU's file names: an enumeration with a name for each variant.
///
/// ```
/// timing::choice! {
///     /// Who goes first.
///     pub enum Example {
///         /// The one that waits longest.
///         Oldest = "oldest",
///         /// Each in turn.
///         RoundRobin = "round-robin",
///     }
/// }
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $about:literal])*
        pub enum $name:ident {
            $($(#[doc = $meaning:literal])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[doc = $meaning])* $variant,)*
        }

        impl $crate::specification::Value for $name {
            const CHOICES: &'static [&'static str] = &[$($word),*];
            const MEANINGS: &'static [&'static str] = &[$(concat!($($meaning),*).trim_ascii()),*];

            fn read(value: &toml::Value) -> Option<$name> {
                match value.as_str()? {
                    $($word => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
