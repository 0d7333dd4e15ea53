//! The programs whose kernels were measured, with arguments and inputs of the measured launches.

use super::super::inputs::{Input, TREE_COMMANDS};

/// A program.
pub(super) struct Program {
    /// Name in the table.
    pub(super) name: &'static str,
    /// Name of the executable, if it is another one.
    pub(super) executable: Option<&'static str>,
    pub(super) arguments: &'static [&'static str],
    pub(super) inputs: &'static [Input],
    /// Launches that are timed, as for `voltsim run --only`; all if empty.
    pub(super) only: &'static str,
    /// The ends of launches are extrapolated.
    pub(super) until_stable: bool,
}

const PLAIN: Program =
    Program { name: "", executable: None, arguments: &[], inputs: &[], only: "", until_stable: false };

/// A product of matrices by CUTLASS: the second launch.
const CUTLASS: Program = Program { executable: Some("cutlass"), only: "launch=2", ..PLAIN };

/// Programs by name. The measured launches repeat, so a few of each kernel stand for all. The
/// picture of `sad` is smaller than the card's (704 x 576 instead of 1,920 x 1,072).
pub(super) const PROGRAMS: &[Program] = &[
    Program { name: "backprop", arguments: &["65536"], ..PLAIN },
    Program {
        name: "b+tree",
        arguments: &["file", "keys.txt", "command", "commands.txt"],
        inputs: &[Input::Keys("keys.txt", 1_000_000), TREE_COMMANDS],
        ..PLAIN
    },
    Program { name: "pathfinder", arguments: &["100000", "100", "20"], only: "launch=1..2", ..PLAIN },
    Program {
        name: "hotspot",
        arguments: &["1024", "2", "2", "temperatures.txt", "powers.txt", "output.txt"],
        inputs: &[
            Input::Numbers("temperatures.txt", 1024 * 1024, 323.0, 342.0),
            Input::Numbers("powers.txt", 1024 * 1024, 0.0, 0.01),
        ],
        only: "launch=1",
        ..PLAIN
    },
    Program {
        name: "srad_v1",
        arguments: &["6", "0.5", "502", "458"],
        inputs: &[Input::Graymap("image.pgm", 458, 502)],
        only: "kernel=*srad*,launch=1..10",
        ..PLAIN
    },
    Program {
        name: "kmeans",
        arguments: &["-o", "-i", "points.txt", "-l", "1"],
        inputs: &[Input::Points("points.txt", 819_200, 34)],
        only: "launch=1..2",
        until_stable: true,
        ..PLAIN
    },
    Program {
        name: "sad",
        arguments: &["-i", "reference.bin,frame.bin", "-o", "output.bin"],
        inputs: &[Input::Picture("reference.bin", 704, 576), Input::Picture("frame.bin", 704, 576)],
        only: "kernel=*mb_sad_calc(*",
        until_stable: true,
        ..PLAIN
    },
    Program {
        name: "sgemm",
        arguments: &["-i", "a.txt,b.txt,bt.txt", "-o", "c.txt"],
        inputs: &[
            Input::Matrix("a.txt", 1024, 992),
            Input::Matrix("b.txt", 992, 1056),
            Input::Matrix("bt.txt", 1056, 992),
        ],
        until_stable: true,
        ..PLAIN
    },
    Program {
        name: "mri-q",
        arguments: &["-i", "trajectory.bin", "-o", "output.bin"],
        inputs: &[Input::Trajectory("trajectory.bin", 2048, 262_144)],
        only: "kernel=*ComputeQ*",
        until_stable: true,
        ..PLAIN
    },
    Program { name: "dct8x8", only: "launch=1..14", ..PLAIN },
    Program { name: "binomialOptions", only: "launch=1", until_stable: true, ..PLAIN },
    Program { name: "fastWalshTransform", only: "launch=6..7", ..PLAIN },
    Program { name: "histogram", only: "launch=1..2", ..PLAIN },
    Program { name: "mergeSort", only: "launch=1..5", ..PLAIN },
    Program { name: "quasirandomGenerator", only: "launch=20..24", ..PLAIN },
    Program { name: "SobolQRNG", only: "launch=1", ..PLAIN },
    Program { name: "cudaTensorCoreGemm", ..PLAIN },
    Program { name: "cutlass-2560x16x2560", arguments: &["2560", "16", "2560"], ..CUTLASS },
    Program { name: "cutlass-4096x128x4096", arguments: &["4096", "128", "4096"], ..CUTLASS },
    Program { name: "cutlass-2560x512x2560", arguments: &["2560", "512", "2560"], ..CUTLASS },
];
