//! Whose checkpoint it is: what has to be the same in the run that resumes it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::point::Point;
use crate::step::{Asked, Digest};

/// Whose checkpoint it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Version of Voltsim.
    pub voltsim: String,
    /// Of the library that has made it.
    pub engine: Digest,
    /// The program's file.
    pub program: String,
    /// What it was started with.
    pub arguments: Vec<String>,
    /// Of the program's file.
    pub executable: Digest,
    /// Of the files of libraries with code for devices that it had loaded at the point, by path.
    pub libraries: BTreeMap<String, Digest>,
    /// Name of the device that the program sees.
    pub device: String,
    /// Of all that the program is told of the device.
    pub profile: Digest,
    /// How many such devices it sees.
    pub devices: u64,
    /// Settings on which results depend, by name.
    pub settings: BTreeMap<String, String>,
    /// What timed the launches: mode, GPU and changes of it, by name. Empty in functional mode.
    pub model: BTreeMap<String, String>,
    /// Where in the run it was made.
    pub point: Point,
    /// Number of the step at which it was made: the launch at the point.
    pub step: u64,
    /// That launch.
    pub launch: Asked,
}

/// Why a checkpoint is not one of this run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// Another version or build.
    #[error(
        "it was made by another build of Voltsim ({version}, {engine}); this one is {own_version}, {own}"
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
    /// Another program.
    #[error("it is one of {program} ({executable}), and this program is {own_program} ({own})")]
    Program {
        /// The checkpoint's program.
        program: String,
        /// Of its file.
        executable: Digest,
        /// This program.
        own_program: String,
        /// Of its file.
        own: Digest,
    },
    /// Another library.
    #[error(
        "the program had loaded {library} ({digest}) when it was made, and this run has loaded {own_library} ({own})"
    )]
    Library {
        /// The checkpoint's library.
        library: String,
        /// Of its file.
        digest: Digest,
        /// This run's library of that name.
        own_library: String,
        /// Of its file.
        own: Digest,
    },
    /// A library that is missing.
    #[error(
        "the program had loaded {library} ({digest}), which has code for devices, when it was made, and this run has not"
    )]
    NoLibrary {
        /// The checkpoint's library.
        library: String,
        /// Of its file.
        digest: Digest,
    },
    /// A library too many.
    #[error(
        "this run has loaded {library} ({digest}), which has code for devices, and the program had not when it was made"
    )]
    MoreLibraries {
        /// This run's library.
        library: String,
        /// Of its file.
        digest: Digest,
    },
    /// Another device.
    #[error("it was made with {devices} x {device}, and this run has {own_devices} x {own}")]
    Device {
        /// The checkpoint's device.
        device: String,
        /// How many of them.
        devices: u64,
        /// This run's device.
        own: String,
        /// How many of them.
        own_devices: u64,
    },
    /// Another setting.
    #[error("it was made with {name}={value}, and this run has {name}={own}")]
    Setting {
        /// The setting.
        name: String,
        /// The checkpoint's.
        value: String,
        /// This run's.
        own: String,
    },
}

impl Foreign {
    /// What the user can do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Foreign::Engine { .. } => {
                "Bring it forward by `voltsim checkpoint convert OLD -o NEW`, or resume it with the Voltsim that has made it"
            }
            Foreign::Program { .. } => {
                "Give the program that it was made with, or add --any-program if it makes the same calls up to the point"
            }
            Foreign::Library { .. } | Foreign::NoLibrary { .. } | Foreign::MoreLibraries { .. } => {
                "Resume with the libraries that it was made with, or add --any-program if they make the same calls up to the point"
            }
            Foreign::Device { .. } => {
                "Choose the same device with --device and --devices, or a GPU of as many SMs"
            }
            Foreign::Setting { .. } => "Resume with the same settings",
        }
    }
}

impl About {
    /// Was it made inside of a launch that was being timed?
    pub fn is_inside_timed_launch(&self) -> bool {
        self.point.inside.is_some() && !self.model.is_empty()
    }

    /// Refuses a checkpoint that was made of another program than `own`, that of this run, or with another library than one that
    /// this run has loaded so far.
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

    /// Refuses a checkpoint that was made with other libraries than those that this run has loaded at the point. Where they lie does
    /// not count.
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

    /// A library of which this run has loaded another one of that name.
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

    /// Refuses a checkpoint that was made under other circumstances than `own`, those of this run, apart from the program.
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

/// The name of a path's file.
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
