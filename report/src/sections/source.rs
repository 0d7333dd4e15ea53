//! Counts beside lines of CUDA source and of PTX.

use std::collections::BTreeMap;

use crate::format::{cut, escape, grouped, number, percent};
use crate::input::{Kernel, LineCounts, Listing, Run};
use crate::limit::SLOTS;

use super::{Section, table};

/// Kernels with a source view.
const SHOWN: usize = 10;
/// Most lines of a table.
const LINES: usize = 400;
/// Lines in the list of the hottest.
const HOTTEST: usize = 5;
/// Characters of a line.
const WIDTH: usize = 100;

/// The source view of the longest kernels; `None` if the file has no counts by program counter.
pub(crate) fn section(run: &Run, kernels: &[Kernel<'_>]) -> Option<Section> {
    let mut body = String::from(
        "<p>Issue slots beside lines. A slot either issues an instruction of the line or is lost \
         while a warp waits to issue it. Hottest lines come first in the short list.</p>",
    );
    let mut is_empty = true;
    for kernel in kernels.iter().take(SHOWN) {
        let Some(view) = View::of(run, kernel) else { continue };
        let open = if is_empty { " open" } else { "" };
        is_empty = false;
        body.push_str(&format!(
            "<details class=\"launch\"{open}><summary><b>{}</b> {} lines with counts</summary>{}</details>",
            escape(&cut(kernel.short, 60)),
            view.lines.len(),
            view.html()
        ));
    }
    (!is_empty).then(|| Section::new("source", "Source", body))
}

/// The hottest lines of a kernel, for its details; empty without counts.
pub(crate) fn hottest(run: &Run, kernel: &Kernel<'_>) -> String {
    View::of(run, kernel).map_or_else(String::new, |view| view.hottest())
}

/// Counts of a kernel's launches of one listing.
struct View<'a> {
    listing: Option<&'a Listing>,
    lines: BTreeMap<u64, LineCounts>,
    /// Issue slots of all lines.
    slots: f64,
}

/// A line of a table.
struct Row {
    place: String,
    text: String,
    counts: LineCounts,
}

impl<'a> View<'a> {
    fn of(run: &'a Run, kernel: &Kernel<'_>) -> Option<View<'a>> {
        let first = kernel.longest()?.source_counts.as_ref().map(|counts| counts.listing)?;
        let mut lines: BTreeMap<u64, LineCounts> = BTreeMap::new();
        let counts = kernel.launches.iter().filter_map(|launch| launch.source_counts.as_ref());
        for counts in counts.filter(|counts| counts.listing == first) {
            for (number, counts) in &counts.lines {
                lines.entry(*number).or_default().add(counts);
            }
        }
        let slots = lines.values().map(LineCounts::slots).sum();
        let listing = first.and_then(|number| run.listings.iter().find(|listing| listing.number == number));
        Some(View { listing, lines, slots })
    }

    /// Lines of CUDA source with counts; none without `-lineinfo`.
    fn cuda(&self) -> Vec<Row> {
        let Some(listing) = self.listing else { return Vec::new() };
        let mut sums: BTreeMap<(usize, u64), LineCounts> = BTreeMap::new();
        for line in &listing.lines {
            if let (Some(place), Some(counts)) = (line.source, self.lines.get(&line.number)) {
                sums.entry(place).or_default().add(counts);
            }
        }
        let row = |((file, number), counts): ((usize, u64), LineCounts)| {
            let file = listing.files.get(file);
            let name = file.map_or("", |file| file.name.as_str());
            let short = name.rsplit('/').next().unwrap_or(name);
            let text = file.and_then(|file| file.lines.get(&number)).map_or("", |text| text.trim_end());
            Row { place: format!("{short}:{number}"), text: text.to_owned(), counts }
        };
        sums.into_iter().map(row).collect()
    }

    /// Lines of PTX; without a listing, lines with counts alone.
    fn ptx(&self) -> Vec<Row> {
        let Some(listing) = self.listing else {
            let row = |(number, counts): (&u64, &LineCounts)| Row {
                place: format!("line {number}"),
                text: String::new(),
                counts: counts.clone(),
            };
            return self.lines.iter().map(row).collect();
        };
        let row = |line: &crate::input::Line| Row {
            place: line.number.to_string(),
            text: line.text.clone(),
            counts: self.lines.get(&line.number).cloned().unwrap_or_default(),
        };
        listing.lines.iter().map(row).collect()
    }

    fn html(&self) -> String {
        let (cuda, ptx) = (self.cuda(), self.ptx());
        let mut body = self.hottest();
        if cuda.is_empty() {
            body.push_str(
                "<p class=\"note\">The program names no lines of CUDA source: compile it with <code>nvcc -lineinfo</code>.</p>",
            );
        } else {
            body.push_str("<h3>CUDA source</h3>");
            body.push_str(&self.table(cuda, "Line of source"));
        }
        body.push_str("<h3>PTX</h3>");
        body.push_str(&self.table(ptx, "PTX"));
        body
    }

    /// The lines that take most issue slots.
    fn hottest(&self) -> String {
        let cuda = self.cuda();
        let mut rows = if cuda.is_empty() { self.ptx() } else { cuda };
        rows.sort_by(|a, b| b.counts.slots().total_cmp(&a.counts.slots()));
        rows.truncate(HOTTEST);
        rows.retain(|row| row.counts.slots() > 0.0);
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                let share = 100.0 * row.counts.slots() / self.slots.max(1.0);
                vec![
                    escape(&row.place),
                    code(&row.text),
                    escape(&reason(&row.counts)),
                    format!("{}{}", percent(share), meter(share)),
                ]
            })
            .collect();
        let table = table("source", &["Line", "Hottest lines", "Lost most to", "Issue slots"], 3, &rows);
        format!("<div class=\"block\">{table}</div>")
    }

    fn table(&self, mut rows: Vec<Row>, name: &str) -> String {
        let all = rows.len();
        if all > LINES {
            rows.retain(|row| row.counts.slots() > 0.0);
            let mut slots: Vec<f64> = rows.iter().map(|row| row.counts.slots()).collect();
            slots.sort_by(|a, b| b.total_cmp(a));
            let least = slots.get(LINES).copied().unwrap_or(0.0);
            rows.retain(|row| row.counts.slots() > least);
        }
        let heads =
            ["Line", name, "Issue slots", "Issued", "Lost", "Lost most to", "Lanes", "Sectors", "Conflicts"];
        let shown: Vec<Vec<String>> = rows.iter().map(|row| self.cells(row)).collect();
        let mut body = table("source", &heads, 2, &shown);
        if rows.len() < all {
            let left_out = all - rows.len();
            body.push_str(&format!("<p class=\"note\">{left_out} lines with fewer slots are left out.</p>"));
        }
        body
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let Row { place, text, counts } = row;
        let share = 100.0 * counts.slots() / self.slots.max(1.0);
        let positive = |value: f64| if value > 0.0 { grouped(value) } else { String::new() };
        let slots = match counts.slots() > 0.0 {
            true => format!("{}{}", percent(share), meter(share)),
            false => String::new(),
        };
        let lanes = match counts.issued > 0.0 {
            true => number(counts.threads / counts.issued),
            false => String::new(),
        };
        vec![
            escape(place),
            code(text),
            slots,
            positive(counts.issued),
            positive(counts.lost()),
            escape(&reason(counts)),
            lanes,
            positive(counts.sectors),
            positive(counts.conflicts),
        ]
    }
}

/// The most frequent reason of lost slots.
fn reason(counts: &LineCounts) -> String {
    let most = counts.stalls.iter().max_by(|a, b| a.1.total_cmp(b.1));
    most.filter(|(_, value)| **value > 0.0).map_or_else(String::new, |(name, _)| stall_text(name))
}

/// Text of a reason, by the name of its counter.
fn stall_text(name: &str) -> String {
    let slot = SLOTS.iter().find(|(slot, _)| slot.strip_prefix("issue.") == Some(name));
    slot.map_or(name, |(_, text)| text).to_owned()
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(&cut(text, WIDTH)))
}

fn meter(share: f64) -> String {
    format!("<i class=\"meter\" style=\"--p:{:.1}%\"></i>", share.clamp(0.0, 100.0))
}
