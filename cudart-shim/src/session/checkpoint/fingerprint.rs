//! Fingerprint of a run: saved in its checkpoints and compared with the checkpoint it resumes.

use crate::code::registry::registry;
use crate::host::environment::options;
use crate::host::mapped::{file_at, files_at};
use crate::profile::Profile;
use crate::session::model;
use crate::session::state::Session;
use parking_lot::Mutex;
use run_options::Key;
use saved_run::{About, Asked, Digest, Point};
use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::sync::LazyLock;

/// Options that affect results.
const SETTINGS: [Key; 1] = [Key::fmad];
/// Options of the timing model.
const MODEL: [Key; 3] = [Key::mode, Key::gpu, Key::set];

/// Digests of files, each computed at its first use.
pub(crate) struct Fingerprint {
    /// Digest of this library's file.
    engine: LazyLock<Digest>,
    /// Digest of the program's file.
    executable: LazyLock<Digest>,
    /// Digests of the files of libraries read so far.
    libraries: Mutex<BTreeMap<String, Digest>>,
}

impl Fingerprint {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self {
            engine: LazyLock::new(engine),
            executable: LazyLock::new(executable),
            libraries: Mutex::new(BTreeMap::new()),
        }
    }
}

fn engine() -> Digest {
    digest_of(Path::new(&file_at(about as *const () as usize).unwrap_or_default()))
}

fn executable() -> Digest {
    digest_of(Path::new("/proc/self/exe"))
}

/// Fingerprint of this run at a point, given as step and launch.
pub(super) fn about(
    session: &'static Session,
    profile: &Profile,
    point: Point,
    step: u64,
    launch: Asked,
) -> About {
    let setting = |key: &Key| {
        let text = options().text(*key)?.to_string_lossy().into_owned();
        Some((key.declaration().variable.to_owned(), text))
    };
    let settings = |keys: &[Key]| -> BTreeMap<String, String> { keys.iter().filter_map(setting).collect() };
    let program = env::current_exe().unwrap_or_default();
    About {
        voltsim: env!("CARGO_PKG_VERSION").to_owned(),
        engine: *session.fingerprint.engine,
        program: program.to_string_lossy().into_owned(),
        arguments: env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect(),
        executable: *session.fingerprint.executable,
        libraries: libraries(session, &program.to_string_lossy()),
        device: profile.name.clone(),
        profile: Digest::of(profile.identity().as_bytes()),
        devices: session.device_count() as u64,
        settings: settings(&SETTINGS),
        model: if model::gpu_name(session).is_some() { settings(&MODEL) } else { BTreeMap::new() },
        point,
        step,
        launch,
    }
}

/// Loaded libraries with device code, except the program itself.
fn libraries(session: &'static Session, program: &str) -> BTreeMap<String, Digest> {
    let mut digests = session.fingerprint.libraries.lock();
    let files = files_at(&registry().lock().wrappers());
    let libraries = files.into_iter().filter(|file| file != program).map(|file| {
        let digest = *digests.entry(file.clone()).or_insert_with(|| digest_of(Path::new(&file)));
        (file, digest)
    });
    libraries.collect()
}

/// Digest of a file; of no bytes if the file is unreadable.
fn digest_of(file: &Path) -> Digest {
    Digest::of_file(file).unwrap_or(Digest::of(&[]))
}
