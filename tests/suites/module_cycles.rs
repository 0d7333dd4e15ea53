//! No top-level module of a crate reaches itself by the modules that it names, but for those that a
//! list allows.

#![allow(clippy::expect_used, reason = "helpers of tests, where a panic is the report")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use voltsim_tests::module_graph::{ModuleGraph, crates};

/// Modules of one crate that may be in a cycle with each other.
struct Allowed {
    /// Folder of the crate.
    krate: &'static str,
    /// Each module with the reason why it names others of the cycle.
    modules: &'static [(&'static str, &'static str)],
}

const ALLOWED: &[Allowed] = &[
    Allowed {
        krate: "cudart-shim/capture",
        modules: &[
            ("capture", "a captured launch is read from a folder or from a stream"),
            ("error", "an error names the file of a folder"),
            ("folder", "a folder holds one captured launch"),
            ("held", "a launch in memory is written to a folder or to a stream"),
            ("stream", "a stream stores launches as a folder holds them"),
        ],
    },
    Allowed {
        krate: "cudart-shim/capture",
        modules: &[
            ("manifest", "a manifest lists textures"),
            ("textures", "a texture reads the manifest's description of arrays"),
        ],
    },
    Allowed {
        krate: "cudart-shim/streams",
        modules: &[
            ("condition", "one thread polls the conditions of items and tells the engine"),
            ("engine", "the engine owns the lock, the executors and the waiting threads"),
            ("executor", "an executor takes items from the engine"),
            ("per_thread", "a per-thread stream is a stream of the engine"),
            ("quiescence", "quiescence is a state of the engine's items"),
            ("wait", "a waiting thread wakes by the engine's lock"),
        ],
    },
    Allowed {
        krate: "functional",
        modules: &[
            ("bind", "the binder chooses ops by each op's own rules"),
            ("device", "a device holds the observers and the checker of its kernels"),
            ("dynamic_parallelism", "requests of a grid's threads launch grids on its device"),
            ("engine", "a grid holds device, launch sizes, requests and checkers' states, and runs ops"),
            ("launch", "a launch holds the runtime that serves its kernel's requests, and runs a grid"),
            ("ops", "an op is a function over the engine's warp, with its own rules of binding"),
            ("sanitizer", "a checker observes warps, and its states live in the grid and the CTAs"),
        ],
    },
    Allowed {
        krate: "functional",
        modules: &[
            ("suspend", "a suspended launch holds the state of a timed one"),
            ("timed", "a timed launch starts from a suspended one"),
        ],
    },
    Allowed {
        krate: "ptx-frontend",
        modules: &[
            ("cache", "the cache stores decoded modules, and refuses with their errors"),
            ("diagnostic", "an error quotes the disassembled instruction"),
            ("disassemble", "the disassembly prints a module"),
            ("module", "a module decodes, validates and caches its functions"),
            ("validate", "validation reports diagnostics of the module"),
        ],
    },
    Allowed {
        krate: "tests/oracle",
        modules: &[
            ("kernel", "a kernel executes a variant"),
            ("operands", "operands depend on the variant"),
            ("variant", "a variant writes its kernel"),
        ],
    },
    Allowed {
        krate: "timing",
        modules: &[
            ("sm", "units of an SM read keys of other units, such as the chip's and the caches'"),
            ("specification", "the specification of a GPU has the sections of all units"),
        ],
    },
];

fn graphs() -> BTreeMap<String, ModuleGraph> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace");
    let crates = crates(workspace).expect("the workspace can be read");
    let graph = |sources: &Path| ModuleGraph::of_sources(sources, 1).expect("the sources can be read");
    crates.iter().map(|(name, sources)| (name.clone(), graph(sources))).collect()
}

fn allowed(krate: &str) -> Vec<BTreeSet<&'static str>> {
    let lists = ALLOWED.iter().filter(|allowed| allowed.krate == krate);
    lists.map(|allowed| allowed.modules.iter().map(|(module, _)| *module).collect()).collect()
}

/// Who names whom in a cycle, a line for each arrow.
fn arrows(graph: &ModuleGraph, cycle: &BTreeSet<&str>) -> String {
    let mut text = String::new();
    for from in cycle {
        for (to, file) in graph.named_by(from).filter(|(to, _)| cycle.contains(to)) {
            let _ = writeln!(text, "    {from} names {to}: {}", file.display());
        }
    }
    text
}

#[test]
fn modules_are_in_no_cycle_but_those_listed() {
    let graphs = graphs();
    assert!(graphs.len() > 20, "the crates of the workspace are found");
    let mut wrong = String::new();
    for (krate, graph) in &graphs {
        let allowed = allowed(krate);
        for cycle in graph.cycles() {
            if !allowed.iter().any(|list| cycle.is_subset(list)) {
                let _ = writeln!(wrong, "{krate}: {cycle:?} are in a cycle\n{}", arrows(graph, &cycle));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn each_listed_cycle_is_there_with_all_its_modules() {
    let graphs = graphs();
    for Allowed { krate, modules } in ALLOWED {
        for (module, reason) in *modules {
            assert!(!reason.is_empty(), "{krate}: `{module}` has a reason");
        }
        let graph = graphs.get(*krate).expect("the list names a crate");
        let listed: BTreeSet<&str> = modules.iter().map(|(module, _)| *module).collect();
        let cycles = graph.cycles();
        assert!(
            cycles.contains(&listed),
            "{krate}: {listed:?} is no cycle any more; the list must name one of {cycles:?}"
        );
    }
}
