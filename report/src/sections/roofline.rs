//! Instruction roofline: warp instructions per sector beside those per second (Ding and Williams,
//! PMBS 2019). All peaks follow from counters of the run.

use std::fmt::Write as _;

use crate::draw::scale::Scale;
use crate::draw::{Anchor, Svg, axis, tip_attribute};
use crate::format::{number, point};
use crate::input::{Counts, Kernel};

use super::Section;

/// Kernels in the picture.
const DRAWN: usize = 9;
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 400.0;

/// A memory with its traffic and peak.
struct Level {
    name: &'static str,
    class: &'static str,
    sectors: fn(&Counts) -> f64,
    /// Sectors per nanosecond.
    peak: fn(&Counts) -> Option<f64>,
}

const LEVELS: [Level; 3] = [
    Level {
        name: "L1",
        class: "roof-l1",
        sectors: |counts| counts.sum(&["l1.load_sectors", "l1.store_sectors"]),
        // A pass reads a line of four sectors.
        peak: |counts| Some(4.0 * counts.ratio("gpu.sm_cycles", "gpu.nanoseconds")?),
    },
    Level {
        name: "L2",
        class: "roof-l2",
        sectors: |counts| {
            counts.sum(&[
                "l2.sectors_read",
                "l2.sectors_written",
                "l2.sectors_atomic",
                "l2.sectors_reduction",
            ])
        },
        // A slice looks up a sector a cycle.
        peak: |counts| counts.ratio("gpu.l2_cycles", "gpu.nanoseconds"),
    },
    Level {
        name: "DRAM",
        class: "roof-dram",
        sectors: |counts| counts.sum(&["dram.reads", "dram.writes"]),
        peak: |counts| {
            let sectors = counts.sum(&["dram.reads", "dram.writes"]);
            let bus = counts.counter("dram.bus_cycles");
            let clock = counts.ratio("gpu.dram_cycles", "gpu.nanoseconds")?;
            (bus > 0.0).then(|| sectors / bus * clock)
        },
    },
];

/// Warp instructions per nanosecond at most.
fn issue_peak(counts: &Counts) -> Option<f64> {
    let slots: f64 = crate::limit::SLOTS.iter().map(|(name, _)| counts.counter(name)).sum();
    let active = counts.counter("sm.active_cycles");
    let cycles = counts.ratio("gpu.sm_cycles", "gpu.nanoseconds")?;
    (active > 0.0 && slots > 0.0).then(|| slots / active * cycles)
}

pub(crate) fn section(kernels: &[Kernel<'_>]) -> Option<Section> {
    let first = &kernels.first()?.counts;
    let top = issue_peak(first)?;
    // A level's peak may be known from another kernel alone.
    let peaks: Vec<(&Level, f64)> = LEVELS
        .iter()
        .filter_map(|level| Some((level, kernels.iter().find_map(|kernel| (level.peak)(&kernel.counts))?)))
        .collect();
    let dots = dots(kernels);
    let low = dots.iter().map(|dot| dot.rate).fold(top, f64::min);
    let left = dots.iter().map(|dot| dot.intensity).fold(0.1, f64::min);
    let right = dots.iter().map(|dot| dot.intensity).fold(100.0, f64::max);
    let x = Scale::log((left, right), (64.0, WIDTH - 16.0));
    let y = Scale::log((low, top * 2.0), (HEIGHT - 48.0, 12.0));
    let mut svg = Svg::new(WIDTH, HEIGHT, "Instruction roofline of the longest kernels");
    axis::left(&mut svg, &y, x.coordinates, axis::power);
    axis::below(&mut svg, &x, (12.0, HEIGHT - 48.0), axis::power);
    svg.text(
        ((64.0 + WIDTH) / 2.0, HEIGHT - 8.0),
        Anchor::Middle,
        "tick",
        "warp instructions per sector of 32 bytes",
    );
    svg.raw(&format!(
        "<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\" class=\"tick\">10⁹ warp instructions per second</text>",
        point((HEIGHT - 36.0) / 2.0)
    ));
    roofs(&mut svg, &x, &y, top, &peaks);
    for dot in &dots {
        let _ = write!(
            svg.text_mut(),
            "<circle cx=\"{}\" cy=\"{}\" r=\"5\" class=\"dot {}\"{}/>",
            point(x.at(dot.intensity)),
            point(y.at(dot.rate)),
            dot.class,
            tip_attribute(&dot.tip)
        );
    }
    let names = peaks.iter().map(|(level, _)| (level.class.to_owned(), level.name));
    let body = format!(
        "<p>A point is a kernel at one level of the memory; the roof above it is the most that the level's bandwidth or the issue slots allow.</p>{}<figure class=\"middle\">{}</figure>",
        crate::draw::legend(names),
        svg.finish()
    );
    Some(Section::new("roofline", "Instruction roofline", body))
}

struct Dot {
    intensity: f64,
    rate: f64,
    class: &'static str,
    tip: String,
}

fn dots(kernels: &[Kernel<'_>]) -> Vec<Dot> {
    let mut dots = Vec::new();
    for kernel in kernels.iter().take(DRAWN) {
        let instructions = kernel.counts.counter("sm.warp_instructions");
        let Some(rate) = kernel.counts.ratio("sm.warp_instructions", "gpu.nanoseconds") else { continue };
        for level in &LEVELS {
            let sectors = (level.sectors)(&kernel.counts);
            if sectors <= 0.0 || rate <= 0.0 {
                continue;
            }
            let intensity = instructions / sectors;
            let tip = format!(
                "{} at {}: {} instructions per sector, {} × 10⁹ per second",
                kernel.short,
                level.name,
                number(intensity),
                number(rate)
            );
            dots.push(Dot { intensity, rate, class: level.class, tip });
        }
    }
    dots
}

/// Draws the bound of the issue slots and those of the bandwidths below it.
fn roofs(svg: &mut Svg, x: &Scale, y: &Scale, top: f64, peaks: &[(&Level, f64)]) {
    let (left, right) = x.values();
    let bottom = y.values().0;
    svg.line((x.at(left), y.at(top)), (x.at(right), y.at(top)), "roof");
    let text = format!("issue slots, {} × 10⁹ per second", number(top));
    svg.text((x.coordinates.1 - 6.0, y.at(top) - 7.0), Anchor::End, "tick", &text);
    for (level, peak) in peaks {
        let start = left.max(bottom / peak);
        let end = (top / peak).min(right);
        if end > start {
            let from = (x.at(start), y.at(start * peak));
            svg.line(from, (x.at(end), y.at(end * peak)), &format!("roof {}", level.class));
        }
    }
}
