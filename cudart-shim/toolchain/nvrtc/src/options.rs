//! NVRTC's options.

use std::ffi::{CStr, CString};

/// The options with a virtual architecture (`compute_70`) in place of a real one (`sm_70`), and with the newest that the
/// compiler knows in place of one that it does not: PTX runs on every device that is newer.
pub(crate) fn virtual_architecture(options: &[&CStr], newest: Option<u32>) -> Vec<CString> {
    let mut named_before = false;
    let mut changed = Vec::with_capacity(options.len());
    for option in options {
        let text = option.to_bytes();
        let value = [b"--gpu-architecture=".as_slice(), b"-arch="]
            .iter()
            .find_map(|name| Some((*name, text.strip_prefix(*name)?)))
            .or(named_before.then_some((b"".as_slice(), text)));
        named_before = text == b"--gpu-architecture" || text == b"-arch";
        let asked = value.and_then(|(name, value)| Some((name, architecture(value)?)));
        let bytes = match (asked, newest) {
            (Some((name, asked)), Some(newest)) if number(asked) > newest => {
                [name, b"compute_", newest.to_string().as_bytes()].concat()
            }
            (Some((name, asked)), _) => [name, b"compute_", asked].concat(),
            (None, _) => text.to_vec(),
        };
        // Bytes of C strings, so there is no NUL among them.
        changed.extend(CString::new(bytes));
    }
    changed
}

/// Is a real architecture named, so that the PTX is assembled too?
pub(crate) fn asks_for_machine_code(options: &[&CStr]) -> bool {
    let mut named_before = false;
    options.iter().any(|option| {
        let text = option.to_bytes();
        let names = [b"--gpu-architecture=sm_".as_slice(), b"-arch=sm_"];
        let is_real =
            names.iter().any(|name| text.starts_with(name)) || named_before && text.starts_with(b"sm_");
        named_before = text == b"--gpu-architecture" || text == b"-arch";
        is_real
    })
}

/// The part `90a` of an architecture `sm_90a` or `compute_90a`.
fn architecture(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"sm_").or_else(|| value.strip_prefix(b"compute_"))
}

/// The number in `90a`.
fn number(architecture: &[u8]) -> u32 {
    let digits = architecture.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u32, digit| number.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_architecture_becomes_a_virtual_one_and_all_else_stays() {
        let given = [
            c"-arch=sm_90a",
            c"--gpu-architecture=compute_70",
            c"-arch",
            c"sm_70",
            c"-DX=sm_70",
            c"--fmad=false",
        ];
        let expected = [
            c"-arch=compute_90a",
            c"--gpu-architecture=compute_70",
            c"-arch",
            c"compute_70",
            c"-DX=sm_70",
            c"--fmad=false",
        ];
        assert_eq!(virtual_architecture(&given, Some(90)), expected.map(CStr::to_owned));
        assert_eq!(virtual_architecture(&given, None), expected.map(CStr::to_owned));
    }

    #[test]
    fn a_real_architecture_asks_for_machine_code() {
        for given in [&[c"-arch=sm_90a"][..], &[c"-DX", c"--gpu-architecture=sm_70"], &[c"-arch", c"sm_70"]] {
            assert!(asks_for_machine_code(given), "{given:?}");
        }
        for given in
            [&[c"-arch=compute_90"][..], &[], &[c"-DX=sm_70"], &[c"-arch", c"compute_70"], &[c"sm_70"]]
        {
            assert!(!asks_for_machine_code(given), "{given:?}");
        }
    }

    #[test]
    fn an_architecture_that_the_compiler_does_not_know_becomes_the_newest_it_knows() {
        let given = [c"-arch=sm_120", c"--gpu-architecture", c"compute_100a", c"-arch=sm_90a"];
        let expected = [c"-arch=compute_90", c"--gpu-architecture", c"compute_90", c"-arch=compute_90a"];
        assert_eq!(virtual_architecture(&given, Some(90)), expected.map(CStr::to_owned));
    }
}
