//! Error codes with their names and texts.

use std::ffi::{CStr, c_int};

include!(concat!(env!("OUT_DIR"), "/errors.rs"));

/// Names and text of one code.
pub(crate) struct ErrorText {
    pub(crate) code: u32,
    /// The variant; `None` for success.
    pub(crate) error: Option<Error>,
    pub(crate) runtime_name: Option<&'static CStr>,
    pub(crate) driver_name: Option<&'static CStr>,
    pub(crate) text: &'static CStr,
}

/// The vendor's text for a number that is no code.
pub(crate) const UNRECOGNIZED: &CStr = c"unrecognized error code";

/// Result of API bodies.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Value of `cudaError_t`.
    pub fn code(self) -> c_int {
        self as c_int
    }

    /// Value of `CUresult`, or the nearest one for errors that the driver lacks.
    pub fn driver_code(self) -> c_int {
        if texts(self.code()).is_some_and(|texts| texts.driver_name.is_some()) {
            return self.code();
        }
        let nearest = match self {
            Error::InvalidSymbol | Error::InvalidDeviceFunction => Error::SymbolNotFound,
            Error::MissingConfiguration
            | Error::InvalidConfiguration
            | Error::InvalidPitchValue
            | Error::InvalidHostPointer
            | Error::InvalidDevicePointer
            | Error::InvalidMemcpyDirection
            | Error::InvalidChannelDescriptor
            | Error::InvalidTexture
            | Error::InvalidFilterSetting
            | Error::InvalidNormSetting
            | Error::InvalidSurface => Error::InvalidValue,
            _ => Error::Unknown,
        };
        nearest.code()
    }

    /// Error of a call that takes a kernel handle.
    pub(crate) fn of_handle(self) -> Error {
        if self == Error::InvalidDeviceFunction { Error::InvalidResourceHandle } else { self }
    }

    /// Text of the error.
    pub(crate) fn text(self) -> &'static CStr {
        texts(self.code()).map_or(c"", |texts| texts.text)
    }
}

/// Names and text of a code.
pub(crate) fn texts(code: c_int) -> Option<&'static ErrorText> {
    let code = u32::try_from(code).ok()?;
    let index = ERROR_TEXTS.binary_search_by_key(&code, |texts| texts.code).ok()?;
    ERROR_TEXTS.get(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_error_maps_to_a_driver_error() {
        assert_eq!(Error::InvalidSymbol.driver_code(), 500);
        assert_eq!(Error::InvalidPitchValue.driver_code(), 1);
        assert_eq!(Error::IllegalAddress.driver_code(), 700);
    }
}
