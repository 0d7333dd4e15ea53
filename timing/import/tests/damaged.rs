//! Damaged option files are imported or rejected by name, without a panic.

#![allow(clippy::unwrap_used)]

#[path = "../../tests/damaged/damage.rs"]
mod damage;

use gpu_import::gpgpusim;
use proptest::prelude::*;
use timing::specification::GpuSpec;
use timing::specification::gpu::document;

use damage::damage;

const VOLTA: &str = include_str!("configs/volta.config");
const FERMI: &str = include_str!("configs/fermi.config");

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_option_file_is_imported_or_rejected_by_name(damage in damage(), fermi: bool) {
        match gpgpusim("gpgpusim.config", &lossy(&damage.of(if fermi { FERMI } else { VOLTA }))) {
            Ok(text) => drop(GpuSpec::read(&document("made.toml", &text).unwrap())),
            Err(error) => prop_assert!(error.to_string().starts_with("gpgpusim.config, line "), "{error}"),
        }
    }
}
