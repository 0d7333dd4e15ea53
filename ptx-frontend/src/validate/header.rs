//! Directives at a module's start: `.version`, `.target`, `.address_size`.

use crate::isa::{NEWEST_VERSION, first_version, is_version};
use crate::parse::Outline;

/// Options that may follow the architecture in `.target`.
const OPTIONS: [&str; 4] = ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];

/// Reason for which a module with this header is unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Unknown PTX version.
    #[error("Unsupported .version {}.{}; current version is '{}.{}'", found.0, found.1, NEWEST_VERSION.0, NEWEST_VERSION.1)]
    Version {
        /// Major and minor.
        found: (u32, u32),
    },
    /// An architecture or option that is not known.
    #[error("Unsupported .target '{name}'")]
    Target {
        /// As written.
        name: String,
    },
    /// An architecture that is younger than the version of PTX.
    #[error("PTX .version {}.{} does not support .target {name}, which requires PTX {}.{}", found.0, found.1, first.0, first.1)]
    TooOld {
        /// Target as written.
        name: String,
        /// Version of the module.
        found: (u32, u32),
        /// First version with the target.
        first: (u32, u32),
    },
    /// 32-bit addresses.
    #[error(
        ".address_size {size} is not supported: device code has 64-bit addresses; compile the program for 64 bits (-m64)"
    )]
    AddressSize {
        /// Size as written.
        size: u32,
    },
}

/// Checks the directives at a module's start; the error includes an offset in the text. Missing directives
/// are allowed.
pub fn header(outline: &Outline, text: &str) -> Result<(), (u32, HeaderError)> {
    let place_of = |directive: &str| text.find(directive).and_then(|at| u32::try_from(at).ok()).unwrap_or(0);
    if let Some(found) = outline.version.filter(|version| !is_version(*version)) {
        return Err((place_of(".version"), HeaderError::Version { found }));
    }
    if let Some(span) = outline.target {
        target(span.of(text), outline.version).map_err(|error| (span.start, error))?;
    }
    match outline.address_size {
        Some(size) if size != 64 => Err((place_of(".address_size"), HeaderError::AddressSize { size })),
        _ => Ok(()),
    }
}

/// Checks the list after `.target`.
fn target(list: &str, version: Option<(u32, u32)>) -> Result<(), HeaderError> {
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty() && !OPTIONS.contains(name)) {
        let first = name.strip_prefix("sm_").and_then(first_version);
        let first = first.ok_or_else(|| HeaderError::Target { name: name.to_owned() })?;
        if let Some(found) = version.filter(|version| *version < first) {
            return Err(HeaderError::TooOld { name: name.to_owned(), found, first });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Result<(), String> {
        let outline = Outline::of(text).map_err(|error| error.to_string())?;
        header(&outline, text).map_err(|(_, error)| error.to_string())
    }

    #[test]
    fn headers_accepted_by_ptxas_are_accepted() {
        for text in [
            ".version 9.5\n.target sm_120a\n.address_size 64\n",
            ".version 7.0\n.target sm_80, debug\n",
            ".version 1.4\n.target sm_10, map_f64_to_f32\n",
            ".version 4.3 .target sm_52,texmode_independent",
            ".version 2.3\n",
        ] {
            assert_eq!(judged(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn headers_refused_by_ptxas_are_refused() {
        for (text, value) in [
            (".version 99.9\n.target sm_70\n", "99.9"),
            (".version 7.9\n.target sm_70\n", "7.9"),
            (".version 7.0\n.target sm_999\n", "sm_999"),
            (".version 7.0\n.target compute_70\n", "compute_70"),
            (".version 7.0\n.target sm_70, fast\n", "fast"),
            (".version 7.0\n.target sm_90\n", "sm_90, which requires PTX 7.8"),
            (".version 7.8\n.target sm_90a\n", "sm_90a"),
            (".version 7.0\n.target sm_70\n.address_size 32\n", ".address_size 32"),
        ] {
            let refused = judged(text).expect_err(text);
            assert!(refused.contains(value), "{refused}");
        }
    }
}
