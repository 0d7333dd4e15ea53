//! The value that the command hands the library: `1;mode=detailed;gpu=titan-v`.
//!
//! First stands the version, then one `name=text` per option that is given. In texts, bytes that
//! would end an entry or do not print are written as `%` and two hexadecimal digits.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use crate::declarations::{DECLARATIONS, RunOptions, Texts};

/// The variable with the value.
pub const VARIABLE: &str = "VOLTSIM_RUN";

/// The version of the value, which changes when an option changes its meaning or its texts.
const VERSION: &str = "1";

impl RunOptions {
    /// The value with these options.
    pub fn encode(&self) -> OsString {
        let mut value = VERSION.as_bytes().to_vec();
        for declaration in DECLARATIONS {
            if let Some(text) = self.text(declaration.key) {
                value.push(b';');
                value.extend(declaration.name.as_bytes());
                value.push(b'=');
                escape(&text, &mut value);
            }
        }
        OsString::from_vec(value)
    }
}

fn escape(text: &OsStr, to: &mut Vec<u8>) {
    for byte in text.as_bytes() {
        match byte {
            b'%' | b';' | 0..=0x1f | 0x7f => to.extend(format!("%{byte:02x}").bytes()),
            byte => to.push(*byte),
        }
    }
}

fn unescape(text: &[u8]) -> Option<OsString> {
    let mut parts = text.split(|byte| *byte == b'%');
    let mut bytes = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?);
        bytes.extend(rest);
    }
    Some(OsString::from_vec(bytes))
}

/// Reads a value.
///
/// # Errors
/// The rule that the value breaks.
pub(crate) fn decode(value: &OsStr, texts: &mut Texts) -> Result<(), String> {
    let mut entries = value.as_bytes().split(|byte| *byte == b';');
    if entries.next() != Some(VERSION.as_bytes()) {
        return Err(format!(
            "must have version {VERSION}, as command and library are of one build (remedy: unset {VARIABLE})"
        ));
    }
    for entry in entries {
        let wrong = || format!("must have entries name=text (`{}`)", String::from_utf8_lossy(entry));
        let end = entry.iter().position(|byte| *byte == b'=').ok_or_else(wrong)?;
        let (name, text) = entry.split_at(end);
        let declaration =
            DECLARATIONS.iter().find(|known| known.name.as_bytes() == name).ok_or_else(wrong)?;
        let text = unescape(text.get(1..).unwrap_or_default()).ok_or_else(wrong)?;
        texts.set(declaration.key, Some(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::PathBuf;

    use super::*;
    use crate::reading::Reading;
    use crate::values::Changes;

    #[test]
    fn value_is_read_as_it_was_written() {
        let options = RunOptions {
            set: Some(Changes(vec!["l1.size=32KiB".to_owned(), "a.b=50%;c".to_owned()])),
            statistics: Some(PathBuf::from(OsString::from_vec(b"/a\xff b/s.json".to_vec()))),
            until_stable: Some(Default::default()),
            strict: Some(true),
            supervisor: Some(4711),
            ..RunOptions::default()
        };
        let value = options.encode();
        let read = Reading::of(|name| (name == VARIABLE).then(|| value.clone()));
        assert_eq!((read.options, read.mistakes), (options, Vec::new()));
    }

    #[test]
    fn value_is_one_line_that_a_person_can_read() {
        let options = RunOptions {
            gpu: Some("tiny".to_owned()),
            set: Some(Changes(vec!["a.b=1".to_owned(), "c.d=2;".to_owned()])),
            supervisor: Some(12),
            ..RunOptions::default()
        };
        assert_eq!(options.encode(), "1;gpu=tiny;set=a.b=1%0ac.d=2%3b;supervisor=12");
    }

    #[test]
    fn entry_that_is_no_option_is_named() {
        for value in ["1;none=3", "1;threads", "1;gpu=%4", "1;gpu=%zz"] {
            let wrong = decode(OsStr::new(value), &mut Texts::default()).unwrap_err();
            assert!(wrong.contains(&value[2..]), "{wrong}");
        }
    }
}
