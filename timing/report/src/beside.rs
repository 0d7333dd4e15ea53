//! Data of launches beside their records, compressed: series and counts by program counter.

use std::env;
use std::fmt;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use voltsim_checkpoint::codec;
use voltsim_checkpoint::journal::JournalWriter;

use timing::record::SourceCounts;
use timing::series::Series;

/// Most bytes of a launch's data.
const LIMIT: usize = 1 << 28;

/// Data of a launch beside its record.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Beside {
    pub(super) series: Option<Series>,
    pub(super) source_counts: Option<SourceCounts>,
}

impl Beside {
    fn is_empty(&self) -> bool {
        self.series.is_none() && self.source_counts.is_none()
    }
}

/// Data by the places of their launches. A large history moves to a temporary file.
pub(super) struct AllBeside(JournalWriter);

impl AllBeside {
    /// No data; a temporary file would be created in `folder`.
    pub(super) fn new(folder: PathBuf) -> AllBeside {
        AllBeside(JournalWriter::new(folder))
    }

    /// Adds the data of the launch at a place.
    pub(super) fn add(&mut self, place: usize, beside: &Beside) {
        if beside.is_empty() {
            return;
        }
        if let Ok(record) = codec::encode(&(place as u64, beside)) {
            // A journal that cannot write its temporary file keeps its records in memory.
            let _ = self.0.push(&record);
        }
    }

    /// Launches in their order, each with its data.
    ///
    /// # Errors
    /// The temporary file is unreadable.
    pub(super) fn of<T>(
        &self,
        launches: impl Iterator<Item = io::Result<T>>,
    ) -> impl Iterator<Item = io::Result<(T, Beside)>> {
        let decode = |record: &[u8]| codec::decode::<LIMIT, (u64, Beside)>(record).map_err(io::Error::other);
        let all = self.0.read();
        let mut all = all.map(move |record| decode(&record.map_err(io::Error::other)?)).peekable();
        launches.enumerate().map(move |(place, launch)| {
            let launch = launch?;
            let is_own = |next: &io::Result<(u64, Beside)>| match next {
                Ok((own, _)) => *own == place as u64,
                Err(_) => true,
            };
            let beside = all.next_if(is_own).transpose()?;
            Ok((launch, beside.map(|(_, beside)| beside).unwrap_or_default()))
        })
    }
}

impl Default for AllBeside {
    fn default() -> AllBeside {
        AllBeside::new(env::temp_dir())
    }
}

impl fmt::Debug for AllBeside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data beside {} launches", self.0.records())
    }
}
