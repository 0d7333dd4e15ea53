//! Column copy: the experiment of Nugteren et al., Fig. 3, with the misses of a GeForce GTX 470.
//!
//! Each thread of a single CTA copies a row of a matrix of 1,024 columns, a word of 4 B at a time.
//! A warp's load touches 32 lines, which its next loads use again.

use crate::accesses::{Header, Kind, Launch, LaunchAccesses, line_word};
use warp_stream::LaunchShape;

/// Columns of the matrix.
const COLUMNS: u64 = 1024;
/// Bytes of a word.
const WORD: u64 = 4;
/// Address of the source. The destination follows it.
const SOURCE: u64 = 0x0110_0000;

/// Threads, and the share of L1 misses that the card's counters show.
pub const MEASURED: [(u32, f64); 6] =
    [(32, 0.0313), (64, 0.0377), (128, 0.3271), (256, 0.4205), (512, 0.6720), (1024, 0.8228)];

/// The accesses of a launch with so many threads.
pub fn accesses(threads: u32) -> LaunchAccesses {
    let launch = Launch {
        kernel: "column_copy".to_owned(),
        number: 1,
        shape: LaunchShape::new([1; 3], [threads, 1, 1]),
        registers: 10,
        shared_bytes: 0,
        local_bytes: 0,
        lines: vec![0; 2],
    };
    let bytes = u64::from(threads) * COLUMNS * WORD;
    let warp = |warp: u64| {
        let mut words = Vec::new();
        for column in 0..COLUMNS {
            for (position, kind) in [(0, Kind::Load), (1, Kind::Store)] {
                let waits = kind == Kind::Store;
                words.push(Header { position, lines: 32, kind, waits, is_local: false, gap: 2 }.word());
                for lane in 0..32 {
                    let row = warp * 32 + lane;
                    let address = SOURCE + u64::from(position) * bytes + (row * COLUMNS + column) * WORD;
                    words.push(line_word(address, 1 << (address % 128 / 32)));
                }
            }
        }
        words
    };
    LaunchAccesses::new(launch, (0..u64::from(threads / 32)).map(warp))
}
