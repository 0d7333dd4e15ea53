//! Reports of a program's libraries to `voltsim run` on refused kernels: a line per change of a
//! refusal's state.

use std::collections::BTreeMap;
use std::fmt;

/// Exit status of a successful run with a refused kernel whose error the program never queried.
pub const STATUS: u8 = 88;

/// State of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The program has not queried the error.
    Open,
    /// The program received the error.
    Told,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Process of the launch.
    pub process: u32,
    /// The refusal's new state.
    pub state: State,
    /// The kernel's name in its code.
    pub kernel: String,
    /// Library or program that holds the kernel; empty for an image that the program made or read
    /// itself.
    pub holder: String,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Open => "open",
            State::Told => "told",
        };
        write!(f, "{state}\t{}\t{}\t{}", self.process, self.kernel, self.holder)
    }
}

impl Entry {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.splitn(4, '\t');
        let state = match fields.next()? {
            "open" => State::Open,
            "told" => State::Told,
            _ => return None,
        };
        let process = fields.next()?.parse().ok()?;
        Some(Self { process, state, kernel: fields.next()?.to_owned(), holder: fields.next()?.to_owned() })
    }
}

/// Kernels and holders with an open refusal at the end of the file.
pub fn open_at_end(text: &str) -> Vec<(String, String)> {
    let mut states = BTreeMap::new();
    for Entry { process, state, kernel, holder } in text.lines().filter_map(Entry::read) {
        states.insert((kernel, holder, process), state);
    }
    let open = states.into_iter().filter(|(_, state)| *state == State::Open);
    let mut kernels: Vec<_> = open.map(|((kernel, holder, _), _)| (kernel, holder)).collect();
    kernels.dedup();
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(process: u32, state: State, kernel: &str) -> String {
        let (kernel, holder) = (kernel.to_owned(), "/lib x/liba.so".to_owned());
        format!("{}\n", Entry { process, state, kernel, holder })
    }

    #[test]
    fn refusal_is_open_until_its_process_knows() {
        let text = entry(1, State::Open, "a") + &entry(2, State::Open, "b") + &entry(1, State::Told, "a");
        assert_eq!(open_at_end(&text), [("b".to_owned(), "/lib x/liba.so".to_owned())]);
        let again = text + &entry(2, State::Told, "b") + &entry(1, State::Open, "a");
        assert_eq!(open_at_end(&again), [("a".to_owned(), "/lib x/liba.so".to_owned())]);
    }

    #[test]
    fn torn_line_is_ignored() {
        assert_eq!(open_at_end("open\t1\nopen\tx\tk\t\nhello\n"), []);
    }
}
