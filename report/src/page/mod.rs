//! The page: head, style, script, and the order of the parts.

use crate::format::escape;
use crate::input::{Correlation, Run, Sweep};
use crate::sections::explanations::Explanations;
use crate::sections::{
    Section, comparison, correlation, details, kernels, launches, overview, power, ranges, roofline, source,
    sweep, timeline,
};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The page of a run.
pub(crate) fn of_run(run: &Run) -> String {
    let explanations = Explanations::new();
    let all = run.kernels();
    let mut sections = vec![overview::section(run, &all)];
    if !all.is_empty() {
        sections.push(kernels::section(&all));
    }
    sections.extend(ranges::section(run));
    sections.push(timeline::section(run, &all));
    if !all.is_empty() {
        sections.push(kernels::stalls(&all));
        sections.extend(roofline::section(&all));
        sections.extend(power::section(run, &all));
        sections.push(details::section(run, &all, &explanations));
        sections.extend(source::section(run, &all));
        sections.push(launches::section(run));
    }
    page(&run.name, &format!("on {}", run.gpu), sections, Some(&explanations))
}

/// The page of two runs.
pub(crate) fn of_two(before: &Run, after: &Run) -> String {
    let explanations = Explanations::new();
    let (a, b) = (before.kernels(), after.kernels());
    let mut sections =
        vec![comparison::overview(before, after), comparison::kernels(&a, &b), comparison::stalls(&a, &b)];
    sections.push(comparison::counters(&before.total, &after.total, &explanations));
    let title = format!("{} and {}", before.name, after.name);
    page(&title, "compared", sections, Some(&explanations))
}

/// The page of a correlation.
pub(crate) fn of_correlation(input: &Correlation) -> String {
    page(&input.name, "model beside card", vec![correlation::metrics(input), correlation::plots(input)], None)
}

/// The page of a sweep.
pub(crate) fn of_sweep(input: &Sweep) -> String {
    page(&input.name, "sweep", vec![sweep::curves(input), sweep::configurations(input)], None)
}

fn page(title: &str, about: &str, mut sections: Vec<Section>, explanations: Option<&Explanations>) -> String {
    let mut body: String = sections.iter().map(Section::html).collect();
    if let Some(explanations) = explanations {
        let section = explanations.section(&body);
        body.push_str(&section.html());
        sections.push(section);
    }
    let links: String =
        sections.iter().map(|section| format!("<a href=\"#{}\">{}</a>", section.id, section.title)).collect();
    let (title, about) = (escape(title), escape(about));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{title} {about}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>{title} <small>{about}</small></h1><button id=\"theme\" type=\"button\">Dark or light</button></header>\n\
         <nav aria-label=\"Parts of the report\">{links}</nav>\n<main>\n{body}\n</main>\n\
         <footer>Voltsim {}</footer>\n<div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}
