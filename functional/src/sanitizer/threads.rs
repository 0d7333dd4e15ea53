//! Text for threads.

use crate::engine::grid::Grid;

/// `thread (3,0,0)`.
pub(super) fn thread(grid: &Grid<'_>, warp: u32, lane: u32) -> String {
    let [x, y, z] = grid.shape.thread_at(warp * 32 + lane);
    format!("thread ({x},{y},{z})")
}

/// `threads (0,0,0) to (15,0,0), (18,0,0)`, for lanes of a warp.
pub(super) fn threads(grid: &Grid<'_>, warp: u32, lanes: u32) -> String {
    let coordinates = |lane: u32| {
        let [x, y, z] = grid.shape.thread_at(warp * 32 + lane);
        format!("({x},{y},{z})")
    };
    let mut runs: Vec<String> = Vec::new();
    let mut lane = 0;
    while lane < 32 {
        let length = (lanes >> lane).trailing_ones();
        match length {
            0 => {
                lane += 1;
                continue;
            }
            1 => runs.push(coordinates(lane)),
            _ => runs.push(format!("{} to {}", coordinates(lane), coordinates(lane + length - 1))),
        }
        lane += length;
    }
    let noun = if lanes.count_ones() == 1 { "thread" } else { "threads" };
    format!("{noun} {}", runs.join(", "))
}
