//! Statistics as CSV: a row for each launch.

use std::fmt::Write as _;

use super::{LaunchRecord, Report, channels, quoted, size};
use crate::sm::Occupancy;
use crate::statistics::DERIVED;

pub(super) fn write(report: &Report) -> String {
    let mut text =
        "launch,kernel,stream,grid,block,registers,shared_bytes,start,cycles,warp_instructions,shared,simulated_cycles"
            .to_owned();
    text += ",ctas_per_sm,occupancy_limit,theoretical_occupancy";
    text += ",ctas_by_warps,ctas_by_slots,ctas_by_registers,ctas_by_shared_memory";
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
    let Occupancy { ctas, limit, by_warps, by_ctas, by_registers, by_shared, .. } = launch.occupancy;
    let (limit, theoretical) = (limit.name(), launch.occupancy.theoretical());
    let shared = by_shared.map_or_else(String::new, |ctas| ctas.to_string());
    let _ = write!(text, ",{ctas},{limit},{theoretical},{by_warps},{by_ctas},{by_registers},{shared}");
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
