//! What the tests of the built libraries share.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The checkout.
pub fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Folder with the libraries, freshly built.
pub fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // target/tmp lies beside target/debug.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
        let output = target.join(if cfg!(debug_assertions) { "debug" } else { "release" });
        library_folder::build(&output, checkout()).expect("the libraries build");
        library_folder::prepare(&output, checkout()).expect("the libraries are in place")
    })
}
