//! Types of values in GPU files.

/// A type of value in GPU files.
pub trait Value: Sized {
    /// Accepted words of a choice; empty for other types.
    const CHOICES: &'static [&'static str] = &[];

    /// Meaning of each word.
    const MEANINGS: &'static [&'static str] = &[];

    /// Converts a TOML value; `None` if it has the wrong type or is out of range.
    fn read(value: &toml::Value) -> Option<Self>;

    /// The value multiplied by `factor`, for larger units; `None` if out of range.
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

whole_number!(u16 u32 u64 i32);

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
