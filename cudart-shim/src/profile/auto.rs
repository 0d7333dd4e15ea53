//! `--device auto`: the smallest device for the newest PTX of the program and its libraries, and
//! for the capability that loaded libraries require (`clients.toml`).
//!
//! The choice is made at the program's first device query. By then linked fat binaries are
//! registered and a framework has loaded its libraries.

use crate::code::image::newest_ptx;
use crate::code::registry::registry;
use crate::host::mapped::mapped_files;
use ptx_frontend::container::{Architecture, meant_for};
use serde::Deserialize;
use std::cmp::Reverse;
use std::sync::OnceLock;
use timing::specification::gpu;

/// Value of `VOLTSIM_DEVICE` that selects automatic choice.
pub(super) const NAME: &str = "auto";

const CLIENTS: &str = include_str!("clients.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clients {
    client: Vec<Client>,
}

/// A library that rejects devices below a capability.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Client {
    /// Prefix of the library's file name.
    file: String,
    /// Required capability times ten.
    least: u32,
    /// Evidence.
    source: String,
}

/// Reasons for a choice.
#[derive(Debug, Default)]
struct Wanted {
    /// Architecture of the newest PTX.
    newest: Option<Architecture>,
    /// Loaded library with the highest requirement.
    client: Option<Client>,
}

/// A built-in device with its capability times ten.
type Candidate = (&'static str, u32);

/// GPUs of the program from the default's capability on, the smallest capability first. Of one
/// capability the default comes first, then the GPU with the most memory.
fn candidates() -> Vec<Candidate> {
    let figures = |name: &'static str| {
        let document = gpu::built_in(name).ok()?;
        let memory: u64 = document.get("device", "memory", "B").ok()?;
        Some((name, document.capability()?, memory))
    };
    let mut known: Vec<_> = gpu::names().filter_map(figures).collect();
    // Of GPUs with as much memory, the first in the order of names stays first.
    known.sort_by_key(|(name, capability, memory)| (*capability, *name != gpu::DEFAULT, Reverse(*memory)));
    let least = gpu::capability(gpu::DEFAULT).unwrap_or_default();
    let suitable = known.into_iter().filter(|(_, capability, _)| *capability >= least);
    suitable.map(|(name, capability, _)| (name, capability)).collect()
}

/// Smallest candidate that runs code for an architecture and has at least the capability.
fn smallest(candidates: &[Candidate], newest: Option<Architecture>, least: u32) -> Option<Candidate> {
    let fits = |capability: u32| {
        capability >= least && newest.is_none_or(|architecture| meant_for(architecture, capability))
    };
    candidates.iter().copied().find(|(_, capability)| fits(*capability))
}

/// Smallest built-in device that runs code for `sm_NN`.
pub(crate) fn fitting(target: u32) -> Option<&'static str> {
    smallest(&candidates(), None, target).map(|(name, _)| name)
}

/// Device chosen for this process, fixed after the first call.
pub(super) fn chosen() -> &'static str {
    static CHOSEN: OnceLock<&'static str> = OnceLock::new();
    CHOSEN.get_or_init(|| choose(&wanted(), &candidates()))
}

fn wanted() -> Wanted {
    let registered = registry().lock().wrappers();
    // SAFETY: the fat binaries are registered; one that is unregistered meanwhile is of a library
    // that another thread unloads.
    let newest = registered.into_iter().filter_map(|wrapper| unsafe { newest_ptx(wrapper) });
    let newest = newest.max_by_key(|architecture| (architecture.capability, architecture.portability));
    let clients = toml::from_str::<Clients>(CLIENTS).map(|clients| clients.client).unwrap_or_default();
    let files = mapped_files();
    let is_loaded = |client: &Client| files.iter().any(|file| is_named(file, &client.file));
    Wanted { newest, client: clients.into_iter().filter(is_loaded).max_by_key(|client| client.least) }
}

fn is_named(path: &str, start: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(start))
}

/// Chooses a device and reports the choice with its reasons on standard error.
fn choose(wanted: &Wanted, candidates: &[Candidate]) -> &'static str {
    let least = wanted.client.as_ref().map_or(0, |client| client.least);
    let found = smallest(candidates, wanted.newest, least);
    let (name, capability) = found.or_else(|| candidates.last().copied()).unwrap_or(("titan-v", 70));
    let ptx = wanted.newest.map(|architecture| format!("the newest PTX is for {architecture}"));
    let client = wanted.client.as_ref().map(|Client { file, least, source }| {
        format!("{file} needs capability {}.{} ({source})", least / 10, least % 10)
    });
    let mut reasons: Vec<String> = ptx.into_iter().chain(client).collect();
    if found.is_none() {
        reasons.push("no built-in device fits; this one is the nearest".to_owned());
    }
    if reasons.is_empty() {
        reasons.push("neither the program nor a loaded library has PTX".to_owned());
    }
    eprintln!(
        "voltsim: --device auto: {name} (capability {}.{}): {}",
        capability / 10,
        capability % 10,
        reasons.join("; ")
    );
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_frontend::container::Portability;

    fn chosen(newest: Option<(u32, Portability)>, least: u32) -> &'static str {
        let newest = newest.map(|(capability, portability)| Architecture { capability, portability });
        let client = Client { file: "lib".to_owned(), least, source: String::new() };
        choose(&Wanted { newest, client: Some(client) }, &candidates())
    }

    #[test]
    fn smallest_device_for_the_newest_ptx_is_chosen() {
        for (capability, name) in [
            (52, "titan-v"),
            (70, "titan-v"),
            (75, "t4"),
            (80, "a100"),
            (86, "rtx3090"),
            (87, "rtx4090"),
            (89, "rtx4090"),
            (90, "h100"),
            (100, "b200"),
            (103, "rtx5090"),
            (120, "rtx5090"),
        ] {
            assert_eq!(chosen(Some((capability, Portability::Portable)), 0), name, "{capability}");
        }
        assert_eq!(chosen(None, 0), "titan-v");
    }

    #[test]
    fn code_for_one_architecture_or_family_needs_it() {
        assert_eq!(chosen(Some((90, Portability::Exact)), 0), "h100");
        assert_eq!(chosen(Some((100, Portability::Family)), 0), "b200");
        assert_eq!(chosen(Some((121, Portability::Exact)), 0), "rtx5090", "nothing fits");
    }

    #[test]
    fn library_with_higher_capability_decides() {
        assert_eq!(chosen(Some((70, Portability::Portable)), 75), "t4");
        assert_eq!(chosen(Some((90, Portability::Portable)), 75), "h100");
        assert_eq!(chosen(None, 80), "a100");
    }

    #[test]
    fn the_table_of_clients_is_well_formed() {
        let clients = toml::from_str::<Clients>(CLIENTS).unwrap().client;
        assert!(clients.iter().all(|client| !client.source.is_empty() && (30..130).contains(&client.least)));
        assert!(
            is_named("/x/libcublas.so.13.1", "libcublas.so.13")
                && !is_named("/libcublas.so.13/x", "libcublas")
        );
    }
}
