//! Reports: statistics of a run as one HTML file with its own pictures.
//!
//! [`render`] reads JSON that Voltsim has written: statistics of one run or of two, or a
//! correlation. The page needs no network and no other file. Pictures are SVG text; the script of
//! the page adds values under the pointer, zoom and sorting, and a page without it stays readable.
//!
//! | module | content |
//! |---|---|
//! | [`input`] | the files as typed records |
//! | [`limit`] | the unit that bounds a launch, by shares of its peaks |
//! | `draw` | scales, axes, bars, curves, maps and scatter plots as SVG |
//! | `sections` | the parts of the page, a file each |
//! | `page` | head, style, script and the order of the parts |

mod draw;
mod error;
mod format;
pub mod input;
pub mod limit;
mod page;
mod sections;

pub use error::ReportError;
use input::Input;

/// Largest page of an ordinary run, in bytes.
pub const MOST_BYTES: usize = 3 << 20;

/// A file to be shown, by its name.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Name for headings and errors.
    pub name: &'a str,
    /// Contents: JSON.
    pub text: &'a str,
}

/// The page of one file, or of two runs beside each other.
///
/// # Errors
/// A file is no JSON, or of no form that a report shows; or two files are not two runs.
pub fn render(first: Source<'_>, other: Option<Source<'_>>) -> Result<String, ReportError> {
    let input = Input::read(first)?;
    let Some(other) = other else {
        return Ok(match input {
            Input::Run(run) => page::of_run(&run),
            Input::Correlation(correlation) => page::of_correlation(&correlation),
            Input::Sweep(sweep) => page::of_sweep(&sweep),
        });
    };
    match (input, Input::read(other)?) {
        (Input::Run(before), Input::Run(after)) => Ok(page::of_two(&before, &after)),
        (Input::Run(_), _) => Err(ReportError::NoRun(other.name.to_owned())),
        (_, _) => Err(ReportError::NoRun(first.name.to_owned())),
    }
}
