//! Statistics for people.

use std::fmt::Write as _;
use std::io;

use warp_stream::kernel_name::signature;

use super::sums::Sums;
use timing::record::{Simulated, TransferRecord};

use super::{Run, Transfers, channels, pass_on, size};
use timing::sm::Occupancy;
use timing::statistics::{Counter, DERIVED, Kind};

pub(super) fn write(run: &Run<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = String::new();
    for launch in run.launches() {
        let launch = launch?;
        let (grid, block) = (size(launch.shape.grid), size(launch.shape.block));
        let beside = if launch.shared { ", concurrent with others" } else { "" };
        let from = launch.simulated.map_or_else(String::new, |Simulated { ctas, cycles, unsure, .. }| {
            format!(" (within {unsure}), extrapolated from {cycles} cycles of the first {ctas} CTAs")
        });
        let _ = writeln!(
            text,
            "launch {} {} stream {} grid {grid} block {block}: {} cycles{from}{beside}",
            launch.launch,
            signature(&launch.kernel),
            launch.stream,
            launch.cycles
        );
        let (registers, source) = (launch.registers, launch.register_source.name());
        let _ = writeln!(text, "  {registers} registers a thread, from {source}");
        occupancy(&mut text, &launch.occupancy);
        counts(&mut text, &launch.counters);
        channels::text(&mut text, &launch.channels, &launch.counters);
        pass_on(&mut text, out)?;
    }
    for transfer in run.transfers() {
        let transfer = transfer?;
        let beside = if transfer.shared { ", concurrent with others" } else { "" };
        let TransferRecord { stream, bytes, cycles, .. } = &*transfer;
        let _ = writeln!(text, "{} stream {stream}, {bytes} bytes: {cycles} cycles{beside}", transfer.name());
        counts(&mut text, &transfer.counters);
        channels::text(&mut text, &transfer.channels, &transfer.counters);
        pass_on(&mut text, out)?;
    }
    let Sums { total, streams, .. } = &run.sums;
    let sums = streams.iter().map(|(number, sum)| (format!("stream {number}"), sum));
    for (name, sum) in sums.chain([("all".to_owned(), total)]) {
        let and = match sum.transfers {
            Transfers { number: 0, .. } => String::new(),
            Transfers { number, bytes, cycles } => {
                format!(", of which {cycles} in {number} copies within the device and fills ({bytes} bytes)")
            }
        };
        let _ = writeln!(text, "{name}: {} launches, {} cycles{and}", sum.launches, sum.cycles);
        counts(&mut text, &sum.counters);
        channels::text(&mut text, &sum.channels, &sum.counters);
    }
    let _ = writeln!(text, "deterministic for any number of threads: {}", run.same_bytes.name());
    let energies = match run.power.map(|power| power.0.as_ref()) {
        None => String::new(),
        Some(None) => "energies: none, because the GPU's file has no [power]\n".to_owned(),
        Some(Some(power)) if power.derived => format!("energies: derived from a {}\n", power.spec.card),
        Some(Some(power)) => format!("energies: of a {}\n", power.spec.card),
    };
    text += &energies;
    if let Some(cause) = run.partial {
        let _ = writeln!(text, "partial: ended by {cause} after {} launches", total.launches);
    }
    pass_on(&mut text, out)
}

fn occupancy(text: &mut String, occupancy: &Occupancy) {
    let Occupancy { ctas, limit, warps, warp_slots, by_warps, by_ctas, by_registers, by_shared } = occupancy;
    let shared = by_shared.map_or_else(|| "no limit".to_owned(), |ctas| ctas.to_string());
    let _ = writeln!(
        text,
        "  {ctas} CTAs with {warps} of {warp_slots} warps fit an SM, limited by {} (warps allow {by_warps}, CTA slots {by_ctas}, \
         registers {by_registers}, shared memory {shared})",
        limit.name()
    );
}

fn counts(text: &mut String, counters: &[(&'static Counter, u64)]) {
    for ratio in DERIVED {
        if let Some(value) = ratio.of(counters) {
            let name = format!("{}.{}", ratio.section, ratio.name);
            let _ = writeln!(text, "  {name:<40} {value:>16.3} {}", ratio.unit);
        }
    }
    let shown = |(counter, value): &&(&Counter, u64)| counter.kind != Kind::Part || *value > 0;
    for (counter, value) in counters.iter().filter(shown) {
        let name = format!("{}.{}", counter.section, counter.name);
        let _ = writeln!(text, "  {name:<40} {value:>16} {}", counter.unit);
    }
}
