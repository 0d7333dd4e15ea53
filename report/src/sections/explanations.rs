//! Explanations of counters: the text of `voltsim explain`, within the page.

use std::collections::BTreeMap;

use timing::dram::{BankCounts, ChannelCounts};
use timing::gpu::Totals;
use timing::statistics::{Counter, Counters as _, DERIVED};

use crate::format::escape;

use super::Section;

/// Text of a counter.
pub(crate) struct Explained {
    pub(crate) meaning: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) metric: &'static str,
}

/// Texts by `section.name`.
pub(crate) struct Explanations(BTreeMap<String, Explained>);

impl Explanations {
    /// All counters and derived statistics.
    pub(crate) fn new() -> Explanations {
        let mut all = BTreeMap::new();
        let mut add = |section: &str, name: &str, explained| {
            all.insert(format!("{section}.{name}"), explained);
        };
        let of = |counter: &Counter| Explained {
            meaning: counter.meaning,
            unit: counter.unit,
            metric: counter.metric,
        };
        Totals::default().each(&mut |counter, _| add(counter.section, counter.name, of(counter)));
        let of_dram =
            ChannelCounts::COUNTERS.iter().chain(&ChannelCounts::RATES).chain(&BankCounts::COUNTERS);
        of_dram.for_each(|counter| add(counter.section, counter.name, of(counter)));
        for ratio in DERIVED {
            let explained = Explained { meaning: ratio.meaning, unit: ratio.unit, metric: ratio.metric };
            add(ratio.section, ratio.name, explained);
        }
        Explanations(all)
    }

    pub(crate) fn get(&self, counter: &str) -> Option<&Explained> {
        self.0.get(counter)
    }

    /// The texts to which a page links, by unit.
    pub(crate) fn section(&self, page: &str) -> Section {
        let mut body = String::from(
            "<p><code>voltsim explain NAME</code> prints these texts and the keys of the GPU.</p><dl>",
        );
        for (name, Explained { meaning, unit, metric }) in &self.0 {
            if !page.contains(&format!("href=\"#x-{name}\"")) {
                continue;
            }
            let metric = match *metric {
                "" => String::new(),
                metric => format!(" Nsight Compute: <code>{}</code>.", escape(metric)),
            };
            body.push_str(&format!(
                "<dt id=\"x-{name}\"><code>{name}</code></dt><dd>{} Counted in {}.{metric}</dd>",
                escape(meaning),
                escape(unit)
            ));
        }
        body.push_str("</dl>");
        Section::new("explanations", "Explanations", body)
    }
}
