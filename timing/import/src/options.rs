//! Option files: `-name value`, comments from `#` to the end of the line, quotes around values with
//! blanks.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use super::ImportError;

/// An option as given.
pub(super) struct Given {
    /// Value, with single blanks between words.
    pub value: String,
    /// Line, from 1.
    pub line: usize,
}

/// Renamed options: GPGPU-Sim 4's name and the older one.
const RENAMED: &[(&str, &str)] = &[
    ("gpgpu_frfcfs_dram_sched_queue_size", "gpgpu_dram_sched_queue_size"),
    ("gpgpu_n_clusters", "gpgpu_n_shader"),
    ("gpgpu_l2_rop_latency", "rop_latency"),
    ("gpgpu_n_mem_per_ctrlr", "gpu_n_mem_per_ctrlr"),
    ("gpgpu_adaptive_cache_config", "adaptive_volta_cache_config"),
    ("gpgpu_l1_banks", "l1_banks"),
    ("gpgpu_smem_latency", "smem_latency"),
    ("gpgpu_l1_latency", "l1_latency"),
    ("ptx_opcode_latency_tesnor", "ptx_opcode_latency_tensor"),
];

/// Options of a file, with a record of those used.
pub(super) struct Options {
    file: String,
    options: BTreeMap<String, Given>,
    used: BTreeSet<String>,
    /// Options looked up but not given.
    absent: BTreeSet<String>,
}

/// Splits text into words with lines. Quotes join words and drop line ends.
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
    /// Parses a file. The last of repeated options counts, as in GPGPU-Sim.
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
                    reason: "an option must begin with a dash".to_owned(),
                });
            }
        }
        end(name, &mut values);
        Ok(Options { file: file.to_owned(), options, used: BTreeSet::new(), absent: BTreeSet::new() })
    }

    /// Name of an option in the file: the older one if only that is given.
    fn renamed<'a>(&self, name: &'a str) -> &'a str {
        if self.options.contains_key(name) {
            return name;
        }
        let older = RENAMED.iter().filter(|(newer, _)| *newer == name).map(|(_, older)| *older);
        older.into_iter().find(|older| self.options.contains_key(*older)).unwrap_or(name)
    }

    /// Compute capability of the card, as `7.0`, and the option that gives it.
    pub fn capability(&self) -> Option<(String, &'static str)> {
        let value = |name: &str| self.options.get(name).and_then(|given| given.value.parse::<u32>().ok());
        const MAJOR: &str = "gpgpu_compute_capability_major";
        const BOTH: &str = "gpgpu_ptx_force_max_capability";
        let (major, minor, option) = match value(MAJOR) {
            Some(major) => (major, value("gpgpu_compute_capability_minor").unwrap_or(0), MAJOR),
            None => {
                let both = value(BOTH)?;
                (both / 10, both % 10, BOTH)
            }
        };
        (major < 100 && minor < 10).then(|| (format!("{major}.{minor}"), option))
    }

    /// Options looked up but not given.
    pub fn absent(&self) -> impl Iterator<Item = &String> {
        self.absent.iter()
    }

    /// Value of an option, marked as used.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, ImportError> {
        let name = self.renamed(name);
        let Some(option) = self.options.get(name) else {
            self.absent.insert(name.to_owned());
            return Ok(None);
        };
        if option.value.is_empty() {
            return Err(self.error(name, "the value is missing"));
        }
        self.used.insert(name.to_owned());
        Ok(Some(option.value.clone()))
    }

    /// Value of an option as a whole number.
    pub fn number(&mut self, name: &str) -> Result<Option<u32>, ImportError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| self.error(name, "must be a whole number"))
    }

    /// Value of an option as a list of numbers.
    pub fn list<T: FromStr>(&mut self, name: &str, separator: char) -> Result<Option<Vec<T>>, ImportError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let numbers: Result<Vec<T>, T::Err> = text.split(separator).map(|part| part.trim().parse()).collect();
        numbers
            .map(Some)
            .map_err(|_| self.error(name, &format!("must be numbers separated by `{separator}`")))
    }

    /// Marks an option as unused because its value has no counterpart.
    pub fn leave(&mut self, name: &str) {
        let name = self.renamed(name);
        self.used.remove(name);
    }

    /// Source text of a value.
    pub fn source(&self, name: &str) -> String {
        let name = self.renamed(name);
        match self.options.get(name) {
            Some(Given { value, line }) => format!("line {line}: -{name} {value}"),
            None => format!("-{name} is not given"),
        }
    }

    /// An error of an option.
    pub fn error(&self, name: &str, reason: &str) -> ImportError {
        let name = self.renamed(name);
        let option = self.options.get(name);
        ImportError {
            file: self.file.clone(),
            line: option.map_or(0, |option| option.line),
            option: name.to_owned(),
            value: option.map_or_else(String::new, |option| option.value.clone()),
            reason: reason.to_owned(),
        }
    }

    /// Options without effect.
    pub fn unused(&self) -> impl Iterator<Item = (&String, &Given)> {
        self.options.iter().filter(|(name, _)| !self.used.contains(*name))
    }
}
