//! Statistics as Parquet. The program's libraries write JSON, and the command makes tables of it.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use run_columns::{ColumnsError, write_launches, write_series};
use saved_run::outputs::STATUS;
use voltsim_checkpoint::atomic_file::UnfinishedFolder;
use voltsim_checkpoint::output::Output;

use crate::failure::Failure;
use crate::outputs;

/// True for the name of a Parquet file.
pub(crate) fn is_parquet(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "parquet")
}

/// The file of the series beside a file of launches: `run.series.parquet` beside `run.parquet`.
pub(crate) fn series_file(launches: &Path) -> PathBuf {
    launches.with_extension("series.parquet")
}

/// Tables that are made of JSON when the run has ended.
pub(crate) struct Tables {
    launches: PathBuf,
    has_series: bool,
    /// Holds the JSON, and is removed with it.
    folder: UnfinishedFolder,
}

impl Tables {
    /// Tables in the named file, and a second one if the run has series.
    pub(crate) fn new(launches: &Path, has_series: bool) -> Result<Tables, Failure> {
        let folder = UnfinishedFolder::create(launches).map_err(|error| {
            Failure::in_file(launches, format_args!("no folder for the statistics beside this file: {error}"))
                .remedy("name a file in a folder that can be written")
        })?;
        Ok(Tables { launches: launches.to_owned(), has_series, folder })
    }

    /// The file that becomes the tables.
    pub(crate) fn json(&self) -> PathBuf {
        self.folder.here().join("statistics.json")
    }

    /// The file that the user has named.
    pub(crate) fn launches(&self) -> &Path {
        &self.launches
    }

    /// Writes the tables; none if the run has written no statistics.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        let json = self.json();
        let read = || File::open(&json);
        let statistics = match read() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            statistics => statistics.map_err(ColumnsError::Output),
        };
        let file = &self.launches;
        let launches = statistics.and_then(|json| Ok(write_launches(json, Output::create(file)?)?.finish()?));
        launches.map_err(|error| unwritten(file, error))?;
        if self.has_series {
            let file = series_file(file);
            let series = write_series(read()?, || Ok(Output::create(&file)?));
            let series = series.and_then(|output| Ok(output.map(Output::finish).transpose()?));
            series.map_err(|error| unwritten(&file, error))?;
        }
        Ok(())
    }
}

fn unwritten(file: &Path, error: ColumnsError) -> Failure {
    match error {
        ColumnsError::Output(error) => outputs::unwritable(file, &error),
        error => Failure::in_file(file, error).with_status(STATUS),
    }
}
