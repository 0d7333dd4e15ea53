//! Memory chart: units with the traffic between them, as Nsight Compute draws it.

use crate::draw::{Anchor, Svg, WIDTH, tip_attribute};
use crate::format::{bytes, escape, grouped, percent, point, scaled};
use crate::input::Counts;

/// Bytes of a sector.
const SECTOR: f64 = 32.0;
/// Lines of the chart: centres of the rows.
const ROWS: [f64; 5] = [52.0, 116.0, 180.0, 244.0, 308.0];

/// The chart of a launch.
pub(crate) fn chart(counts: &Counts) -> String {
    let mut svg = Svg::new(WIDTH, 352.0, "Traffic between kernel, caches and memories");
    svg.raw(
        "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0L8 4L0 8Z\" class=\"head\"/></marker></defs>",
    );
    spaces(&mut svg, counts);
    caches(&mut svg, counts);
    svg.finish()
}

/// A box with a name and lines below it.
fn unit(svg: &mut Svg, [x, y, width, height]: [f64; 4], share: Option<f64>, name: &str, lines: &[String]) {
    svg.rect([x, y, width, height], "unit", "");
    if let Some(share) = share {
        let filled = height * share.clamp(0.0, 100.0) / 100.0;
        let tip = format!("{name} at {} of its peak", percent(share));
        svg.rect([x, y + height - filled, width, filled], "fill", &tip);
    }
    let middle = x + width / 2.0;
    let first = y + height / 2.0 + 4.0 - 9.0 * lines.len() as f64;
    svg.text((middle, first), Anchor::Middle, "unitname", name);
    for (place, line) in (1..).zip(lines) {
        svg.text((middle, first + 18.0 * f64::from(place)), Anchor::Middle, "unitline", line);
    }
}

/// An arrow with a text above it; its width grows with the logarithm of the bytes.
fn arrow(svg: &mut Svg, y: f64, (from, to): (f64, f64), amount: f64, text: &str, tip: &str) {
    let class = if amount > 0.0 { "flow" } else { "flow none" };
    let width = if amount > 0.0 { (amount.log10() / 3.0).clamp(1.0, 3.5) } else { 1.0 };
    svg.raw(&format!(
        "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{class}\" stroke-width=\"{}\" marker-end=\"url(#head)\"{}/>",
        point(from),
        point(y),
        point(to),
        point(y),
        point(width),
        tip_attribute(tip)
    ));
    svg.text(((from + to) / 2.0, y - 7.0), Anchor::Middle, "flowtext", text);
}

/// Kernel and memory spaces on the left side.
fn spaces(svg: &mut Svg, counts: &Counts) {
    let requests = |names: &[&str]| counts.sum(names);
    let spaces = [
        (
            "Global",
            requests(&[
                "coalescer.global_load_requests",
                "coalescer.global_store_requests",
                "coalescer.atomic_requests",
                "coalescer.reduction_requests",
            ]),
            requests(&[
                "coalescer.global_load_sectors",
                "coalescer.global_store_sectors",
                "coalescer.atomic_sectors",
                "coalescer.reduction_sectors",
            ]),
        ),
        (
            "Local",
            requests(&["coalescer.local_load_requests", "coalescer.local_store_requests"]),
            requests(&["coalescer.local_load_sectors", "coalescer.local_store_sectors"]),
        ),
        ("Texture", requests(&["coalescer.texture_requests"]), requests(&["coalescer.texture_sectors"])),
        ("Constant", requests(&["constant.requests"]), f64::NAN),
        (
            "Shared",
            requests(&["shared.load_requests", "shared.store_requests", "shared.atomic_requests"]),
            f64::NAN,
        ),
    ];
    unit(svg, [0.0, 24.0, 96.0, 312.0], None, "Kernel", &[]);
    for ((name, requests, sectors), y) in spaces.into_iter().zip(ROWS) {
        unit(svg, [216.0, y - 20.0, 150.0, 40.0], None, name, &[]);
        let text = format!("{} requests", scaled(requests, "").trim());
        arrow(svg, y, (96.0, 214.0), requests, &text, &format!("{name}: {} requests", grouped(requests)));
        if sectors.is_nan() {
            arrow(svg, y, (366.0, 468.0), requests, "", "");
            continue;
        }
        let amount = sectors * SECTOR;
        let tip = format!("{name}: {} sectors, {}", grouped(sectors), bytes(amount));
        arrow(svg, y, (366.0, 468.0), amount, &bytes(amount), &tip);
    }
}

/// Caches and DRAM on the right side.
fn caches(svg: &mut Svg, counts: &Counts) {
    let hits = |name: &str| counts.value(name).map_or_else(|| "–".to_owned(), percent);
    let share = |name: &str| counts.value(name);
    let l1_share = {
        let cycles = counts.counter("gpu.sm_cycles");
        (cycles > 0.0).then(|| 100.0 * counts.sum(&["l1.passes", "shared.passes"]) / cycles)
    };
    unit(
        svg,
        [470.0, 24.0, 130.0, 184.0],
        l1_share,
        "L1/TEX cache",
        &["hit rate".to_owned(), hits("l1.hit_rate")],
    );
    let passes = counts.counter("shared.passes");
    let constant = counts
        .ratio("constant.hits", "constant.requests")
        .map_or_else(|| "–".to_owned(), |it| percent(100.0 * it));
    unit(
        svg,
        [470.0, ROWS[3] - 22.0, 130.0, 44.0],
        None,
        "Constant cache",
        &[format!("hit rate {constant}")],
    );
    unit(
        svg,
        [470.0, ROWS[4] - 22.0, 130.0, 44.0],
        None,
        "Shared memory",
        &[format!("{} passes", scaled(passes, ""))],
    );
    unit(
        svg,
        [722.0, 24.0, 130.0, 312.0],
        share("l2.utilisation"),
        "L2 cache",
        &["hit rate".to_owned(), hits("l2.hit_rate")],
    );
    unit(
        svg,
        [974.0, 24.0, 106.0, 312.0],
        share("dram.utilisation"),
        "DRAM",
        &["peak".to_owned(), hits("dram.utilisation")],
    );
    let flow = |svg: &mut Svg, y: f64, ends: (f64, f64), name: &str, sectors: f64| {
        let amount = sectors * SECTOR;
        arrow(
            svg,
            y,
            ends,
            amount,
            &bytes(amount),
            &format!("{name}: {} sectors, {}", grouped(sectors), bytes(amount)),
        );
    };
    let read = counts.value("l1.sectors_read_from_l2").unwrap_or(0.0);
    let written = counts.value("l1.sectors_written_to_l2").unwrap_or(0.0);
    let atomics = counts.sum(&["l2.sectors_atomic", "l2.sectors_reduction"]);
    flow(svg, ROWS[0], (720.0, 602.0), "L2 to L1", read);
    flow(svg, ROWS[1], (600.0, 720.0), "L1 to L2", written);
    flow(svg, ROWS[2], (600.0, 720.0), "Atomics to L2", atomics);
    flow(svg, ROWS[1], (972.0, 854.0), "DRAM to L2", counts.counter("dram.reads"));
    flow(svg, ROWS[3], (852.0, 972.0), "L2 to DRAM", counts.counter("dram.writes"));
    let constants = counts.sum(&["l2.sectors_constant", "l2.sectors_instruction"]);
    flow(svg, ROWS[3], (720.0, 602.0), "Constants and instructions", constants);
}

/// The chart with its heading.
pub(crate) fn figure(counts: &Counts) -> String {
    format!(
        "<figure><figcaption>Memory chart: {}</figcaption>{}</figure>",
        escape("bytes between units; the filled part of L1, L2 and DRAM is the share of the peak"),
        chart(counts)
    )
}
