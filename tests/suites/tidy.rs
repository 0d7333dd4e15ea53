//! The rules of STYLE.md that a program can hold: columns, openers, lengths of sentences, names, files and
//! pages.

#![allow(clippy::expect_used, reason = "helpers of tests, where a panic is the report")]

use std::path::{Path, PathBuf};
use voltsim_tests::catalogue;
use voltsim_tests::tidy::{self, Difference, Finding, Ratchet, Rule};

/// Allowed findings by folder and rule. `cargo xtask tidy --lower` lowers them.
const RATCHET: &str = include_str!("tidy.tsv");

/// How many places a failing test shows of a folder and rule.
const SHOWN: usize = 40;

#[test]
fn no_folder_breaks_more_rules_than_its_ratchet_allows() {
    let findings = tidy::check(&catalogue::checkout()).expect("the checkout can be read");
    let allowed = Ratchet::parse(RATCHET).expect("the ratchet is well formed");
    let report = |risen: &Difference| {
        let places = findings.iter().filter(|it| it.folder() == risen.folder && it.rule == risen.rule);
        let places: Vec<String> = places.take(SHOWN).map(Finding::to_string).collect();
        format!("{risen}\n{}", places.join("\n"))
    };
    let risen: Vec<String> = allowed.risen(&Ratchet::of(&findings)).iter().map(report).collect();
    assert!(risen.is_empty(), "`cargo xtask tidy` lists every place.\n{}", risen.join("\n"));
}

/// The rules that a text breaks as a file of this name.
fn rules(path: &str, text: &str) -> Vec<(Rule, usize)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join(path);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("the folder is made");
    std::fs::write(&file, text).expect("the file is written");
    let findings = tidy::check(folder.path()).expect("the file is read");
    assert!(findings.iter().all(|finding| finding.path == Path::new(path)));
    findings.into_iter().map(|finding| (finding.rule, finding.line)).collect()
}

const LONG: &str = "a b c d e f g h i j k l m n o p q r s t u v w x y z";

#[test]
fn sentence_of_26_words_is_found() {
    let page = format!("# Page\n\nThe {LONG}.\n");
    assert_eq!(rules("docs/page.md", &page), [(Rule::SentenceWords, 3)]);
    let halves = LONG.replace('m', "m. M");
    assert_eq!(rules("docs/page.md", &halves), []);
}

#[test]
fn abbreviation_ends_no_sentence_and_a_word_like_it_does() {
    assert_eq!(rules("docs/page.md", "The warp. It ends.\n"), [(Rule::Opener, 1)]);
    assert_eq!(rules("docs/page.md", "The page (p. It).\n"), []);
}

#[test]
fn code_counts_as_one_word() {
    assert_eq!(rules("docs/page.md", &format!("The command `{LONG}` ends.\n")), []);
}

#[test]
fn tables_headings_and_code_blocks_are_no_sentences() {
    let page = format!("# What {LONG}\n\n| What {LONG} |\n|---|\n\n```\nWhat {LONG}\n```\n");
    assert_eq!(rules("docs/page.md", &page), []);
}

#[test]
fn each_item_of_a_list_is_a_paragraph() {
    assert_eq!(
        rules("docs/page.md", "- The item\n- What follows\n2. It ends\n"),
        [(Rule::Opener, 2), (Rule::Opener, 3)]
    );
}

#[test]
fn banned_opener_is_found_inside_a_paragraph() {
    assert_eq!(rules("docs/page.md", "The page ends. The same\nholds.\n"), [(Rule::Opener, 1)]);
    assert_eq!(rules("docs/page.md", "Items end. Itself a noun.\n"), []);
}

#[test]
fn comments_are_checked_and_strings_are_not() {
    assert_eq!(rules("a/b.rs", "/// The item.\n/// What it is.\nfn a() {}\n"), [(Rule::Opener, 1)]);
    assert_eq!(rules("a/b.rs", "const A: &str = \"\n// What it is.\n\";\n"), []);
    assert_eq!(rules("a/b.rs", "const A: &str = r#\"\"\n// What it is.\n\"#;\n"), []);
    assert_eq!(
        rules("a/b.rs", "fn a<'a>(b: &'a u8) -> bool { *b == b'\"' } // It is.\n"),
        [(Rule::Opener, 1)]
    );
}

#[test]
fn test_name_of_61_characters_is_found() {
    let source = |length| format!("#[test]\n#[ignore]\nfn {}() {{}}\n", "a".repeat(length));
    assert_eq!(rules("a/b.rs", &source(61)), [(Rule::TestName, 3)]);
    assert_eq!(rules("a/b.rs", &source(60)), []);
}

#[test]
fn long_line_of_a_page_is_found() {
    let line = format!("{}\n", "word ".repeat(21));
    let rules = rules("docs/page.md", &format!("{line}\n| {line}```\n{line}```\n"));
    assert_eq!(rules, [(Rule::Columns, 1)]);
}

#[test]
fn documents_have_sizes() {
    assert_eq!(rules("README.md", &"The word.\n".repeat(620)), [(Rule::PageBytes, 1)]);
    assert_eq!(rules("STYLE.md", &"The word.\n".repeat(520)), [(Rule::PageBytes, 1)]);
    assert_eq!(rules("docs/reference/page.md", &"The word.\n".repeat(9000)), []);
}

#[test]
fn ratchet_only_falls() {
    let finding =
        |path: &str| Finding { rule: Rule::Opener, path: PathBuf::from(path), line: 1, text: String::new() };
    let allowed = Ratchet::parse("cli\topener\t2\ntiming\topener\t1\n").expect("well formed");
    let found = Ratchet::of(&[finding("cli/a.rs"), finding("timing/a.rs"), finding("timing/b.rs")]);
    let folders = |differences: Vec<Difference>| -> Vec<String> {
        differences.into_iter().map(|difference| difference.folder).collect()
    };
    assert_eq!(folders(allowed.risen(&found)), ["timing"]);
    assert_eq!(folders(allowed.fallen(&found)), ["cli"]);
    assert_eq!(allowed.lowered(&found).to_text(), "cli\topener\t1\ntiming\topener\t1\n");
    assert_eq!(Ratchet::parse("cli\topener"), Err("`cli\topener` is not folder, rule and count".to_owned()));
}
