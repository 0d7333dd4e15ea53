//! Which launches of a program are captured, timed or recorded.

use std::ops::RangeInclusive;
use std::str::FromStr;

use warp_stream::kernel_name::{base_name, demangled};

/// A choice among launches, written `kernel=GLOB,launch=A..B`. Each part may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The kernel's name, as in the PTX, or as in the source with or without namespaces and template arguments; `*` stands for
    /// any characters, `?` for one.
    kernel: String,
    /// Numbers of launches, from 1.
    launches: RangeInclusive<u64>,
}

/// A selection that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` selects no launches; write kernel=GLOB, launch=N or launch=A..B, separated by a comma")]
pub struct BadSelection(String);

impl Default for Selection {
    fn default() -> Self {
        Selection { kernel: "*".to_owned(), launches: 1..=u64::MAX }
    }
}

impl Selection {
    /// Is this launch chosen?
    pub fn contains(&self, kernel: &str, launch: u64) -> bool {
        let fits = |name: &str| matches(self.kernel.as_bytes(), name.as_bytes());
        let fits_in_source = || {
            let name = demangled(kernel);
            fits(&name) || fits(&base_name(&name))
        };
        self.launches.contains(&launch) && (fits(kernel) || fits_in_source())
    }
}

impl FromStr for Selection {
    type Err = BadSelection;

    fn from_str(text: &str) -> Result<Selection, BadSelection> {
        let bad = || BadSelection(text.to_owned());
        let mut selection = Selection::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once('=').ok_or_else(bad)? {
                ("kernel", glob) => selection.kernel = glob.to_owned(),
                ("launch", range) => {
                    let (first, last) = range.split_once("..").unwrap_or((range, range));
                    let number =
                        |text: &str, open| if text.is_empty() { Some(open) } else { text.parse().ok() };
                    let first = number(first, 1).ok_or_else(bad)?;
                    selection.launches = first..=number(last, u64::MAX).ok_or_else(bad)?;
                }
                _ => return Err(bad()),
            }
        }
        if selection.launches.is_empty() { Err(bad()) } else { Ok(selection) }
    }
}

/// Does the glob match the whole of `text`? After a mismatch only the last `*` needs to take one byte more.
fn matches(glob: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match glob.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(wanted) if *wanted == b'?' || Some(wanted) == text.get(from) => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((before, taken)) = star else { return false };
                star = Some((before, taken + 1));
                (at, from) = (before + 1, taken + 1);
            }
        }
    }
    glob.get(at..).unwrap_or_default().iter().all(|rest| *rest == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(selection: &str, kernel: &str, launch: u64) -> bool {
        selection.parse::<Selection>().unwrap().contains(kernel, launch)
    }

    #[test]
    fn both_parts_must_fit() {
        assert!(chosen("kernel=sax*,launch=2..3", "saxpy", 3));
        assert!(!chosen("kernel=sax*,launch=2..3", "saxpy", 4));
        assert!(!chosen("kernel=sax*,launch=2..3", "axpy", 2));
    }

    #[test]
    fn a_mangled_name_is_chosen_by_what_stands_in_the_source() {
        let mangled = "_ZN7library4gemmIfEEvPT_";
        for glob in ["gemm", "gem*", "library::gemm<float>", "*<float>", "_ZN7library*"] {
            assert!(chosen(&format!("kernel={glob}"), mangled, 1), "{glob}");
        }
        assert!(!chosen("kernel=gemv", mangled, 1));
    }

    #[test]
    fn what_is_left_out_does_not_matter() {
        assert!(chosen("", "anything", 99));
        assert!(chosen("launch=5..", "k", 5) && !chosen("launch=5..", "k", 4));
        assert!(chosen("launch=..5", "k", 5) && !chosen("launch=..5", "k", 6));
        assert!(chosen("launch=5", "k", 5) && !chosen("launch=5", "k", 6));
    }

    #[test]
    fn a_star_takes_as_much_as_it_must() {
        for (glob, text, fits) in [
            ("*gemm*_nn", "volta_sgemm_tn_nn", true),
            ("*gemm*_nn", "volta_sgemm_tn", false),
            ("a*b*c", "a-b-b-c", true),
            ("?", "", false),
            ("a?c", "abc", true),
            ("", "", true),
        ] {
            assert_eq!(matches(glob.as_bytes(), text.as_bytes()), fits, "{glob} {text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["kernel", "launch=a", "launch=3..2", "thread=1"] {
            assert!(text.parse::<Selection>().is_err(), "{text}");
        }
    }
}
