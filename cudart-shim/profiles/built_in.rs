//! Device profiles that are part of the program, by name; the first is the default. The library and
//! the command include this file.

/// Names and texts of the profiles.
pub(crate) const BUILT_IN: &[(&str, &str)] = &[
    ("titan-v", include_str!("titan-v.toml")),
    ("v100", include_str!("v100.toml")),
    ("h100", include_str!("h100.toml")),
    ("t4", include_str!("t4.toml")),
    ("a100", include_str!("a100.toml")),
    ("rtx-3090", include_str!("rtx-3090.toml")),
    ("rtx-4090", include_str!("rtx-4090.toml")),
    ("b200", include_str!("b200.toml")),
    ("rtx-5090", include_str!("rtx-5090.toml")),
];
