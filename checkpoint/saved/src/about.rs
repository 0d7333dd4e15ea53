//! Origin of a checkpoint: the properties that a resuming run must share.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::point::Point;
use crate::step::{Asked, Digest};

/// Origin of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Version of Voltsim.
    pub voltsim: String,
    /// Digest of the library that made it.
    pub engine: Digest,
    /// The program's file.
    pub program: String,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Digest of the program's file.
    pub executable: Digest,
    /// Digests of libraries with device code loaded at the point, by path.
    pub libraries: BTreeMap<String, Digest>,
    /// Name of the visible device.
    pub device: String,
    /// Digest of the device's profile.
    pub profile: Digest,
    /// Number of visible devices.
    pub devices: u64,
    /// Settings on which results depend, by name.
    pub settings: BTreeMap<String, String>,
    /// Timing model: mode, GPU and changes, by name. Empty in functional mode.
    pub model: BTreeMap<String, String>,
    /// Point in the run.
    pub point: Point,
    /// Number of the step at the point: a launch.
    pub step: u64,
    /// Launch at the point.
    pub launch: Asked,
}

/// Reason why a checkpoint does not fit this run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// Another version or build.
    #[error(
        "the checkpoint is of another build of Voltsim ({version}, {engine}); this build is {own_version}, {own}"
    )]
    Engine {
        /// The checkpoint's version.
        version: String,
        /// The checkpoint's build.
        engine: Digest,
        /// This version.
        own_version: String,
        /// This build.
        own: Digest,
    },
    /// Other program.
    #[error("the checkpoint is of {program} ({executable}); this program is {own_program} ({own})")]
    Program {
        /// Program of the checkpoint.
        program: String,
        /// Digest of the checkpoint's program file.
        executable: Digest,
        /// This program.
        own_program: String,
        /// Digest of this program's file.
        own: Digest,
    },
    /// Other library.
    #[error("the checkpoint was made with {library} ({digest}); this run has loaded {own_library} ({own})")]
    Library {
        /// Library of the checkpoint.
        library: String,
        /// Digest of the checkpoint's library.
        digest: Digest,
        /// Library of this run with the same name.
        own_library: String,
        /// Digest of this run's library.
        own: Digest,
    },
    /// Missing library.
    #[error(
        "the checkpoint was made with {library} ({digest}), which has device code; this run has not loaded it"
    )]
    NoLibrary {
        /// Library of the checkpoint.
        library: String,
        /// Digest of the library's file.
        digest: Digest,
    },
    /// Additional library.
    #[error(
        "this run has loaded {library} ({digest}), which has device code; the checkpoint was made without it"
    )]
    MoreLibraries {
        /// Library of this run.
        library: String,
        /// Digest of the library's file.
        digest: Digest,
    },
    /// Other device.
    #[error("the checkpoint was made with {devices} x {device}; this run has {own_devices} x {own}")]
    Device {
        /// Device of the checkpoint.
        device: String,
        /// Devices of the checkpoint.
        devices: u64,
        /// Device of this run.
        own: String,
        /// Devices of this run.
        own_devices: u64,
    },
    /// Other setting.
    #[error("the checkpoint was made with {name}={value}; this run has {name}={own}")]
    Setting {
        /// Name of the setting.
        name: String,
        /// Value in the checkpoint.
        value: String,
        /// Value in this run.
        own: String,
    },
}

impl Foreign {
    /// Remedy for the user.
    pub fn remedy(&self) -> &'static str {
        match self {
            Foreign::Engine { .. } => {
                "Convert it with `voltsim checkpoint convert OLD -o NEW`, or resume it with the Voltsim that made it"
            }
            Foreign::Program { .. } => {
                "Run the checkpoint's program, or add --any-program if this one makes the same calls up to the point"
            }
            Foreign::Library { .. } | Foreign::NoLibrary { .. } | Foreign::MoreLibraries { .. } => {
                "Resume with the checkpoint's libraries, or add --any-program if these make the same calls up to the point"
            }
            Foreign::Device { .. } => {
                "Tell the program of the same device with --device and --devices, and simulate a GPU with as many SMs"
            }
            Foreign::Setting { .. } => "Resume with the same settings",
        }
    }
}

impl About {
    /// True if the checkpoint was made inside a timed launch.
    pub fn is_inside_timed_launch(&self) -> bool {
        self.point.inside.is_some() && !self.model.is_empty()
    }

    /// Rejects a checkpoint of another program than this run's, `own`, or with a library that
    /// differs from one loaded so far.
    pub fn check_program(&self, own: &About) -> Result<(), Foreign> {
        if self.executable != own.executable {
            return Err(Foreign::Program {
                program: self.program.clone(),
                executable: self.executable,
                own_program: own.program.clone(),
                own: own.executable,
            });
        }
        self.other_library(own).map_or(Ok(()), Err)
    }

    /// Rejects a checkpoint whose libraries differ from those that this run has loaded at the
    /// point; paths do not count.
    pub fn check_libraries(&self, own: &About) -> Result<(), Foreign> {
        if let Some(other) = self.other_library(own) {
            return Err(other);
        }
        let only = |these: &BTreeMap<String, Digest>, others: &BTreeMap<String, Digest>| {
            let is_there = |digest: &Digest| others.values().any(|other| other == digest);
            let (library, digest) = these.iter().find(|(_, digest)| !is_there(digest))?;
            Some((library.clone(), *digest))
        };
        if let Some((library, digest)) = only(&self.libraries, &own.libraries) {
            return Err(Foreign::NoLibrary { library, digest });
        }
        only(&own.libraries, &self.libraries)
            .map_or(Ok(()), |(library, digest)| Err(Foreign::MoreLibraries { library, digest }))
    }

    /// A library that this run has loaded in another version.
    fn other_library(&self, own: &About) -> Option<Foreign> {
        self.libraries.iter().find_map(|(library, digest)| {
            let mut of_name = own.libraries.iter().filter(|(own, _)| file_name(own) == file_name(library));
            let (own_library, other) = of_name.clone().next()?;
            if of_name.any(|(_, own)| own == digest) {
                return None;
            }
            let (library, own_library) = (library.clone(), own_library.clone());
            Some(Foreign::Library { library, digest: *digest, own_library, own: *other })
        })
    }

    /// Rejects a checkpoint whose origin differs from this run's, `own`, apart from the program.
    pub fn check(&self, own: &About) -> Result<(), Foreign> {
        if (&self.voltsim, self.engine) != (&own.voltsim, own.engine) {
            return Err(Foreign::Engine {
                version: self.voltsim.clone(),
                engine: self.engine,
                own_version: own.voltsim.clone(),
                own: own.engine,
            });
        }
        if (self.profile, self.devices) != (own.profile, own.devices) {
            return Err(Foreign::Device {
                device: self.device.clone(),
                devices: self.devices,
                own: own.device.clone(),
                own_devices: own.devices,
            });
        }
        let names = self.settings.keys().chain(own.settings.keys());
        for name in names {
            let of = |about: &About| about.settings.get(name).cloned().unwrap_or_default();
            let (value, own) = (of(self), of(own));
            if value != own {
                return Err(Foreign::Setting { name: name.clone(), value, own });
            }
        }
        Ok(())
    }
}

/// File name of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "point       {} ({})", self.point, self.launch)?;
        writeln!(f, "program     {} {}", self.program, self.arguments.join(" "))?;
        writeln!(f, "            {}", self.executable)?;
        for (library, digest) in &self.libraries {
            writeln!(f, "library     {library} ({digest})")?;
        }
        writeln!(f, "device      {} x {} ({})", self.devices, self.device, self.profile)?;
        for (name, value) in self.settings.iter().chain(&self.model) {
            writeln!(f, "setting     {name}={value}")?;
        }
        writeln!(f, "Voltsim     {} ({})", self.voltsim, self.engine)
    }
}
