//! Statistics as CSV: a row per launch, per device copy or fill, per stream, and one for the run.
//! Launches alone have numbers.

use std::fmt::Write as _;
use std::io;

use warp_stream::kernel_name::signature;

use super::sums::Sums;
use super::{LaunchRecord, Run, Total, TransferRecord, channels, pass_on, quoted, size};
use timing::dram::ChannelCounts;
use timing::sm::Occupancy;
use timing::statistics::{Counts, DERIVED};

/// Columns before the counters.
const ABOUT: &str = "launch,kernel,stream,grid,block,registers,registers.source,shared_bytes,start,cycles,warp_instructions,shared,\
     simulated_cycles,launches,ctas_per_sm,occupancy_limit,theoretical_occupancy,ctas_by_warps,ctas_by_slots,\
     ctas_by_registers,ctas_by_shared_memory";

/// Last column: the kernel's mangled name.
const MANGLED: &str = ",mangled\n";

pub(super) fn write(run: &Run<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let Sums { total, streams, .. } = &run.sums;
    let mut text = ABOUT.to_owned();
    // All records have the counters of the total.
    for (counter, _) in &total.counters {
        let _ = write!(text, ",{}.{}", counter.section, counter.name);
    }
    for ratio in DERIVED {
        let _ = write!(text, ",{}.{}", ratio.section, ratio.name);
    }
    for column in channels::columns() {
        let _ = write!(text, ",{column}");
    }
    text.push_str(MANGLED);
    for launch in run.launches() {
        let launch = launch?;
        text += &about(&launch);
        counts(&mut text, &launch.counters, &launch.channels);
        let _ = writeln!(text, ",{}", quoted(&launch.kernel));
        pass_on(&mut text, out)?;
    }
    for transfer in run.transfers() {
        let transfer = transfer?;
        let TransferRecord { stream, start, cycles, shared, .. } = &*transfer;
        let name = quoted(transfer.name());
        let _ = write!(text, ",{name},{stream},,,,,,{start},{cycles},0,{shared},{cycles},0,,,,,,,");
        counts(&mut text, &transfer.counters, &transfer.channels);
        text.push_str(",\n");
        pass_on(&mut text, out)?;
    }
    let streams = streams.iter().map(|(number, sum)| (format!("stream {number}"), number.to_string(), sum));
    let all =
        run.partial.map_or_else(|| "all".to_owned(), |cause| format!("all (partial: ended by {cause})"));
    for (name, stream, sum) in streams.chain([(all, String::new(), total)]) {
        let Total { launches, cycles, counters, channels, transfers: _ } = sum;
        let _ = write!(text, ",{},{stream},,,,,,,{cycles},,,,{launches},,,,,,,", quoted(&name));
        counts(&mut text, counters, channels);
        text.push_str(",\n");
    }
    pass_on(&mut text, out)
}

/// Fields of a launch before the counters.
fn about(launch: &LaunchRecord) -> String {
    let LaunchRecord {
        launch: number,
        stream,
        registers,
        register_source,
        shared_bytes,
        start,
        cycles,
        warp_instructions,
        shared,
        occupancy,
        ..
    } = launch;
    let kernel = quoted(&signature(&launch.kernel));
    let (grid, block) = (size(launch.shape.grid), size(launch.shape.block));
    let source = register_source.name();
    let simulated = launch.simulated_cycles();
    let Occupancy { ctas, limit, by_warps, by_ctas, by_registers, by_shared, .. } = occupancy;
    let (limit, theoretical) = (limit.name(), occupancy.theoretical());
    let by_shared = by_shared.map_or_else(String::new, |ctas| ctas.to_string());
    format!(
        "{number},{kernel},{stream},{grid},{block},{registers},{source},{shared_bytes},{start},{cycles},{warp_instructions},{shared},\
         {simulated},1,{ctas},{limit},{theoretical},{by_warps},{by_ctas},{by_registers},{by_shared}"
    )
}

fn counts(text: &mut String, counters: &Counts, dram: &[ChannelCounts]) {
    for (_, value) in counters {
        let _ = write!(text, ",{value}");
    }
    for ratio in DERIVED {
        let _ = match ratio.of(counters) {
            Some(value) => write!(text, ",{value}"),
            None => write!(text, ","),
        };
    }
    for field in channels::fields(dram, counters) {
        let _ = write!(text, ",{field}");
    }
}
