//! Statistics as CSV: a row for each launch.

use std::fmt::Write as _;

use super::{LaunchRecord, Report, channels, quoted, size};
use crate::statistics::DERIVED;

pub(super) fn write(report: &Report) -> String {
    let mut text =
        "launch,kernel,stream,grid,block,registers,shared_bytes,start,cycles,warp_instructions,shared,simulated_cycles"
            .to_owned();
    let columns = report.launches.first().map_or(&[][..], |launch| &launch.counters);
    for (counter, _) in columns {
        let _ = write!(text, ",{}.{}", counter.section, counter.name);
    }
    for ratio in DERIVED {
        let _ = write!(text, ",{}.{}", ratio.section, ratio.name);
    }
    for column in channels::columns() {
        let _ = write!(text, ",{column}");
    }
    text.push('\n');
    for launch in &report.launches {
        row(&mut text, launch);
    }
    text
}

fn row(text: &mut String, launch: &LaunchRecord) {
    let LaunchRecord {
        launch: number,
        stream,
        registers,
        shared_bytes,
        start,
        cycles,
        warp_instructions,
        shared,
        ..
    } = launch;
    let (kernel, grid, block) = (quoted(&launch.kernel), size(launch.grid), size(launch.block));
    let _ = write!(
        text,
        "{number},{kernel},{stream},{grid},{block},{registers},{shared_bytes},{start},{cycles},{warp_instructions},{shared},{}",
        launch.simulated_cycles()
    );
    for (_, value) in &launch.counters {
        let _ = write!(text, ",{value}");
    }
    for ratio in DERIVED {
        let _ = match ratio.of(&launch.counters) {
            Some(value) => write!(text, ",{value}"),
            None => write!(text, ","),
        };
    }
    for field in channels::fields(&launch.channels, &launch.counters) {
        let _ = write!(text, ",{field}");
    }
    text.push('\n');
}
