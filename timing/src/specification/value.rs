//! Kinds of values in a GPU's file.

/// A value that a GPU's file can hold.
pub trait Value: Sized {
    /// The words it is chosen from; none if it is no choice.
    const CHOICES: &'static [&'static str] = &[];

    /// Meaning of each of these words.
    const MEANINGS: &'static [&'static str] = &[];

    /// Reads it; nothing if the value is of another kind or out of range.
    fn read(value: &toml::Value) -> Option<Self>;

    /// The same with a unit `factor` times as large.
    #[must_use]
    fn scaled(self, factor: u64) -> Option<Self> {
        (factor == 1).then_some(self)
    }
}

macro_rules! whole_number {
    ($($ty:ty)*) => {$(
        impl Value for $ty {
            fn read(value: &toml::Value) -> Option<$ty> {
                value.as_integer()?.try_into().ok()
            }

            fn scaled(self, factor: u64) -> Option<$ty> {
                self.checked_mul(factor.try_into().ok()?)
            }
        }
    )*};
}

whole_number!(u16 u32 u64);

impl Value for bool {
    fn read(value: &toml::Value) -> Option<bool> {
        value.as_bool()
    }
}

impl Value for String {
    fn read(value: &toml::Value) -> Option<String> {
        value.as_str().map(str::to_owned)
    }
}

impl<T: Value> Value for Vec<T> {
    const CHOICES: &'static [&'static str] = T::CHOICES;
    const MEANINGS: &'static [&'static str] = T::MEANINGS;

    fn read(value: &toml::Value) -> Option<Vec<T>> {
        value.as_array()?.iter().map(T::read).collect()
    }

    fn scaled(self, factor: u64) -> Option<Vec<T>> {
        self.into_iter().map(|value| value.scaled(factor)).collect()
    }
}
