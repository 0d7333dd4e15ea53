//! Pages of API calls, made from the tables that the libraries' exports are made from.

use crate::{Page, code};
use api_table::{Function, Library};

/// The heads of the tables, which explain the words of their columns.
const RUNTIME: &str = include_str!("../../../cudart-shim/api/libcudart.tsv");
const DRIVER: &str = include_str!("../../../cudart-shim/api/libcuda.tsv");

/// A page for the runtime and one for the driver.
pub(crate) fn pages() -> [(&'static str, Page); 2] {
    let runtime = api_table::runtime().expect("the table is well formed");
    let driver = api_table::driver().expect("the table is well formed");
    [
        ("api-runtime.md", page("Runtime API", "libcudart 11, 12 and 13", RUNTIME, &runtime)),
        ("api-driver.md", page("Driver API", "libcuda", DRIVER, &driver)),
    ]
}

fn page(title: &str, library: &str, table: &str, functions: &[Function]) -> Page {
    let about = format!(
        "Functions of {library}. A `stub` answers \"not supported\" and logs its name; a `refused` call stays a\n\
         stub. `voltsim status api` adds the C signature. The context is the one that a call needs; the source\n\
         is the evidence for it."
    );
    let mut page = Page::new(title, &about);
    page.section("Words of the columns");
    let words: Vec<[String; 2]> =
        explained(table).into_iter().map(|(word, text)| [code(&word), text]).collect();
    page.table(["word", "meaning"], &words);
    page.section("Functions");
    let versions = |function: &Function| {
        let version = |library: &Library| match library {
            Library::Cudart11 => "11",
            Library::Cudart12 | Library::NvJitLink12 => "12",
            Library::Cudart13 | Library::NvJitLink13 => "13",
            Library::Cuda | Library::Nvml => "",
        };
        function
            .libraries
            .iter()
            .map(version)
            .filter(|version| !version.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let rows = functions.iter().map(|function| {
        [
            code(function.name),
            versions(function),
            function.state.label().to_owned(),
            function.need.label().to_owned(),
            function.source.to_owned(),
        ]
    });
    page.table(["function", "versions", "state", "context", "source"], &rows.collect::<Vec<_>>());
    page
}

/// Words that a table's head explains: lines `#   word  text`, with further lines of the text below.
fn explained(table: &str) -> Vec<(String, String)> {
    let mut words: Vec<(String, String)> = Vec::new();
    for line in table.lines().take_while(|line| line.starts_with('#')) {
        let rest = line.trim_start_matches('#');
        let indent = rest.len() - rest.trim_start().len();
        match (indent, words.last_mut()) {
            (3, _) => {
                let (word, text) = rest.trim().split_once(' ').expect("a word has a meaning");
                words.push((word.to_owned(), text.trim().to_owned()));
            }
            (4.., Some((_, text))) => {
                text.push(' ');
                text.push_str(rest.trim());
            }
            _ => {}
        }
    }
    words
}
