//! A program that launches kernels, for the commands that capture, replay and compare launches.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::{Outcome, Workplace};

/// The kernels' PTX.
pub(crate) const KERNELS: &str = include_str!("kernels.ptx");

/// Line of the first instruction of the kernels that contains a text.
pub(crate) fn line_of(text: &str) -> usize {
    KERNELS.lines().position(|line| line.contains(text)).unwrap() + 1
}

/// The program's output: the sum of the numbers that `remainder` leaves, as an unsigned number.
pub(crate) const SUM: &str = "18446744073709550768\n";

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/launches")
}

/// Folder with the libraries, freshly built, beside the command.
pub(crate) fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let output = Path::new(env!("CARGO_BIN_EXE_voltsim")).parent().unwrap();
        let checkout = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        library_folder::build(output, checkout).unwrap();
        library_folder::prepare(output, checkout).unwrap()
    })
}

/// A workplace with the program in it, and its launches captured in the folder `captured`, with results.
pub(crate) struct Captured {
    pub(crate) place: Workplace,
}

impl Captured {
    /// The program, nothing captured yet.
    pub(crate) fn program() -> Captured {
        Captured::compiled("launches.c", "kernels.h", KERNELS)
    }

    /// The program that reads textures and writes to a surface, its launches captured.
    pub(crate) fn images() -> Captured {
        let captured = Captured::compiled("images.c", "images.h", include_str!("images.ptx"));
        let outcome = captured.capture(&["--results"]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
        captured
    }

    /// The program that reads and writes by references.
    pub(crate) fn references() -> Captured {
        Captured::compiled("references.c", "kernels.h", include_str!("references.ptx"))
    }

    /// The program that fills memory and copies it within the device.
    pub(crate) fn transfers() -> Captured {
        Captured::compiled("transfers.c", "kernels.h", KERNELS)
    }

    /// The program whose kernels allocate and free memory.
    pub(crate) fn heap() -> Captured {
        Captured::compiled("heap.c", "kernels.h", include_str!("heap.ptx"))
    }

    /// The program that touches what lies behind its memory.
    pub(crate) fn bounds() -> Captured {
        Captured::compiled("bounds.c", "kernels.h", include_str!("bounds.ptx"))
    }

    /// The program whose kernel has a mangled name.
    pub(crate) fn names() -> Captured {
        Captured::compiled("names.c", "kernels.h", include_str!("names.ptx"))
    }

    /// The program with a kernel whose CTAs are clusters.
    pub(crate) fn targets() -> Captured {
        Captured::compiled("targets.c", "kernels.h", include_str!("bounds.ptx"))
    }

    /// The program that SIGINT ends by the default action that it sets at its end.
    pub(crate) fn interrupted() -> Captured {
        Captured::compiled("interrupted.c", "kernels.h", include_str!("bounds.ptx"))
    }

    /// The program whose threads launch kernels.
    pub(crate) fn threads() -> Captured {
        Captured::compiled("threads.c", "kernels.h", include_str!("bounds.ptx"))
    }

    /// The program whose kernel launches others.
    pub(crate) fn nested() -> Captured {
        Captured::compiled("nested.c", "kernels.h", include_str!("nested.ptx"))
    }

    /// The program whose launches have many waves of CTAs on a small GPU.
    pub(crate) fn waves() -> Captured {
        Captured::compiled("waves.c", "kernels.h", include_str!("waves.ptx"))
    }

    /// The program whose kernels have a known limit each.
    pub(crate) fn limits() -> Captured {
        Captured::compiled("limits.c", "kernels.h", include_str!("limits.ptx"))
    }

    /// The program of [`Captured::program`] with its kernels as a fat binary.
    pub(crate) fn with_image(image: &[u8]) -> Captured {
        let literal: String = image.iter().map(|byte| format!("\\{byte:03o}")).collect();
        Captured::of("launches.c", "kernels.h", format!("\"{literal}\"\n"))
    }

    /// A program that includes its kernels' PTX as a text.
    fn compiled(source: &str, header: &str, kernels: &str) -> Captured {
        let lines = kernels.lines().map(|line| format!("\"{}\\n\"\n", line.replace('"', "\\\"")));
        Captured::of(source, header, lines.collect())
    }

    /// A program that includes its kernels as a C string.
    fn of(source: &str, header: &str, kernels: String) -> Captured {
        let place = Workplace::new();
        place.write(header, kernels);
        let include =
            format!("-I{}", Path::new(env!("CARGO_MANIFEST_DIR")).join("../cudart-shim/tests/c").display());
        let library = libraries().join("libcuda.so.1");
        let source = std::fs::read_to_string(here().join(source)).unwrap();
        place.compile(&source, "launches", &["-std=gnu11", "-I.", &include, library.to_str().unwrap()]);
        Captured { place }
    }

    /// The launches that `options` choose; the program repeats its three launches twice.
    pub(crate) fn with(options: &[&str]) -> Captured {
        let captured = Captured::program();
        let outcome = captured.capture(options);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
        captured
    }

    /// Runs the program under `voltsim capture -o captured`.
    pub(crate) fn capture(&self, options: &[&str]) -> Outcome {
        self.place.voltsim(&[&["capture", "-o", "captured"], options, &["--", "./launches", "2"]].concat())
    }

    /// Names of the folders captured, sorted.
    pub(crate) fn folders(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.place.path("captured")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Writes the kernels' PTX with a change to a file of this name.
    pub(crate) fn changed(&self, name: &str, from: &str, to: &str) {
        assert!(KERNELS.contains(from));
        self.place.write(name, KERNELS.replace(from, to));
    }

    /// Changes a file of the captured launches.
    pub(crate) fn edit(&self, file: &str, from: &str, to: &str) {
        let text = self.place.read(file);
        assert!(text.contains(from), "{text}");
        self.place.write(file, text.replace(from, to));
    }
}
