//! Streams in simulated time.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::draw::scale::Scale;
use crate::draw::{Anchor, RIGHT, Svg, WIDTH, axis};
use crate::format::{bytes, time};
use crate::input::{Kernel, Run};

use super::Section;

/// Most boxes in the picture; shorter ones beside each other are merged first.
const BOXES: usize = 4000;
/// Height of a stream.
const ROW: f64 = 30.0;
const LEFT: f64 = 90.0;
/// Kernels with a colour of their own.
pub(crate) const COLOURS: usize = 9;

struct Item {
    stream: u64,
    start: f64,
    end: f64,
    class: String,
    tip: String,
}

pub(crate) fn section(run: &Run, kernels: &[Kernel<'_>]) -> Section {
    let cycle = run.cycle_nanoseconds();
    let (first, last) = run.span();
    let items = merged(items(run, kernels, cycle, first), (last - first) * cycle);
    let streams: Vec<u64> =
        items.iter().map(|item| item.stream).collect::<BTreeSet<_>>().into_iter().collect();
    let bottom = streams.len() as f64 * ROW + 8.0;
    let x = Scale::linear((0.0, (last - first) * cycle), (LEFT, WIDTH - RIGHT));
    let mut svg = Svg::new(WIDTH, bottom + 24.0, "Launches and copies of each stream over simulated time");
    svg.zoomable(x.coordinates, x.values(), "ns");
    axis::below(&mut svg, &x, (0.0, bottom), time);
    for (row, stream) in (0..).zip(&streams) {
        let y = f64::from(row) * ROW;
        svg.text((LEFT - 10.0, y + 24.0), Anchor::End, "name", &format!("stream {stream}"));
    }
    let width = WIDTH - RIGHT - LEFT;
    let _ = write!(
        svg.text_mut(),
        "<svg class=\"clip\" x=\"{LEFT}\" y=\"0\" width=\"{width}\" height=\"{bottom}\" viewBox=\"{LEFT} 0 {width} {bottom}\"><g class=\"zoom\">"
    );
    for item in &items {
        let row = streams.iter().position(|stream| *stream == item.stream).unwrap_or(0);
        let (from, to) = (x.at(item.start), x.at(item.end));
        let y = row as f64 * ROW + 8.0;
        svg.rect([from, y, (to - from).max(0.4), ROW - 8.0], &item.class, &item.tip);
    }
    svg.raw("</g></svg>");
    let names = kernels.iter().take(COLOURS).enumerate();
    let mut names: Vec<(String, &str)> =
        names.map(|(place, kernel)| (format!("k{place}"), kernel.short)).collect();
    if kernels.len() > COLOURS {
        names.push(("kx".to_owned(), "other kernels"));
    }
    if !run.transfers.is_empty() {
        names.push(("kc".to_owned(), "copies and fills"));
    }
    let legend = crate::draw::legend(names);
    let body = format!(
        "<p>Ctrl or Shift with the wheel zooms, dragging moves, a double click shows all. Keys: +, −, arrows, 0.</p>{legend}<figure>{}</figure>",
        svg.finish()
    );
    Section::new("timeline", "Timeline of streams", body)
}

/// Launches and transfers in the order of their starts.
fn items(run: &Run, kernels: &[Kernel<'_>], cycle: f64, first: f64) -> Vec<Item> {
    let class = |kernel: &str| match kernels.iter().position(|other| other.name == kernel) {
        Some(place) if place < COLOURS => format!("k{place}"),
        _ => "kx".to_owned(),
    };
    let at = |cycles: f64| (cycles - first) * cycle;
    let launches = run.launches.iter().map(|launch| Item {
        stream: launch.stream,
        start: at(launch.start),
        end: at(launch.start + launch.cycles),
        class: class(&launch.kernel),
        tip: format!(
            "{} (launch {}): {}, {}",
            launch.short,
            launch.number,
            time(launch.cycles * cycle),
            launch.sizes()
        ),
    });
    let transfers = run.transfers.iter().map(|transfer| Item {
        stream: transfer.stream,
        start: at(transfer.start),
        end: at(transfer.start + transfer.cycles),
        class: "kc".to_owned(),
        tip: format!("{} of {}: {}", transfer.kind, bytes(transfer.bytes), time(transfer.cycles * cycle)),
    });
    let mut items: Vec<Item> = launches.chain(transfers).collect();
    items.sort_by(|a, b| a.stream.cmp(&b.stream).then(a.start.total_cmp(&b.start)));
    items
}

/// Items, those of a class merged where more than [`BOXES`] would stand closer than a part of the
/// picture.
fn merged(items: Vec<Item>, length: f64) -> Vec<Item> {
    if items.len() <= BOXES {
        return items;
    }
    let least = length / BOXES as f64;
    let mut merged: Vec<(Item, u64)> = Vec::new();
    for item in items {
        match merged.last_mut() {
            Some((last, number))
                if last.stream == item.stream
                    && last.class == item.class
                    && item.end - last.start < least =>
            {
                last.end = last.end.max(item.end);
                *number += 1;
            }
            _ => merged.push((item, 1)),
        }
    }
    let told = |(item, number): (Item, u64)| match number {
        1 => item,
        _ => Item { tip: format!("{} and {} more", item.tip, number - 1), ..item },
    };
    merged.into_iter().map(told).collect()
}
