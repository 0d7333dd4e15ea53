//! Rust source of the core's function tables: one slot per exported function of each library.

use crate::{Function, Library, Signature, State, TableError, driver, exports, linker, management, runtime};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Source for `include!` in the core: `STUB_NAMES` and `STUB_ERRORS`, one slot table per library,
/// and the `cuGetProcAddress` names. Tests also get the signature of each body. A function marked
/// `done` that has no body is an unresolved path in this source.
pub fn generate() -> Result<String, TableError> {
    let stubs = stubs()?;
    let mut text = String::new();
    let names: Vec<_> = stubs.keys().collect();
    let errors: Vec<_> = stubs.values().map(|error| format!("Error::{error}")).collect();
    let count = stubs.len();
    let _ = writeln!(text, "pub(crate) static STUB_NAMES: [&str; {count}] = {names:?};");
    let _ = writeln!(text, "pub(crate) static STUB_ERRORS: [Error; {count}] = [{}];", errors.join(", "));
    let fingerprints = Library::ALL.map(Library::fingerprint).into_iter().collect::<Result<Vec<_>, _>>()?;
    let _ =
        writeln!(text, "pub(crate) static FINGERPRINTS: [u64; {}] = {fingerprints:?};", fingerprints.len());
    for library in Library::ALL {
        let functions = exports(library)?;
        let _ = writeln!(text, "pub(crate) static {library:?}: [Slot; {}] = [", functions.len());
        for function in &functions {
            let _ = match function.state {
                State::Done(body) => writeln!(text, "body!({}::{body}),", module(function)),
                _ => {
                    writeln!(
                        text,
                        "Slot::Stub({}),",
                        names.binary_search(&&function.name).unwrap_or_default()
                    )
                }
            };
        }
        text.push_str("];\n");
    }
    needs(&mut text)?;
    lookups(&mut text)?;
    signatures(&mut text)?;
    Ok(text)
}

/// Assembly of the stubs, 16 bytes apart: each hands its number and the address it was called from
/// to `{report}`.
pub fn stub_assembly() -> Result<String, TableError> {
    Ok(format!(
        ".text\n.balign 16\n.globl voltsim_stubs\n.hidden voltsim_stubs\nvoltsim_stubs:\n.set stub, 0\n.rept {}\n\
         .balign 16\nmovl $stub,%edi\nmovq (%rsp),%rsi\njmp {{report}}\n.set stub, stub+1\n.endr\n",
        stubs()?.len()
    ))
}

/// The functions without a body, and the error that each returns.
fn stubs() -> Result<BTreeMap<&'static str, &'static str>, TableError> {
    let functions = runtime()?.into_iter().chain(driver()?).chain(management()?).chain(linker()?);
    let error = |function: &Function| match function.state {
        State::Done(_) => None,
        State::Stub => Some((function.name, "NotSupported")),
        State::Refused(error) => Some((function.name, error)),
    };
    Ok(functions.filter_map(|function| error(&function)).collect())
}

fn module(function: &Function) -> &'static str {
    match function.libraries[..] {
        [Library::Cuda] => "crate::api::driver",
        [Library::Nvml] => "crate::api::nvml",
        [Library::NvJitLink12 | Library::NvJitLink13, ..] => "crate::api::nvjitlink",
        _ => "crate::api::runtime",
    }
}

/// Modules `Runtime` and `Driver` with the context that each body needs, by the body's name.
fn needs(text: &mut String) -> Result<(), TableError> {
    // A body that returns no status has no check.
    for (module, functions) in [("Runtime", runtime()?), ("Driver", driver()?)] {
        let needs: BTreeMap<_, _> = functions
            .iter()
            .filter_map(|function| match function.state {
                State::Done(body) => Some((body, function.need)),
                _ => None,
            })
            .collect();
        let _ = writeln!(text, "#[allow(dead_code)]\npub(crate) mod {module} {{ use crate::abi::call::Need;");
        for (body, need) in needs {
            let _ = writeln!(text, "pub(crate) const {body}: Need = Need::{need:?};");
        }
        text.push_str("}\n");
    }
    Ok(())
}

fn lookups(text: &mut String) -> Result<(), TableError> {
    let functions = driver()?;
    let mut lookups: Vec<_> = functions
        .iter()
        .enumerate()
        .flat_map(|(slot, function)| function.lookups.iter().map(move |lookup| (lookup, slot)))
        .collect();
    lookups.sort_by_key(|(lookup, _)| (lookup.name, lookup.since));
    let _ = writeln!(text, "pub(crate) static LOOKUPS: [Lookup; {}] = [", lookups.len());
    for (lookup, slot) in lookups {
        let _ = writeln!(
            text,
            "Lookup {{ name: {:?}, since: {}, per_thread: {}, slot: {slot} }},",
            lookup.name,
            lookup.since,
            lookup.streams == crate::Streams::PerThread,
        );
    }
    text.push_str("];\n");
    Ok(())
}

fn signatures(text: &mut String) -> Result<(), TableError> {
    text.push_str("#[cfg(test)]\npub(crate) fn bodies() -> Vec<(&'static str, &'static str, api_table::Signature)> {\nvec![\n");
    for function in runtime()?.iter().chain(&driver()?).chain(&management()?).chain(&linker()?) {
        let (State::Done(body), Some(signature)) = (function.state, Signature::parse(function.signature))
        else {
            continue;
        };
        let holes = "_,".repeat(signature.arguments.len());
        let _ = writeln!(
            text,
            "({:?}, {:?}, signature_of({}::{body} as unsafe extern \"C\" fn({holes}) -> _)),",
            function.name,
            function.signature,
            module(function),
        );
    }
    text.push_str("]\n}\n");
    Ok(())
}
