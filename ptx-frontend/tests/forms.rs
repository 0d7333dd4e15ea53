//! The op table against the instruction forms that real programs use.

use ptx_frontend::isa::{Token, forms_of};

const FORMS: &str = include_str!("../../tests/isa/ptx-forms.tsv");

/// Forms that the table does not have: textures and surfaces.
const ABSENT: [&str; 2] = ["tex.", "sust."];

fn rows() -> impl Iterator<Item = &'static str> {
    let lines = FORMS.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.filter_map(|line| line.split('\t').next())
}

fn fits(opcode: &str) -> bool {
    let mut words = opcode.split('.');
    let forms = forms_of(words.next().unwrap_or(""));
    let tokens: Option<Vec<Token>> = words.map(Token::from_name).collect();
    tokens.is_some_and(|tokens| forms.iter().any(|form| form.parsed().fit(&tokens).is_some()))
}

#[test]
fn every_form_of_real_programs_has_a_line() {
    let missing: Vec<_> =
        rows().filter(|row| !ABSENT.iter().any(|absent| row.starts_with(absent)) && !fits(row)).collect();
    assert!(missing.is_empty(), "no line for {missing:?}");
    assert!(rows().count() > 400);
}

#[test]
fn what_is_listed_as_absent_is_absent() {
    for row in rows().filter(|row| ABSENT.iter().any(|absent| row.starts_with(absent))) {
        assert!(!fits(row), "{row} has a line now");
    }
}
