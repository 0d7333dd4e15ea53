//! The table of error codes, and the Rust enumeration made from it.

use crate::TableError;
use std::fmt::Write as _;

const TABLE: &str = include_str!("../errors.tsv");

/// One code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// Value of `cudaError_t` and `CUresult`.
    pub code: u32,
    /// `cudaErrorInvalidValue`; `None` where only the driver has the code.
    pub runtime_name: Option<&'static str>,
    /// `CUDA_ERROR_INVALID_VALUE`; `None` where only the runtime has the code.
    pub driver_name: Option<&'static str>,
    /// `invalid argument`.
    pub text: &'static str,
}

impl ErrorCode {
    /// Name of the Rust variant: `InvalidValue`.
    pub fn variant(&self) -> String {
        match (self.runtime_name, self.driver_name) {
            (Some(name), _) => name.trim_start_matches("cudaError").trim_start_matches("cuda").to_owned(),
            (None, Some(name)) => {
                name.trim_start_matches("CUDA_ERROR_").split('_').map(capitalised).collect()
            }
            (None, None) => format!("Code{}", self.code),
        }
    }
}

pub(crate) fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
    first.to_uppercase() + &rest.to_lowercase()
}

/// Every code, ascending.
pub fn errors() -> Result<Vec<ErrorCode>, TableError> {
    let mut codes = Vec::new();
    for (index, line) in TABLE.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let error = |message| TableError { table: "errors.tsv", line: index + 1, message };
        let fields: Vec<&'static str> = line.split('\t').collect();
        let [code, runtime, driver, text] = fields[..] else {
            return Err(error(format!("{} fields instead of 4", fields.len())));
        };
        let code = code.parse().map_err(|_| error(format!("`{code}` is not a code")))?;
        let name = |name| (name != "-").then_some(name);
        codes.push(ErrorCode { code, runtime_name: name(runtime), driver_name: name(driver), text });
    }
    Ok(codes)
}

/// Source for `include!` in the core: `enum Error` without success, and `ERROR_TEXTS` with all
/// codes.
pub fn generate() -> Result<String, TableError> {
    let codes = errors()?;
    let mut text = String::from(
        "/// What a CUDA call can fail with; the value is the one of `cudaError_t`.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[allow(dead_code)]\n#[repr(u32)]\npub enum Error {\n",
    );
    for error in codes.iter().filter(|error| error.code != 0) {
        let _ = writeln!(text, "/// {}.\n{} = {},", error.text, error.variant(), error.code);
    }
    let _ = writeln!(text, "}}\npub(crate) static ERROR_TEXTS: [ErrorText; {}] = [", codes.len());
    let optional = |name: Option<&str>| name.map_or("None".to_owned(), |name| format!("Some(c{name:?})"));
    for error in &codes {
        let _ = writeln!(
            text,
            "ErrorText {{ code: {}, error: {}, runtime_name: {}, driver_name: {}, text: c{:?} }},",
            error.code,
            if error.code == 0 { "None".to_owned() } else { format!("Some(Error::{})", error.variant()) },
            optional(error.runtime_name),
            optional(error.driver_name),
            error.text,
        );
    }
    text.push_str("];\n");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_variants_are_distinct() {
        let codes = errors().unwrap_or_default();
        assert!(codes.len() > 100);
        assert!(codes.windows(2).all(|pair| pair[0].code < pair[1].code));
        let variants: std::collections::HashSet<_> = codes.iter().map(ErrorCode::variant).collect();
        assert_eq!(variants.len(), codes.len());
    }
}
