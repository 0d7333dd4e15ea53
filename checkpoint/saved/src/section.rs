//! Sections of a saved run and their versions.
//!
//! A changed section gets the next version here, and `convert/versions.rs` a conversion from the
//! previous one. The timing model keeps its own version ([`ModelState`](crate::ModelState)).

use voltsim_checkpoint::frame::{Index, Schema};
use voltsim_checkpoint::journal;

/// A section and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) version: u32,
}

pub(crate) const ABOUT: Section = Section { name: "about", version: 9 };
pub(crate) const STEPS: Section = Section { name: "steps", version: 10 };
pub(crate) const DEVICES: Section = Section { name: "devices", version: 10 };
pub(crate) const KERNELS: Section = Section { name: "kernels", version: 9 };
/// State of a launch in flight, in the format of `functional`.
pub(crate) const LAUNCH: Section = Section { name: "launch", version: 10 };
/// Absent from older files.
pub(crate) const TURNS: Section = Section { name: "turns", version: 1 };
/// Absent from older files.
pub(crate) const REQUESTS: Section = Section { name: "requests", version: 1 };

/// All sections with a version here.
pub(crate) const ALL: [Section; 7] = [ABOUT, STEPS, DEVICES, KERNELS, LAUNCH, TURNS, REQUESTS];
/// Sections that a file may lack.
pub(crate) const OPTIONAL: [Section; 2] = [TURNS, REQUESTS];

/// Last version common to all sections. Steps of it hold no version.
pub(crate) const LAST_COMMON: u32 = 9;
/// Number of versions recognised, later builds' included.
const TOLD: u32 = 1000;

impl Section {
    /// Schema of the section.
    pub(crate) fn schema(self) -> Schema {
        schema(self.name, self.version)
    }
}

/// Schema of a section's version.
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

/// Version of a section; `None` if it is unknown.
pub(crate) fn version_of(index: &Index, section: &str) -> Option<u32> {
    let found = index.schema(section)?;
    if section == STEPS.name && found == journal::schema() {
        return version_of(index, ABOUT.name).map(|version| version.min(LAST_COMMON));
    }
    (1..=TOLD).find(|version| schema(section, *version) == found)
}

/// Section name of a device's memory.
pub(crate) fn memory_of(device: u64) -> String {
    format!("memory {device}")
}

/// Section name of a device's timing-model state.
pub(crate) fn model_of(device: u64) -> String {
    format!("{MODEL} {device}")
}

/// Schema name of timing-model states.
const MODEL: &str = "model";

/// Schema of a timing-model state.
pub(crate) fn model_schema(version: u32) -> Schema {
    schema(MODEL, version)
}

/// Version of a device's timing-model state.
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

    /// Layout digests of the section versions. A changed layout needs the next version. The version
    /// stays where fields only moved into a struct, as with [`warp_stream::LaunchShape`]; its bytes
    /// are tested in `timing/report`.
    const LAYOUTS: [(&str, u32, &str); 7] = [
        ("about", 9, "5f644696033661df87afc98a4334d5fb"),
        ("steps", 10, "338d3847489411bfac9081e319887dbc"),
        ("devices", 10, "584ccc9c173ad21e5b24470f7b31f67a"),
        ("kernels", 9, "31a92c1005d6e067fb4e84f6f2b56087"),
        ("launch", 10, "4db801358017c30809a6332d85852862"),
        ("turns", 1, "2faec294107048ab3b2d475ec43159da"),
        ("requests", 1, "43d6b8c249dca03fcf29c1ec432160a3"),
    ];

    #[test]
    fn changed_section_layout_needs_a_new_version() {
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
