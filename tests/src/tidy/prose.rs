//! Sentences of Markdown: paragraphs, items of lists and quotations, without headings, tables and code.

/// A sentence of a page or comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The line on which its paragraph begins, from 1.
    pub line: usize,
    /// The sentence, with `·` in place of code.
    pub text: String,
}

impl Sentence {
    /// Number of words; a piece of code is one word.
    pub fn words(&self) -> usize {
        let is_word = |word: &&str| word.contains(|letter: char| letter.is_alphanumeric() || letter == '·');
        self.text.split_whitespace().filter(is_word).count()
    }

    /// True if these words open the sentence.
    pub fn opens_with(&self, words: &str) -> bool {
        let text = self.text.trim_start_matches(['*', '_', '"', '“', '(']);
        text.strip_prefix(words)
            .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '\''))
    }
}

/// Lines outside of fenced code blocks, with their numbers from 1.
pub fn lines_outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((index + 1, line))
    })
}

/// The sentences of a Markdown text.
pub fn sentences(text: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut paragraph = Paragraph::default();
    let mut last = 0;
    for (number, line) in lines_outside_code(text) {
        let trimmed = line.trim();
        // A code block between two lines ends the paragraph too.
        let is_apart = number != last + 1 || trimmed.is_empty();
        last = number;
        let is_other = trimmed.starts_with(['#', '|'])
            || trimmed.starts_with("<!--")
            || is_indented_code(line, &paragraph);
        if is_apart || is_other {
            paragraph.close(&mut found);
        }
        if is_other || trimmed.is_empty() {
            continue;
        }
        let (item, rest) = list_item(trimmed);
        if item {
            paragraph.close(&mut found);
        }
        paragraph.add(number, rest);
    }
    paragraph.close(&mut found);
    found
}

/// True for a line that begins a paragraph and is code by its indentation.
fn is_indented_code(line: &str, paragraph: &Paragraph) -> bool {
    paragraph.text.is_empty() && line.starts_with("     ") && !list_item(line.trim()).0
}

/// A line without the mark of a list's item or a quotation, and whether it had one.
fn list_item(line: &str) -> (bool, &str) {
    let bullet = ["- ", "* ", "+ ", "> "].iter().find_map(|mark| line.strip_prefix(mark));
    let number = || {
        let rest = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
        (rest.len() < line.len()).then(|| rest.strip_prefix(". ")).flatten()
    };
    bullet.or_else(number).map_or((false, line), |rest| (true, rest.trim_start()))
}

/// A paragraph that is being collected.
#[derive(Default)]
struct Paragraph {
    line: usize,
    text: String,
}

impl Paragraph {
    fn add(&mut self, number: usize, line: &str) {
        if self.text.is_empty() {
            self.line = number;
        } else {
            self.text.push(' ');
        }
        self.text.push_str(line);
    }

    /// Adds the paragraph's sentences to `found` and empties it.
    fn close(&mut self, found: &mut Vec<Sentence>) {
        let text = without_targets(&without_code(&self.text));
        let split =
            split(&text).into_iter().map(|sentence| Sentence { line: self.line, text: sentence.to_owned() });
        found.extend(split.filter(|sentence| !sentence.text.is_empty()));
        self.text.clear();
    }
}

/// The text with `·` for each piece of code.
fn without_code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, code)) = rest.split_once('`') {
        out.push_str(before);
        let ticks = 1 + code.len() - code.trim_start_matches('`').len();
        let mark = "`".repeat(ticks);
        let Some(end) = code[ticks - 1..].find(&mark) else {
            rest = code;
            continue;
        };
        out.push('·');
        rest = &code[ticks - 1 + end + ticks..];
    }
    out.push_str(rest);
    out
}

/// The text with the words of each link in place of the link.
fn without_targets(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, target)) = rest.split_once("](") {
        out.push_str(before);
        let Some((_, after)) = target.split_once(')') else {
            rest = target;
            continue;
        };
        rest = after;
    }
    out.push_str(rest);
    out.replace(['[', ']'], "")
}

/// Ends of abbreviations, whose point ends no sentence.
const ABBREVIATIONS: [&str; 10] =
    ["e.g.", "i.e.", "et al.", "Fig.", "Sect.", "vs.", "cf.", "No.", "p.", "pp."];

/// A paragraph's sentences.
fn split(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, mark) in text.match_indices(['.', '!', '?']) {
        let (head, rest) = (&text[start..at + mark.len()], &text[at + mark.len()..]);
        let closed = rest.trim_start_matches([')', '"', '”', '*', '_']);
        let opens = closed.trim_start();
        let is_end = closed.len() > opens.len()
            && opens.starts_with(|next: char| {
                next.is_uppercase() || next.is_ascii_digit() || "·\"“(*_".contains(next)
            });
        if is_end && !is_abbreviated(head) {
            let end = text.len() - closed.len();
            sentences.push(text[start..end].trim());
            start = end;
        }
    }
    sentences.push(text[start..].trim());
    sentences
}

/// True if the text ends with an abbreviation, which is a word of its own: `warp.` ends with none.
fn is_abbreviated(text: &str) -> bool {
    let before = ABBREVIATIONS.iter().filter_map(|abbreviation| text.strip_suffix(abbreviation));
    before.into_iter().any(|before| !before.ends_with(char::is_alphanumeric))
}
