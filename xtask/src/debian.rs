//! Debian packages that tests need beyond Rust, gcc and Python.

use crate::process;
use std::path::Path;
use std::process::Command;

struct Package {
    name: &'static str,
    /// A file that proves the package's presence.
    file: &'static str,
    /// Tests that need it.
    tests: &'static str,
}

const PACKAGES: [Package; 11] = [
    Package { name: "g++", file: "/usr/bin/g++", tests: "all CUDA programs" },
    Package { name: "python3-venv", file: "/usr/bin/python3", tests: "all CUDA programs" },
    Package {
        name: "clang-19",
        file: "/usr/bin/clang++-19",
        tests: "CUDA programs compiled for Volta by clang",
    },
    Package {
        name: "clang-16",
        file: "/usr/bin/clang++-16",
        tests: "CUDA programs with texture references, compiled by clang with CUDA 11.8",
    },
    Package {
        name: "gcc-12-offload-nvptx",
        file: "/usr/lib/gcc/x86_64-linux-gnu/12/accel/nvptx-none/mkoffload",
        tests: "OpenMP and OpenACC programs compiled for the device by gcc",
    },
    Package {
        name: "python3-dev",
        file: "/usr/include/python3.11/Python.h",
        tests: "Triton, which compiles launchers",
    },
    Package {
        name: "valgrind",
        file: "/usr/bin/valgrind",
        tests: "memory checks of the host side, cost of the timing model",
    },
    Package {
        name: "libmpfr6",
        file: "/usr/lib/x86_64-linux-gnu/libmpfr.so.6",
        tests: "exact values of the approximate functions",
    },
    Package { name: "chromium", file: "/usr/bin/chromium", tests: "pages of reports in a browser" },
    Package { name: "m4", file: "/usr/bin/m4", tests: "generated sources" },
    Package { name: "make", file: "/usr/bin/make", tests: "programs with a makefile" },
];

impl Package {
    fn is_present(&self) -> bool {
        let venv =
            || process::succeeds(Command::new("/usr/bin/python3").args(["-c", "import ensurepip, venv"]));
        Path::new(self.file).exists() && (self.name != "python3-venv" || venv())
    }
}

/// True if the package is installed.
pub(crate) fn is_present(name: &str) -> bool {
    PACKAGES.iter().any(|package| package.name == name && package.is_present())
}

/// Installs missing packages if permitted; returns those still missing, as "package (tests)".
pub(crate) fn install_missing() -> Vec<String> {
    let missing = || PACKAGES.iter().filter(|package| !package.is_present());
    let names: Vec<&str> = missing().map(|package| package.name).collect();
    if !names.is_empty() {
        println!("installing Debian packages: {}", names.join(" "));
        apt_get(&["update", "--quiet"]);
        apt_get(&[&["install", "--quiet", "--yes", "--no-install-recommends"], names.as_slice()].concat());
    }
    missing().map(|package| format!("{} (Debian package {})", package.tests, package.name)).collect()
}

/// Installs a package that only some tests need, if permitted.
pub(crate) fn install(name: &str) {
    apt_get(&["update", "--quiet"]);
    apt_get(&["install", "--quiet", "--yes", "--no-install-recommends", name]);
}

/// Runs apt-get as root or through passwordless sudo.
fn apt_get(arguments: &[&str]) {
    let is_root = process::quiet(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let mut command = Command::new(if is_root { "env" } else { "sudo" });
    if !is_root {
        command.args(["--non-interactive", "env"]);
    }
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(arguments);
    if let Err(error) = process::quiet(&mut command) {
        eprintln!("{error}");
    }
}
