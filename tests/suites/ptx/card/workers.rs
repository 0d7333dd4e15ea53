//! Processes that run files on a driver.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::{DRIVER, FILES, VERDICTS, Verdict};

/// Time limit of a file, including the start of its process.
const LIMIT: Duration = Duration::from_secs(30);
/// Maximum number of concurrent processes.
const MOST: usize = 12;
/// Replacement of line ends in a message.
const LINE_END: char = '\u{1}';

type Outcome = (PathBuf, Verdict, String);

/// Formats the result of a file as a line.
pub(super) fn line(verdict: Verdict, message: &str) -> String {
    format!("{verdict}\t{}", message.replace('\n', &LINE_END.to_string()))
}

fn read(line: &str) -> Option<(Verdict, String)> {
    let (name, message) = line.split_once('\t')?;
    let (verdict, _) = VERDICTS.iter().find(|(_, known)| *known == name)?;
    Some((*verdict, message.replace(LINE_END, "\n")))
}

/// Distributes all files to processes and runs them.
pub(super) fn run(driver: &Path, files: &[PathBuf]) -> Vec<Outcome> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(MOST);
    let shares = files.chunks(files.len().div_ceil(workers).max(1));
    std::thread::scope(|scope| {
        let running: Vec<_> =
            shares.map(|share| scope.spawn(move || run_share(driver, share.to_vec()))).collect();
        running.into_iter().flat_map(|share| share.join().unwrap_or_default()).collect()
    })
}

fn run_share(driver: &Path, mut files: Vec<PathBuf>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    while !files.is_empty() {
        let heard = match start(driver, &files) {
            Ok((mut child, lines)) => {
                let heard = listen(&lines, files.len());
                // The process may have ended already.
                let _ = child.kill();
                let _ = child.wait();
                heard
            }
            Err(error) => vec![(Verdict::Failed, error.to_string())],
        };
        let done = heard.len().min(files.len());
        let told = files.drain(..done).zip(heard);
        outcomes.extend(told.map(|(path, (verdict, message))| (path, verdict, message)));
    }
    outcomes
}

/// Starts a process for these files. Returns it with a receiver of its output lines.
fn start(driver: &Path, files: &[PathBuf]) -> std::io::Result<(Child, Receiver<String>)> {
    let names: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
    let mut child = Command::new(std::env::current_exe()?)
        .env(DRIVER, driver)
        .env(FILES, names.join("\n"))
        .stdout(Stdio::piped())
        .spawn()?;
    let (sender, lines) = channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
    }
    Ok((child, lines))
}

/// Reads the results of at most `files` files, including one that ended the process.
fn listen(lines: &Receiver<String>, files: usize) -> Vec<(Verdict, String)> {
    let mut heard: Vec<(Verdict, String)> = Vec::new();
    while heard.len() < files {
        match lines.recv_timeout(LIMIT) {
            Ok(line) => heard.extend(read(&line)),
            Err(RecvTimeoutError::Timeout) => {
                heard.push((Verdict::Hangs, format!("no answer in {} s", LIMIT.as_secs())));
                break;
            }
            Err(RecvTimeoutError::Disconnected) => {
                if !heard.last().is_some_and(|(verdict, _)| *verdict == Verdict::Failed) {
                    heard.push((Verdict::Failed, "the process has ended".to_owned()));
                }
                break;
            }
        }
    }
    heard
}
