//! Device profiles that are part of the program, by name; the first is the default. The library and the command include
//! this file.

/// Names and texts of the profiles.
pub(crate) const BUILT_IN: &[(&str, &str)] = &[
    ("titan-v", include_str!("titan-v.toml")),
    ("v100", include_str!("v100.toml")),
    ("h100", include_str!("h100.toml")),
];
