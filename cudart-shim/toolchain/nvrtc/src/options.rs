//! NVRTC's options.

use std::ffi::{CStr, CString};

/// Replaces a real architecture (`sm_70`) by a virtual one (`compute_70`), and one unknown to the
/// compiler by its newest. PTX runs on every newer device.
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

/// True if an option names a real architecture, so that NVRTC assembles the PTX. With link-time
/// optimisation the result is LTO IR, and there is no PTX.
pub(crate) fn asks_for_machine_code(options: &[&CStr]) -> bool {
    let link_time = [b"-dlto".as_slice(), b"--dlink-time-opt"];
    if options.iter().any(|option| link_time.contains(&option.to_bytes())) {
        return false;
    }
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

/// Part `90a` of an architecture `sm_90a` or `compute_90a`.
fn architecture(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"sm_").or_else(|| value.strip_prefix(b"compute_"))
}

/// Number in `90a`.
fn number(architecture: &[u8]) -> u32 {
    let digits = architecture.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u32, digit| number.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_architecture_becomes_virtual_and_the_rest_stays() {
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
    fn real_architecture_requests_machine_code() {
        for given in [&[c"-arch=sm_90a"][..], &[c"-DX", c"--gpu-architecture=sm_70"], &[c"-arch", c"sm_70"]] {
            assert!(asks_for_machine_code(given), "{given:?}");
        }
        for given in [
            &[c"-arch=compute_90"][..],
            &[],
            &[c"-DX=sm_70"],
            &[c"-arch", c"compute_70"],
            &[c"sm_70"],
            &[c"-arch=sm_75", c"-dlto"],
        ] {
            assert!(!asks_for_machine_code(given), "{given:?}");
        }
    }

    #[test]
    fn unknown_architecture_becomes_the_newest_known() {
        let given = [c"-arch=sm_120", c"--gpu-architecture", c"compute_100a", c"-arch=sm_90a"];
        let expected = [c"-arch=compute_90", c"--gpu-architecture", c"compute_90", c"-arch=compute_90a"];
        assert_eq!(virtual_architecture(&given, Some(90)), expected.map(CStr::to_owned));
    }
}
