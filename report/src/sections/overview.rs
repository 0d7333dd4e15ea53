//! First view: what ran, how long, what limits it.

use crate::draw::bars;
use crate::format::{escape, grouped, number, percent, time};
use crate::input::{Kernel, Run};
use crate::limit;

use super::Section;

pub(crate) fn section(run: &Run, kernels: &[Kernel<'_>]) -> Section {
    let cycle = run.cycle_nanoseconds();
    let (first, last) = run.span();
    let busy: f64 = kernels.iter().map(|kernel| kernel.nanoseconds).sum();
    let tiles = [
        (
            "Simulated time",
            time((last - first) * cycle),
            "from the first launch to the end of the last".to_owned(),
        ),
        (
            "Kernels",
            time(busy),
            format!("{} launches of {} kernels", grouped(run.launches.len() as f64), kernels.len()),
        ),
        ("Cycles", grouped(last - first), format!("{} MHz core clock", number(1e3 / cycle))),
        (
            "IPC",
            number(run.total.value("gpu.ipc").unwrap_or(0.0)),
            format!("{} warp instructions", grouped(run.total.counter("sm.warp_instructions"))),
        ),
    ];
    let mut body = String::new();
    if let Some(cause) = &run.partial {
        body.push_str(&format!("<p class=\"warn\">The run is incomplete: {}.</p>", escape(cause)));
    }
    body.push_str(&format!("<p class=\"lead\">{}</p><div class=\"tiles\">", lead(kernels, busy)));
    for (name, value, about) in tiles {
        body.push_str(&format!(
            "<div class=\"tile\"><span>{name}</span><b>{value}</b><small>{}</small></div>",
            escape(&about)
        ));
    }
    body.push_str("</div>");
    if let Some(kernel) = kernels.first() {
        body.push_str(&speed_of_light(kernel));
    }
    Section::new("overview", "Overview", body)
}

/// One sentence on the longest kernel.
fn lead(kernels: &[Kernel<'_>], busy: f64) -> String {
    let Some(kernel) = kernels.first() else {
        return "The run has copies alone.".to_owned();
    };
    let share = percent(100.0 * kernel.nanoseconds / busy.max(1e-9));
    format!(
        "<b>{}</b> takes {share} of the kernels' time. Limit: <b>{}</b>.",
        escape(kernel.short),
        escape(&limit::text(&kernel.counts))
    )
}

/// Throughputs beside their peaks.
fn speed_of_light(kernel: &Kernel<'_>) -> String {
    let rows: Vec<_> = limit::throughputs(&kernel.counts)
        .into_iter()
        .map(|it| {
            let class = if it.share >= limit::BUSY { "hot" } else { "cool" };
            let tip = format!("{} at {} of the peak ({})", it.unit, percent(it.share), it.counter);
            (it.unit.to_owned(), it.share, class, tip)
        })
        .collect();
    let picture = bars::shares("Throughputs of the longest kernel as shares of their peaks", &rows);
    format!(
        "<figure class=\"half\"><figcaption>GPU Speed Of Light Throughput of {}</figcaption>{picture}</figure>",
        escape(kernel.short)
    )
}
