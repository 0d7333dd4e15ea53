//! Damaged user files are read or rejected by name, without a panic.

#![allow(clippy::unwrap_used)]

mod damage;

use proptest::prelude::*;
use timing::specification::GpuSpec;
use timing::specification::gpu::{change, document, named};

use damage::damage;

const GPU: &str = include_str!("../../../gpus/titan-v.toml");

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_gpu_file_is_read_or_rejected_by_name(damage in damage()) {
        let read = document("mine.toml", &lossy(&damage.of(GPU))).and_then(|document| GpuSpec::read(&document));
        if let Err(error) = read {
            prop_assert!(error.to_string().starts_with("mine.toml"), "{error}");
        }
    }

    #[test]
    fn damaged_change_is_applied_or_rejected(damage in damage()) {
        let text = lossy(&damage.of("l1.size=32768"));
        let mut document = named("tiny").unwrap();
        let changed = change(&mut document, &text).and_then(|()| GpuSpec::read(&document));
        if let Err(error) = changed {
            let said = error.to_string();
            prop_assert!(said.starts_with("--set: `") || said.starts_with('`') || said.starts_with("unknown key"), "{said}");
        }
    }
}
