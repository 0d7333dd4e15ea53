//! The page `docs/reference/options.md`.

use std::fmt::Write as _;

use crate::declarations::{DECLARATIONS, Declaration, Form, Section, Taker};
use crate::system::CUDA;

/// Columns of a line of text.
const COLUMNS: usize = 100;

const HEAD: &str = "\
# Options and variables

<!-- `cargo xtask docs --generate` writes this page. -->

Each option of a run has a variable. A command such as `voltsim run` hands its options to the library
as one value, in the variable `VOLTSIM_RUN`. The library reads that value once.

| the program is started | options that act |
|---|---|
| by a command | the options of the command; the variable of an option that is not given |
| inside of a run | those of the run; a `VOLTSIM_` variable that is set inside of it; a `voltsim run` inside of it starts afresh |
| without the command (`LD_LIBRARY_PATH`) | the variables |

A switch is on with `1` and off with `0`. An empty variable is no option.
";

const STATUSES: &str = "
## Exit statuses

A program's own status stays unless the program succeeds and one of these holds.

| status | meaning |
|---|---|
| 86 | the checks found a mistake |
| 87 | the run was not saved at its point, or not resumed |
| 88 | a kernel was refused and the program has not asked for the error |
| 89 | an output could not be written |

Status 88 has precedence over 86, 87 and 89.
";

/// The text below the heading of a section.
fn introduction(section: Section) -> &'static str {
    match section {
        Section::Running => {
            "The guide has more on [devices](../guide/first-run.md#devices), \
             [checks](../guide/mistakes.md) and [refused kernels](../guide/refused-kernels.md). \
             `--profile NAME` runs the program in the environment that `voltsim setup NAME` has made."
        }
        Section::Timing => {
            "The options below imply `--mode detailed`, except `--mode` itself. With `--mode functional`, \
             `--gpu` tells the program about the GPU and the others are refused. The guide has more on \
             [timing](../guide/timing.md)."
        }
        Section::Checkpoints => {
            "`voltsim run` and `voltsim resume` save a run. Only `voltsim resume` continues one."
        }
        Section::Launches => "Each of these commands starts a program and keeps its launches.",
        Section::Internal => "",
    }
}

/// The page.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for section in Section::SHOWN {
        let of_section = || DECLARATIONS.iter().filter(move |declaration| declaration.section == section);
        let _ = write!(page, "\n## {}\n\n{}\n", section.title(), wrapped(introduction(section), ""));
        page += "\n| option | variable | meaning |\n|---|---|---|\n";
        of_section().for_each(|declaration| page += &row(declaration));
        let notes: String = of_section().filter_map(notes).collect();
        if !notes.is_empty() {
            page.push('\n');
            page += &notes;
        }
    }
    page += "\n## CUDA's variables\n\n| variable | meaning |\n|---|---|\n";
    for variable in CUDA {
        let _ = writeln!(page, "| `{}` | {} |", variable.name, variable.doc.trim_end_matches('.'));
    }
    page += STATUSES;
    page
}

/// The commands whose option this is, if it is not one of `voltsim run`.
fn commands(declaration: &Declaration) -> String {
    if declaration.is_taken_by(Taker::Run) {
        return String::new();
    }
    let names = declaration.takers.iter().map(|taker| format!("{taker:?} ").to_lowercase());
    names.take(1).collect()
}

fn row(declaration: &Declaration) -> String {
    let option = match declaration.option {
        None => String::new(),
        Some(_) => {
            let short = declaration.short.map_or(String::new(), |short| format!("-{short}, "));
            let usage = declaration.usage().replace('|', "\\|");
            format!("`{}{short}{usage}`", commands(declaration))
        }
    };
    let set = match declaration.form {
        Form::Switch(value) => format!("={value}"),
        _ => String::new(),
    };
    format!("| {option} | `{}{set}` | {} |\n", declaration.variable, declaration.summary())
}

/// The description behind the summary, as an item of a list.
fn notes(declaration: &Declaration) -> Option<String> {
    let description = declaration.description();
    let (_, rest) = description.split_once("\n\n")?;
    let name = declaration.option.map_or(declaration.variable.to_owned(), |_| {
        format!("{}{}", commands(declaration), declaration.flag())
    });
    Some(format!("{}\n", wrapped(&format!("- `{name}`: {}", rest.replace("\n\n", " ")), "  ")))
}

/// A text in lines of [`COLUMNS`], all but the first indented.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut() {
            if line.trim().is_empty() || line.chars().count() + 1 + word.chars().count() <= COLUMNS {
                if !line.trim().is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            } else {
                lines.push(format!("{indent}{word}"));
            }
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::VARIABLE;

    #[test]
    fn page_names_the_variable_of_every_shown_option() {
        let page = page();
        for declaration in DECLARATIONS {
            let is_named =
                ["`", "="].iter().any(|end| page.contains(&format!("`{}{end}", declaration.variable)));
            assert_eq!(is_named, declaration.section != Section::Internal, "{}", declaration.variable);
        }
        assert!(page.contains(VARIABLE));
    }
}
