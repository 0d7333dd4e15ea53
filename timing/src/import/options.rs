//! Option files: `-name value`, with comments from `#` to the end of a line and quotes around values with blanks.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use super::ImportError;

/// What a file gives for an option.
pub(super) struct Given {
    /// Its value, with single blanks between its words.
    pub value: String,
    /// Line, from 1.
    pub line: usize,
}

/// Options of a file, and which of them have been asked for.
pub(super) struct Options {
    file: String,
    options: BTreeMap<String, Given>,
    used: BTreeSet<String>,
}

/// A word and its line. Quotes join what is between them, line ends left out.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut quoted: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        let line = line.split('#').next().unwrap_or_default();
        for (index, part) in line.split('"').enumerate() {
            if index > 0 {
                quoted = match quoted.take() {
                    None => Some((number, String::new())),
                    Some(done) => {
                        words.push(done);
                        None
                    }
                };
            }
            match &mut quoted {
                Some((_, text)) => text.extend(part.split_whitespace()),
                None => words.extend(part.split_whitespace().map(|word| (number, word.to_owned()))),
            }
        }
    }
    words.extend(quoted);
    words
}

fn is_name(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()))
}

impl Options {
    /// Reads a file. Of an option that is there twice the last counts, as in GPGPU-Sim.
    pub fn read(file: &str, text: &str) -> Result<Options, ImportError> {
        let mut options = BTreeMap::new();
        let mut name: Option<(usize, String)> = None;
        let mut values: Vec<String> = Vec::new();
        let mut end = |name: Option<(usize, String)>, values: &mut Vec<String>| {
            if let Some((line, name)) = name {
                options.insert(name, Given { value: values.join(" "), line });
            }
            values.clear();
        };
        for (line, word) in words(text) {
            if is_name(&word) {
                end(name.take(), &mut values);
                name = Some((line, word[1..].to_owned()));
            } else if name.is_some()
                && (values.is_empty() || name.as_ref().is_some_and(|(at, _)| *at == line))
            {
                values.push(word);
            } else {
                return Err(ImportError {
                    file: file.to_owned(),
                    line,
                    option: String::new(),
                    value: word,
                    reason: "an option begins with a dash".to_owned(),
                });
            }
        }
        end(name, &mut values);
        Ok(Options { file: file.to_owned(), options, used: BTreeSet::new() })
    }

    /// The value of an option, which counts as used.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, ImportError> {
        let Some(option) = self.options.get(name) else { return Ok(None) };
        if option.value.is_empty() {
            return Err(self.error(name, "it has no value"));
        }
        self.used.insert(name.to_owned());
        Ok(Some(option.value.clone()))
    }

    /// The whole number that an option is, and its source.
    pub fn number(&mut self, name: &str) -> Result<Option<u32>, ImportError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| self.error(name, "a whole number is needed"))
    }

    /// The numbers that an option lists, separated by `separator`.
    pub fn list<T: FromStr>(&mut self, name: &str, separator: char) -> Result<Option<Vec<T>>, ImportError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let numbers: Result<Vec<T>, T::Err> = text.split(separator).map(|part| part.trim().parse()).collect();
        numbers
            .map(Some)
            .map_err(|_| self.error(name, &format!("numbers separated by `{separator}` are needed")))
    }

    /// The value has no counterpart: the option counts as unused.
    pub fn leave(&mut self, name: &str) {
        self.used.remove(name);
    }

    /// Where a value comes from that an option gives.
    pub fn source(&self, name: &str) -> String {
        match self.options.get(name) {
            Some(Given { value, line }) => format!("line {line}: -{name} {value}"),
            None => format!("-{name} is not given"),
        }
    }

    /// An error of an option.
    pub fn error(&self, name: &str, reason: &str) -> ImportError {
        let option = self.options.get(name);
        ImportError {
            file: self.file.clone(),
            line: option.map_or(0, |option| option.line),
            option: name.to_owned(),
            value: option.map_or_else(String::new, |option| option.value.clone()),
            reason: reason.to_owned(),
        }
    }

    /// Options that nothing has been made of.
    pub fn unused(&self) -> impl Iterator<Item = (&String, &Given)> {
        self.options.iter().filter(|(name, _)| !self.used.contains(*name))
    }
}
