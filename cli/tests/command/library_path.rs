//! Programs that are started without the command, by a library path alone.

use super::Workplace;
use super::launches::libraries;

/// A program that asks the driver for a table of functions as newer static runtimes do.
const STATIC_RUNTIME: &str = "
    #include <stdio.h>
    int cuInit(unsigned);
    int cuGetExportTable(const void **, const void *);
    int main(void)
    {
        const void *table;
        cuInit(0);
        printf(\"%d\\n\", cuGetExportTable(&table, \"0123456789abcdef\"));
        return 0;
    }";

#[test]
fn a_static_runtime_says_that_a_library_path_is_not_enough() {
    let place = Workplace::new();
    let library = libraries().join("libcuda.so.1");
    place.compile(STATIC_RUNTIME, "program", &[library.to_str().unwrap()]);
    let settings = [("LD_LIBRARY_PATH", libraries().to_owned()), ("LD_PRELOAD", "".into())];
    let outcome = place.run_with(&place.path("program"), &[], &settings);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "1\n"));
    let said = "program: it contains a static CUDA runtime (nvcc's default); \
                LD_LIBRARY_PATH alone does not replace it\n  remedy: start the program with `voltsim run`";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    let outcome = place.voltsim(&["run", "--", "./program"]);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("1\n", ""));
}
