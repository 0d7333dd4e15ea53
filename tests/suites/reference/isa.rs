//! The page of PTX instructions, made from the op table.

use crate::{Page, code};
use ptx_frontend::isa::{self, Support};

/// Forms by group, and instructions that are refused.
pub(crate) fn page() -> Page {
    let about = "Each line is a form of the op table: its name, the first PTX version and target that have it, and its\n\
                 syntax. `voltsim status isa` prints the list with a test for each form. Sections are those of the PTX\n\
                 manual.";
    let mut page = Page::new("Instructions", about);
    let mut groups: Vec<&str> = Vec::new();
    for line in isa::table() {
        if !groups.contains(&line.group) {
            groups.push(line.group);
        }
    }
    for group in groups {
        page.section(group);
        let forms = isa::table().filter(|line| line.group == group).flat_map(|line| {
            line.spellings.iter().map(move |spelling| {
                let (major, minor) = spelling.requirement.ptx;
                let first = format!("{major}.{minor}, {}", spelling.requirement.target);
                [
                    code(line.name),
                    code(spelling.syntax),
                    first,
                    line.section.to_owned(),
                    line.doc.split_whitespace().collect::<Vec<_>>().join(" "),
                ]
            })
        });
        let rows: Vec<[String; 5]> = forms.collect();
        page.table(["form", "syntax", "since", "section", "meaning"], &rows);
    }
    page.section("Refused");
    page.paragraph("A kernel with one of these instructions fails when a program launches it.");
    let refused = isa::ABSENT.iter().map(|absent| {
        let reason = match absent.state {
            Support::Done => "",
            Support::Missing(reason) | Support::Refused(reason) => reason,
        };
        [code(&absent.opcode()), absent.section.to_owned(), reason.to_owned()]
    });
    page.table(["instruction", "section", "reason"], &refused.collect::<Vec<_>>());
    page
}
