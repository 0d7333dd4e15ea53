//! The parts of a page, a file each. A part returns HTML, or nothing if the file has no data for
//! it.

pub(crate) mod comparison;
pub(crate) mod correlation;
pub(crate) mod details;
pub(crate) mod explanations;
pub(crate) mod kernels;
pub(crate) mod launches;
pub(crate) mod memory;
pub(crate) mod overview;
pub(crate) mod power;
pub(crate) mod ranges;
pub(crate) mod roofline;
pub(crate) mod series;
pub(crate) mod source;
pub(crate) mod sweep;
pub(crate) mod timeline;

use crate::format::escape;

/// A part with its heading.
pub(crate) struct Section {
    /// Name in links.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) body: String,
}

impl Section {
    pub(crate) fn new(id: &'static str, title: &'static str, body: String) -> Section {
        Section { id, title, body }
    }

    /// The part as HTML.
    pub(crate) fn html(&self) -> String {
        let Section { id, title, body } = self;
        format!("<section id=\"{id}\"><h2>{title}</h2>{body}</section>")
    }
}

/// A name of a counter that links to its explanation.
pub(crate) fn counter_link(counter: &str, text: &str) -> String {
    format!("<a class=\"why\" href=\"#x-{}\">{}</a>", escape(counter), escape(text))
}

/// A table; cells are HTML. Columns from `numbers` on are numbers.
pub(crate) fn table(class: &str, heads: &[&str], numbers: usize, rows: &[Vec<String>]) -> String {
    let kind = |place: usize| if place >= numbers { " class=\"n\"" } else { "" };
    let mut text = format!("<div class=\"wide\"><table class=\"{class}\"><thead><tr>");
    for (place, head) in heads.iter().enumerate() {
        text.push_str(&format!("<th{} scope=\"col\">{head}</th>", kind(place)));
    }
    text.push_str("</tr></thead><tbody>");
    for row in rows {
        text.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            text.push_str(&format!("<td{}>{cell}</td>", kind(place)));
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table></div>");
    text
}

/// A cell with a value to sort by.
pub(crate) fn sorted(text: &str, value: f64) -> String {
    format!("<data value=\"{value}\">{text}</data>")
}
