//! All launches in a table.

use crate::format::{cut, escape, grouped, number, percent, time};
use crate::input::{Launch, Run};
use crate::limit;

use super::{Section, sorted, table};

/// Launches in the table.
const LISTED: usize = 1500;

pub(crate) fn section(run: &Run) -> Section {
    let cycle = run.cycle_nanoseconds();
    let mut shown: Vec<&Launch> = run.launches.iter().collect();
    shown.sort_by(|a, b| b.cycles.total_cmp(&a.cycles));
    shown.truncate(LISTED);
    shown.sort_by_key(|launch| launch.number);
    let heads = [
        "Kernel",
        "Limit",
        "Launch",
        "Stream",
        "Grid",
        "Block",
        "Registers",
        "Shared",
        "CTAs/SM",
        "Start",
        "Time",
        "Cycles",
        "IPC",
    ];
    let (first, _) = run.span();
    let rows: Vec<Vec<String>> = shown.iter().map(|launch| row(launch, cycle, first)).collect();
    let mut body = table("sortable", &heads, 2, &rows);
    if run.launches.len() > LISTED {
        let text = "The table has the longest launches; shorter ones left out:";
        body.push_str(&format!("<p class=\"note\">{text} {}.</p>", run.launches.len() - LISTED));
    }
    Section::new("launches", "Launches", body)
}

fn row(launch: &Launch, cycle: f64, first: f64) -> Vec<String> {
    let Launch { number: launch_number, occupancy, counts, .. } = launch;
    let size = |sizes: [u32; 3]| {
        let product = sizes.iter().map(|size| *size as f64).product();
        sorted(&sizes.map(|size| size.to_string()).join("×"), product)
    };
    let mark = match (launch.shared, launch.extrapolated) {
        (true, _) => {
            " <small title=\"other work ran at the same time; the counts cover all of it\">shared</small>"
        }
        (_, true) => " <small title=\"the end of the launch is extrapolated\">extrapolated</small>",
        _ => "",
    };
    let plain = |value: f64| sorted(&grouped(value), value);
    let ipc = counts.value("gpu.ipc").unwrap_or(0.0);
    vec![
        format!(
            "<span title=\"{}\">{}</span>{mark}",
            escape(&launch.kernel),
            escape(&cut(&launch.short, 48))
        ),
        escape(&limit::short(counts)),
        plain(*launch_number as f64),
        plain(launch.stream as f64),
        size(launch.shape.grid),
        size(launch.shape.block),
        plain(launch.registers),
        plain(launch.shared_bytes),
        format!(
            "<span title=\"{} of the warp slots, limited by {}\">{}</span>",
            percent(occupancy.theoretical),
            escape(&occupancy.limit),
            plain(occupancy.ctas)
        ),
        sorted(&time((launch.start - first) * cycle), launch.start),
        sorted(&time(launch.cycles * cycle), launch.cycles),
        plain(launch.cycles),
        sorted(&number(ipc), ipc),
    ]
}
