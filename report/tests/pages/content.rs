//! Texts of pages, without a browser.

use run_report::{MOST_BYTES, ReportError, Source, render};
use serde_json::Value;

use crate::runs;

#[test]
fn page_of_a_run_has_every_part() {
    let page = runs::page(runs::with_series());
    let all = [
        "overview",
        "kernels",
        "timeline",
        "stalls",
        "roofline",
        "power",
        "details",
        "launches",
        "explanations",
    ];
    for id in all {
        assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
        assert!(page.contains(&format!("href=\"#{id}\"")), "{id}");
    }
    assert!(page.len() < MOST_BYTES, "{}", page.len());
}

#[test]
fn page_names_nothing_outside_itself() {
    for page in [runs::page(runs::with_series()), runs::comparison(), runs::correlation(), runs::sweep()] {
        for place in ["http:", "https:", "url(http", "@import", "<link rel=\"stylesheet", "src="] {
            assert!(!page.contains(place), "{place}");
        }
    }
}

#[test]
fn kernels_stand_by_their_time_with_demangled_names() {
    let page = runs::page(runs::with_series());
    let place = |name: &str| page.find(&format!("<b>{name}</b></span>")).unwrap_or_else(|| panic!("{name}"));
    assert!(place("gather") < place("stencil") || place("triad") < place("stencil"));
    assert!(page.contains("title=\"triad(float*, const float*, const float*, int)\""));
    assert!(!page.contains("_Z5triad"));
}

#[test]
fn source_view_has_counts_beside_lines() {
    let page = runs::page(runs::with_source_counts());
    assert!(page.contains("<section id=\"source\">"));
    assert!(page.contains("triad.cu:13"));
    assert!(page.contains("a[i] = x + s * c[i];"));
    // Without a listing, lines have their numbers alone.
    assert!(page.contains("compile it with <code>nvcc -lineinfo</code>"));
    let row = page.split("ld.global.f32 %f1, [%rd1];").last().unwrap().split("</tr>").next().unwrap();
    // 320 CTAs of 8 warps repeat four times; a warp touches 4 sectors.
    assert!(row.contains("10\u{202f}240") && row.contains("40\u{202f}960"), "{row}");
    assert!(!runs::page(runs::with_series()).contains("<section id=\"source\">"));
}

#[test]
fn page_without_a_series_says_so() {
    let missing = "The file has no time series of this launch";
    assert!(runs::page(runs::without_series()).contains(missing));
    assert!(!runs::page(runs::with_series()).contains(missing));
}

#[test]
fn ranges_contain_the_launches_of_their_inner_ranges() {
    let page = runs::page(runs::with_series());
    let launches = |range: &str| {
        let row = page.split(&format!("title=\"{range}\"")).nth(1).unwrap_or_else(|| panic!("{range}"));
        let cell = row.split("<td class=\"n\">").nth(1).unwrap_or_default();
        cell.split(['>', '<']).nth(2).unwrap_or_default().to_owned()
    };
    let all = [launches("step"), launches("step / forward"), launches("step / backward")];
    assert_eq!(all, ["4", "2", "2"]);
    assert!(!runs::page(runs::with_source_counts()).contains("<section id=\"ranges\">"));
}

#[test]
fn power_section_names_the_card_and_shows_watts() {
    let page = runs::page(runs::with_series());
    assert!(page.contains("derived from those of a Quadro GV100"));
    assert!(page.contains("Power of each part over time"));
    assert!(page.contains("href=\"#x-power.dram\""));
}

#[test]
fn gpu_without_energies_says_so_and_has_no_watts() {
    let page = runs::page(&runs::statistics(&["power.card=none"], None));
    assert!(page.contains("has no <code>[power]</code>"));
    assert!(!page.contains("Energy of each kernel by part"));
}

#[test]
fn series_add_up_to_the_counters_of_their_launch() {
    let statistics: Value = serde_json::from_str(runs::with_series()).unwrap();
    for launch in statistics["launches"].as_array().unwrap() {
        let counters = launch["series"]["counters"].as_object().unwrap();
        assert!(counters.len() > 50, "{}", counters.len());
        for (name, values) in counters {
            let sum: u64 = values.as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).sum();
            assert_eq!(launch["counters"][name], sum, "{name}");
        }
        let sms =
            launch["series"]["sms"]["units"].as_array().unwrap().iter().flat_map(|sm| sm.as_array().unwrap());
        assert_eq!(
            launch["counters"]["sm.warp_instructions"],
            sms.map(|value| value.as_u64().unwrap()).sum::<u64>()
        );
    }
}

#[test]
fn link_of_every_counter_has_its_explanation() {
    let page = runs::page(runs::with_series());
    let links: Vec<&str> =
        page.split("href=\"#x-").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() > 40, "{}", links.len());
    for link in links {
        assert!(page.contains(&format!("<dt id=\"x-{link}\">")), "{link}");
    }
}

#[test]
fn comparison_shows_changed_counters_and_both_times() {
    let page = runs::comparison();
    assert!(page.contains("Counters that changed"));
    assert!(page.contains("href=\"#x-l2.mshr_stalls\""));
}

#[test]
fn correlation_and_sweep_have_their_pictures() {
    assert!(runs::correlation().contains("class=\"diagonal\""));
    let sweep = runs::sweep();
    assert!(
        sweep.contains("triad(float*, const float*, const float*, int)") && sweep.contains("class=\"bound\"")
    );
}

fn refused(text: &str) -> ReportError {
    render(Source { name: "s.json", text }, None).unwrap_err()
}

#[test]
fn wrong_files_are_refused_with_their_place() {
    assert!(matches!(refused("{"), ReportError::Json { .. }));
    assert!(matches!(refused("[]"), ReportError::Unknown(_)));
    assert!(matches!(refused("{\"launches\": []}"), ReportError::Empty(_)));
    let text = "{\"gpu\": \"v100\", \"launches\": [{\"kernel\": \"k\", \"launch\": \"one\"}]}";
    assert_eq!(refused(text).to_string(), "s.json: launches[0].launch: must be a number of at least 0");
    let run = Source { name: "a.json", text: runs::without_series() };
    let other =
        Source { name: "b.json", text: "{\"configurations\": [{\"configuration\": \"a\", \"cycles\": 1}]}" };
    assert_eq!(render(run, Some(other)).unwrap_err(), ReportError::NoRun("b.json".to_owned()));
}

#[test]
fn names_of_kernels_cannot_add_elements() {
    let text = runs::without_series()
        .replace("\"mangled\"", "\"other\"")
        .replace("gather(int*, const int*)", "<script>alert(1)</script>");
    assert!(!runs::page(&text).contains("<script>alert"));
}

/// Writes the pages to a folder, for a look at them.
#[test]
#[ignore = "writes files; set VOLTSIM_PAGES"]
fn pages_are_written() {
    let folder = std::path::PathBuf::from(std::env::var_os("VOLTSIM_PAGES").unwrap());
    for (name, page) in [
        ("run", runs::page(runs::with_series())),
        ("comparison", runs::comparison()),
        ("correlation", runs::correlation()),
        ("sweep", runs::sweep()),
    ] {
        std::fs::write(folder.join(name).with_extension("html"), page).unwrap();
    }
}
