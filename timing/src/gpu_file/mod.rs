//! The format of a GPU's file: sections of keys, whose values have a unit and a source.
//!
//! A unit of the model declares its section with [`specification!`](crate::specification!). The
//! macro makes the structure, its reader from a [`Document`] and the keys for `voltsim explain`. A
//! file may start from another with `base = "NAME"` and override values. The module knows no unit
//! of the model, so every unit may name it.

pub(crate) mod capability;
pub(crate) mod change;
pub(crate) mod device_keys;
pub(crate) mod document;
mod error;
pub mod files;
pub(crate) mod quantity;
mod value;
pub(crate) mod written;

pub use document::{Document, Entry};
pub use error::{Place, SpecificationError};
pub use value::Value;
pub(crate) use written::POWER;

/// A key of a GPU's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Section: the unit's name.
    pub section: &'static str,
    /// Name within the section.
    pub name: &'static str,
    /// Meaning, as `explain` shows it.
    pub meaning: &'static str,
    /// Unit. Files may use larger ones (`KiB` for `B`).
    pub unit: &'static str,
    /// Accepted words of a choice.
    pub choices: &'static [&'static str],
    /// Meaning of each word.
    pub meanings: &'static [&'static str],
    /// Value for files without the key; `None` if every file must have it.
    pub default: Option<&'static str>,
}

/// Part of a GPU's file: the values of a unit, or the parameters of a policy. `()` is a part
/// without keys.
pub trait Section: Sized {
    /// Keys of the part.
    fn keys() -> Vec<Key>;

    /// Values as text, by key.
    fn values(&self) -> Vec<(String, String)>;

    /// Reads the values.
    ///
    /// # Errors
    /// A key is missing, or has another unit or a value of another kind.
    fn read(document: &Document) -> Result<Self, SpecificationError>;
}

impl Section for () {
    fn keys() -> Vec<Key> {
        Vec::new()
    }

    fn values(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn read(_: &Document) -> Result<(), SpecificationError> {
        Ok(())
    }
}

/// Declares a unit's section of a GPU's file: a structure whose fields have units. A field with a
/// default (`cap: u32 ["accesses"] = 4`, `replacement: Replacement ["choice"] = "lru"`) may be
/// absent from files. The field after `with` holds the parameters of the unit's policies.
///
/// ```
/// timing::specification! {
///     /// A cache.
///     pub struct ExampleSpec in "example" {
///         /// Bytes of a line.
///         line: u32 ["B"],
///         /// Request to reply.
///         latency: u32 ["cycles"],
///     }
/// }
/// let document = timing::gpu_file::Document::parse(
///     "example.toml",
///     r#"
///     [timing.example]
///     line = { value = 128, unit = "B", source = "measured" }
///     latency = { value = 28, unit = "cycles", source = "measured" }
///     "#,
/// )?;
/// assert_eq!(ExampleSpec::read(&document)?, ExampleSpec { line: 128, latency: 28 });
/// # Ok::<(), timing::gpu_file::SpecificationError>(())
/// ```
#[macro_export]
macro_rules! specification {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident in $section:literal {
            $($(#[doc = $meaning:literal])* $field:ident: $ty:ty [$unit:literal] $(= $default:literal)?,)*
        } $(with {
            $(#[doc = $group_meaning:literal])* $group:ident: $group_ty:ty,
        })?
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $($(#[doc = $meaning])* pub $field: $ty,)*
            $($(#[doc = $group_meaning])* pub $group: $group_ty,)?
        }

        impl $name {
            /// Keys of the section.
            pub const KEYS: &'static [$crate::gpu_file::Key] = &[
                $($crate::gpu_file::Key {
                    section: $section,
                    name: stringify!($field),
                    meaning: concat!($($meaning),*).trim_ascii(),
                    unit: $unit,
                    choices: <$ty as $crate::gpu_file::Value>::CHOICES,
                    meanings: <$ty as $crate::gpu_file::Value>::MEANINGS,
                    default: $crate::specification!(@first $(Some(stringify!($default)),)? None),
                },)*
            ];

            /// Keys of the section and of its policies.
            pub fn keys() -> Vec<$crate::gpu_file::Key> {
                let keys = Self::KEYS.to_vec();
                $(let keys = [keys, <$group_ty>::keys()].concat();)?
                keys
            }

            /// Values as text, by key.
            pub fn values(&self) -> Vec<(String, String)> {
                let values = vec![$((
                    concat!($section, ".", stringify!($field)).to_owned(),
                    format!("{:?}", self.$field),
                ),)*];
                $(let values = [values, self.$group.values()].concat();)?
                values
            }

            /// Reads the section.
            ///
            /// # Errors
            /// A key is missing, or its value has the wrong type or unit.
            pub fn read(
                document: &$crate::gpu_file::Document,
            ) -> Result<$name, $crate::gpu_file::SpecificationError> {
                Ok($name {
                    $($field: $crate::specification!(
                        @first $(document.get_or($section, stringify!($field), $unit, stringify!($default))?,)?
                        document.get($section, stringify!($field), $unit)?
                    ),)*
                    $($group: <$group_ty>::read(document)?,)?
                })
            }
        }

        impl $crate::gpu_file::Section for $name {
            fn keys() -> Vec<$crate::gpu_file::Key> {
                $name::keys()
            }

            fn values(&self) -> Vec<(String, String)> {
                $name::values(self)
            }

            fn read(
                document: &$crate::gpu_file::Document,
            ) -> Result<$name, $crate::gpu_file::SpecificationError> {
                $name::read(document)
            }
        }
    };
    (@first $first:expr $(, $rest:expr)?) => { $first };
}

/// Declares a choice by word in GPU files: an enumeration with a word for each variant.
///
/// ```
/// timing::choice! {
///     /// Order of service.
///     pub enum Example {
///         /// Longest wait first.
///         Oldest = "oldest",
///         /// Round robin.
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

        impl $crate::gpu_file::Value for $name {
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
