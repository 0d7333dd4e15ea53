//! Files from the network: fetched by `curl`, kept in a folder, known by their SHA-256.
//!
//! An interrupted download resumes where it stopped. A download may be part of a file, such as one
//! member of an archive.

use std::env;
use std::fs::{self, File};
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// A file to fetch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Download {
    pub(crate) url: String,
    /// First of the bytes wanted.
    #[serde(default)]
    pub(crate) first_byte: u64,
    /// How many bytes are wanted.
    pub(crate) bytes: u64,
    /// Of the bytes wanted, in hexadecimal digits.
    pub(crate) sha256: String,
    /// Name of the file that they are kept in; that of the URL unless they are part of its file.
    pub(crate) name: Option<String>,
    /// An archive's URL for when the first has the file no more.
    pub(crate) archived: Option<String>,
}

impl Download {
    fn name(&self) -> &str {
        let of_url = || self.url.rsplit('/').next().unwrap_or_default();
        self.name.as_deref().unwrap_or_else(of_url)
    }
}

/// The folder of files that were fetched.
#[derive(Debug)]
pub(crate) struct Downloads {
    folder: PathBuf,
    /// Held as long as this process uses the folder.
    _lock: File,
}

impl Downloads {
    /// Opens the folder: `$XDG_CACHE_HOME/voltsim/downloads` unless one is given. Waits while
    /// another process has it.
    pub(crate) fn open(folder: Option<&Path>) -> Result<Self, Failure> {
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None => usual_folder()?,
        };
        let lock = folder.join(".lock");
        let failed = |error| Failure::in_file(&lock, error).remedy("Give another folder with --downloads");
        fs::create_dir_all(&folder).map_err(failed)?;
        let file = File::create(&lock).map_err(failed)?;
        if file.try_lock().is_err() {
            eprintln!("{}: waiting for another voltsim setup", folder.display());
            file.lock().map_err(failed)?;
        }
        Ok(Self { folder, _lock: file })
    }

    /// Bytes still to be fetched.
    pub(crate) fn missing_bytes<'a>(&self, downloads: impl IntoIterator<Item = &'a Download>) -> u64 {
        let missing = |download: &Download| {
            let there = |path| fs::metadata(path).map_or(0, |file| file.len());
            download.bytes.saturating_sub(there(self.path(download)).max(there(self.partial(download))))
        };
        downloads.into_iter().map(missing).sum()
    }

    /// Where the folder lies.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, download: &Download) -> PathBuf {
        self.folder.join(download.name())
    }

    fn partial(&self, download: &Download) -> PathBuf {
        self.folder.join(format!("{}.part", download.name()))
    }

    /// The file with what is wanted, fetched if it is not there.
    pub(crate) fn fetch(&self, download: &Download) -> Result<PathBuf, Failure> {
        let path = self.path(download);
        if path.exists() {
            if is_as_wanted(&path, download)? {
                return Ok(path);
            }
            eprintln!("{}: damaged; fetching it again", path.display());
            remove(&path)?;
        }
        let partial = self.partial(download);
        let mut had = length(&partial)?;
        if had > download.bytes {
            remove(&partial)?;
            had = 0;
        }
        if had < download.bytes {
            self.fetch_rest(download, &partial, had)?;
        }
        if !is_as_wanted(&partial, download)? {
            remove(&partial)?;
            return Err(Failure::new(format_args!(
                "{}: not the file that was expected ({} bytes with SHA-256 {})",
                download.url, download.bytes, download.sha256
            ))
            .remedy(
                "Run the command again; if it stays so, something on the way to the server changes files",
            ));
        }
        fs::rename(&partial, &path).map_err(|error| Failure::in_file(&partial, error))?;
        Ok(path)
    }

    fn fetch_rest(&self, download: &Download, partial: &Path, had: u64) -> Result<(), Failure> {
        eprintln!("{}: {} MB", download.name(), (download.bytes - had).div_ceil(1 << 20));
        let urls = [Some(&download.url), download.archived.as_ref()];
        let mut urls = urls.into_iter().flatten().peekable();
        while let Some(url) = urls.next() {
            let reason = match curl(url, download, partial, had)?.code() {
                Some(0) => break,
                // Not found, by HTTP and as a file.
                Some(22 | 37) if urls.peek().is_some() => continue,
                Some(63) => "the server sends another file than was expected".to_owned(),
                Some(code) => format!("curl failed: exit status {code}"),
                None => "curl was ended".to_owned(),
            };
            return Err(Failure::new(format_args!("{url}: {reason}"))
                .remedy("Run the command again: it goes on where it stopped"));
        }
        Ok(())
    }
}

/// Appends what is missing to a file.
fn curl(url: &str, download: &Download, partial: &Path, had: u64) -> Result<ExitStatus, Failure> {
    let file = File::options().append(true).create(true).open(partial);
    let mut file = file.map_err(|error| Failure::in_file(partial, error))?;
    let (first, rest) = (download.first_byte + had, download.bytes - had);
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--location", "--show-error", "--connect-timeout", "30", "--speed-time", "60"]);
    curl.arg(if std::io::stderr().is_terminal() { "--progress-bar" } else { "--silent" });
    curl.args(["--range", &format!("{first}-{}", first + rest - 1)]);
    // A server that does not know ranges would send the whole file.
    curl.args(["--max-filesize", &rest.to_string()]);
    curl.arg(url).stdout(Stdio::piped());
    let mut curl = curl.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::new("curl is not there").remedy("Install it: apt-get install curl"),
        _ => Failure::new(format_args!("curl: {error}")),
    })?;
    // Through this process, so that curl does not go on writing when this process is killed.
    let copied = curl.stdout.take().map_or(Ok(0), |mut from| std::io::copy(&mut from, &mut file));
    let status = curl.wait().map_err(|error| Failure::new(format_args!("curl: {error}")))?;
    copied.map_err(|error| {
        Failure::in_file(partial, error)
            .remedy("Make room and run the command again: it goes on where it stopped")
    })?;
    Ok(status)
}

fn usual_folder() -> Result<PathBuf, Failure> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| {
        Failure::new("neither XDG_CACHE_HOME nor HOME is set").remedy("Name a folder with --downloads")
    })?;
    Ok(cache.join("voltsim/downloads"))
}

fn length(path: &Path) -> Result<u64, Failure> {
    match fs::metadata(path) {
        Ok(file) => Ok(file.len()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        Err(error) => Err(Failure::in_file(path, error)),
    }
}

fn remove(path: &Path) -> Result<(), Failure> {
    fs::remove_file(path).map_err(|error| Failure::in_file(path, error))
}

fn is_as_wanted(path: &Path, download: &Download) -> Result<bool, Failure> {
    if length(path)? != download.bytes {
        return Ok(false);
    }
    let mut hash = Sha256::new();
    let copied = File::open(path).and_then(|mut file| std::io::copy(&mut file, &mut hash));
    copied.map_err(|error| Failure::in_file(path, error))?;
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(digits == download.sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0123456789abcdefghij";
    /// Of "56789abcde".
    const SHA256: &str = "fbaf2368c09c499848d2a2f0007bb35fbac971c58dc58b5fa780749fb3ae57f8";

    struct Server {
        folder: tempfile::TempDir,
        download: Download,
    }

    /// A file to be fetched, through curl's `file:` protocol, and the ten bytes in its middle that
    /// are wanted.
    fn server() -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, TEXT).expect("the file");
        let url = format!("file://{}", file.display());
        let download = Download {
            url,
            first_byte: 5,
            bytes: 10,
            sha256: SHA256.into(),
            name: Some("part".into()),
            archived: None,
        };
        Server { folder, download }
    }

    impl Server {
        fn downloads(&self) -> Downloads {
            Downloads::open(Some(&self.folder.path().join("downloads"))).expect("opened")
        }
    }

    #[test]
    fn a_part_of_a_file_is_fetched_and_kept() {
        let server = server();
        let downloads = server.downloads();
        assert_eq!(downloads.missing_bytes([&server.download]), 10);
        let path = downloads.fetch(&server.download).expect("fetched");
        assert_eq!(fs::read_to_string(&path).expect("readable"), TEXT[5..15]);
        fs::remove_file(server.folder.path().join("file")).expect("removed");
        assert_eq!(downloads.fetch(&server.download).expect("kept"), path);
        assert_eq!(downloads.missing_bytes([&server.download]), 0);
    }

    #[test]
    fn a_file_that_is_gone_is_fetched_from_the_archive() {
        let mut server = server();
        server.download.archived = Some(server.download.url.clone());
        server.download.url.push_str("-that-is-gone");
        let path = server.downloads().fetch(&server.download).expect("fetched");
        assert_eq!(fs::read_to_string(path).expect("readable"), TEXT[5..15]);
    }

    #[test]
    fn an_interrupted_download_goes_on_where_it_stopped() {
        let server = server();
        let downloads = server.downloads();
        fs::write(server.folder.path().join("file"), "...........bcdefghij").expect("another start");
        fs::write(downloads.partial(&server.download), "56789a").expect("the part");
        let path = downloads.fetch(&server.download).expect("fetched");
        assert_eq!(fs::read_to_string(path).expect("readable"), TEXT[5..15]);
    }

    #[test]
    fn a_file_that_is_not_the_expected_one_is_refused_and_not_kept() {
        let server = server();
        let downloads = server.downloads();
        fs::write(server.folder.path().join("file"), "a file of that length").expect("another file");
        let failure = downloads.fetch(&server.download).expect_err("refused").to_string();
        assert!(failure.contains("not the file that was expected"), "{failure}");
        assert!(!downloads.path(&server.download).exists() && !downloads.partial(&server.download).exists());
    }

    #[test]
    fn a_file_that_was_damaged_while_it_was_kept_is_fetched_again() {
        let server = server();
        let downloads = server.downloads();
        let path = downloads.fetch(&server.download).expect("fetched");
        fs::write(&path, "56789abcdX").expect("damaged");
        downloads.fetch(&server.download).expect("fetched again");
        assert_eq!(fs::read_to_string(path).expect("readable"), TEXT[5..15]);
    }

    #[test]
    fn a_server_without_the_file_is_told_with_its_url() {
        let server = server();
        fs::remove_file(server.folder.path().join("file")).expect("removed");
        let failure = server.downloads().fetch(&server.download).expect_err("not there").to_string();
        assert!(
            failure.contains(&server.download.url) && failure.contains("Run the command again"),
            "{failure}"
        );
    }
}
