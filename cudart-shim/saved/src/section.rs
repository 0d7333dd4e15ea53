//! The sections of a saved run, and which version each has.
//!
//! What is in a section changes without the others: then its version here is the next one, and `convert/versions.rs` has what
//! brings the version before to it. The timing model's state has a version that the model keeps ([`ModelState`](crate::ModelState)).

use voltsim_checkpoint::frame::{Index, Schema};
use voltsim_checkpoint::journal;

/// A section, and the version of what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) version: u32,
}

pub(crate) const ABOUT: Section = Section { name: "about", version: 9 };
pub(crate) const STEPS: Section = Section { name: "steps", version: 10 };
pub(crate) const DEVICES: Section = Section { name: "devices", version: 10 };
pub(crate) const KERNELS: Section = Section { name: "kernels", version: 9 };
/// With the state of a launch that has begun, as `functional` has it.
pub(crate) const LAUNCH: Section = Section { name: "launch", version: 10 };
/// Not in files of before it was.
pub(crate) const TURNS: Section = Section { name: "turns", version: 1 };
/// Not in files of before it was.
pub(crate) const REQUESTS: Section = Section { name: "requests", version: 1 };

/// All that have a version here.
pub(crate) const ALL: [Section; 7] = [ABOUT, STEPS, DEVICES, KERNELS, LAUNCH, TURNS, REQUESTS];
/// Those that a file may have not.
pub(crate) const OPTIONAL: [Section; 2] = [TURNS, REQUESTS];

/// The last version that all sections had in common. Steps did not tell it.
pub(crate) const LAST_COMMON: u32 = 9;
/// Versions from 1 on that are known when they are met, those of later builds among them.
const TOLD: u32 = 1000;

impl Section {
    /// The definition that it follows.
    pub(crate) fn schema(self) -> Schema {
        schema(self.name, self.version)
    }
}

/// The definition that a section of a version follows.
pub(crate) fn schema(section: &str, version: u32) -> Schema {
    let definition = definition(section, version);
    match section == STEPS.name {
        true if version <= LAST_COMMON => journal::schema(),
        true => journal::schema_of(&definition),
        false => Schema::of(&definition),
    }
}

fn definition(section: &str, version: u32) -> String {
    format!("saved run, {section}, version {version}")
}

/// The version of a section; nothing if none is known that is so.
pub(crate) fn version_of(index: &Index, section: &str) -> Option<u32> {
    let found = index.schema(section)?;
    if section == STEPS.name && found == journal::schema() {
        return version_of(index, ABOUT.name).map(|version| version.min(LAST_COMMON));
    }
    (1..=TOLD).find(|version| schema(section, *version) == found)
}

/// The section with the memory of a device.
pub(crate) fn memory_of(device: u64) -> String {
    format!("memory {device}")
}

/// The section with the state of what times a device's launches.
pub(crate) fn model_of(device: u64) -> String {
    format!("{MODEL} {device}")
}

/// How sections with the state of a timing model are called in their definition.
const MODEL: &str = "model";

/// The definition that the state of a timing model follows.
pub(crate) fn model_schema(version: u32) -> Schema {
    schema(MODEL, version)
}

/// The version of the state of a device's timing model.
pub(crate) fn version_of_model(index: &Index, device: u64) -> Option<u32> {
    let found = index.schema(&model_of(device))?;
    (1..=TOLD).find(|version| model_schema(*version) == found)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use functional::memory::Requests;

    use crate::{About, BegunLaunch, DeviceState, Digest, KernelCounts, Step, Turns};
    use voltsim_checkpoint::layout;

    /// Sections of these versions, and the digests of their layouts. Where one is another, the version has to be the next one.
    const LAYOUTS: [(&str, u32, &str); 7] = [
        ("about", 9, "ab22f79d2649161b144ac38f1fba2206"),
        ("steps", 10, "c967ddf3a0a81e3c7d16d2d2865d3532"),
        ("devices", 10, "584ccc9c173ad21e5b24470f7b31f67a"),
        ("kernels", 9, "31a92c1005d6e067fb4e84f6f2b56087"),
        ("launch", 10, "4db801358017c30809a6332d85852862"),
        ("turns", 1, "2faec294107048ab3b2d475ec43159da"),
        ("requests", 1, "43d6b8c249dca03fcf29c1ec432160a3"),
    ];

    #[test]
    fn a_section_that_is_laid_out_otherwise_has_another_version() {
        let layouts = [
            layout::of::<About>(),
            layout::of::<Step>(),
            layout::of::<Vec<DeviceState>>(),
            layout::of::<BTreeMap<String, KernelCounts>>(),
            layout::of::<Option<BegunLaunch>>(),
            layout::of::<Turns>(),
            layout::of::<BTreeMap<u64, Requests>>(),
        ];
        let found = ALL.into_iter().zip(layouts).map(|(Section { name, version }, layout)| {
            (name, version, Digest::of(layout.unwrap().as_bytes()).to_string())
        });
        let known = LAYOUTS.map(|(name, version, digest)| (name, version, digest.to_owned()));
        assert_eq!(found.collect::<Vec<_>>(), known);
    }
}
