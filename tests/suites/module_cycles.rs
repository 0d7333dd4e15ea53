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
    modules: &'static [&'static str],
    /// Why the cycle is there.
    reason: &'static str,
}

const ALLOWED: &[Allowed] = &[
    Allowed {
        krate: "cudart-shim/capture",
        modules: &["capture", "error", "folder", "held", "stream"],
        reason: "a stream stores launches as a folder holds them, and errors name the folder's file",
    },
    Allowed {
        krate: "cudart-shim/capture",
        modules: &["manifest", "textures"],
        reason: "a manifest holds textures, which read its description of arrays",
    },
    Allowed {
        krate: "cudart-shim/streams",
        modules: &["condition", "engine", "executor", "per_thread", "quiescence", "wait"],
        reason: "each file has one concern of the engine's methods over its one lock",
    },
    Allowed {
        krate: "functional",
        modules: &[
            "bind",
            "device",
            "dynamic_parallelism",
            "engine",
            "launch",
            "ops",
            "parameters",
            "sanitizer",
        ],
        reason: "the binder writes ops that call the engine, and the engine binds what a kernel calls",
    },
    Allowed {
        krate: "functional",
        modules: &["suspend", "timed"],
        reason: "a suspended launch holds timed state, and a timed launch starts from a suspended one",
    },
    Allowed {
        krate: "ptx-frontend",
        modules: &["cache", "diagnostic", "disassemble", "module", "validate"],
        reason: "errors of validation quote the disassembly of the module that is validated",
    },
    Allowed {
        krate: "tests/oracle",
        modules: &["kernel", "operands", "variant"],
        reason: "a variant writes its kernel, whose operands depend on the variant",
    },
    Allowed {
        krate: "timing",
        modules: &["crossbar", "dram", "fidelity", "l2", "partition", "policy", "sm", "specification"],
        reason: "the specification of a GPU has the sections of its units, which read their keys with it",
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
    lists.map(|allowed| allowed.modules.iter().copied().collect()).collect()
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
    for Allowed { krate, modules, reason } in ALLOWED {
        assert!(!reason.is_empty(), "{krate}: the cycle of {modules:?} has a reason");
        let graph = graphs.get(*krate).expect("the list names a crate");
        let listed: BTreeSet<&str> = modules.iter().copied().collect();
        let cycles = graph.cycles();
        assert!(
            cycles.contains(&listed),
            "{krate}: {listed:?} is no cycle any more; the list must name one of {cycles:?}"
        );
    }
}
