//! NVRTC's options.

use std::ffi::{CStr, CString};

/// The options with a virtual architecture (`compute_70`) in place of a real one (`sm_70`).
pub(crate) fn virtual_architecture(options: &[&CStr]) -> Vec<CString> {
    let mut named_before = false;
    let mut changed = Vec::with_capacity(options.len());
    for option in options {
        let text = option.to_bytes();
        let value = [b"--gpu-architecture=".as_slice(), b"-arch="]
            .iter()
            .find_map(|name| Some((*name, text.strip_prefix(*name)?)))
            .or(named_before.then_some((b"".as_slice(), text)));
        named_before = text == b"--gpu-architecture" || text == b"-arch";
        let real = value.and_then(|(name, value)| Some((name, value.strip_prefix(b"sm_")?)));
        let bytes = match real {
            Some((name, number)) => [name, b"compute_", number].concat(),
            None => text.to_vec(),
        };
        // Bytes of C strings, so there is no NUL among them.
        changed.extend(CString::new(bytes));
    }
    changed
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
        assert_eq!(virtual_architecture(&given), expected.map(CStr::to_owned));
    }
}
