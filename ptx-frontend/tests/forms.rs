//! Coverage of real programs' instruction forms by the op table.

use ptx_frontend::isa::{Token, forms_of};

const FORMS: &str = include_str!("../../tests/isa/ptx-forms.tsv");

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
fn the_op_table_has_every_form_of_real_programs() {
    let missing: Vec<_> = rows().filter(|row| !fits(row)).collect();
    assert!(missing.is_empty(), "no line for {missing:?}");
    assert!(rows().count() > 400);
}
