//! Damaged text traces.

use proptest::prelude::*;
use warp_trace::accelsim::{read_kernel, read_list};

#[path = "../../../tests/damaged/damage.rs"]
mod damage;

use damage::damage;

const TRACE: &str = include_str!("kernel-1.traceg");
const LIST: &str = "MemcpyHtoD,0x00007f0000000000,4096\nMemcpyDtoH,0x1,2\nkernel-1.traceg\n";

/// Header lines of a trace, and the rest.
fn parts() -> (&'static str, &'static str) {
    TRACE.split_at(TRACE.find('#').unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_header_reads_or_errors_by_file_name(damage in damage()) {
        let (header, rest) = parts();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kernel-1.traceg");
        std::fs::write(&file, [&damage.of(header), rest.as_bytes()].concat()).unwrap();
        if let Err(error) = read_kernel(&file) {
            prop_assert!(error.to_string().starts_with(&*file.to_string_lossy()), "{error}");
        }
    }

    #[test]
    fn damaged_instructions_read_or_error_by_file_name(damage in damage()) {
        let (header, rest) = parts();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kernel-1.traceg");
        std::fs::write(&file, [header.as_bytes(), &damage.of(rest)].concat()).unwrap();
        if let Err(error) = read_kernel(&file) {
            prop_assert!(error.to_string().starts_with(&*file.to_string_lossy()), "{error}");
        }
    }

    #[test]
    fn damaged_list_reads_or_errors_by_file_name(damage in damage()) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kernelslist.g");
        std::fs::write(&file, damage.of(LIST)).unwrap();
        if let Err(error) = read_list(&file) {
            prop_assert!(error.to_string().starts_with(&*file.to_string_lossy()), "{error}");
        }
    }
}
