//! Checkpoints of other builds, made such that this one resumes them.

use std::io::Write;
use std::path::Path;

use launch_capture::is_stream;
use launch_report::saved;
use saved_run::Digest;
use saved_run::checksums::is_checksums;
use saved_run::convert::{ConvertError, Converted, Target, convert, convert_series};

use super::unreadable;
use crate::failure::Failure;
use crate::libraries;

/// Converts a file, or a folder with a series of them.
pub(super) fn run(old: &Path, new: &Path, cold: bool, out: &mut dyn Write) -> Result<(), Failure> {
    for (is_one, what, remedy) in [
        (
            is_stream(old),
            "this is a kernel stream, which has no state of a build and is not converted",
            "Resume it as it is; if its format is another one, write it anew by voltsim run --image",
        ),
        (
            is_checksums(old),
            "this is a file of checksums, which is not converted",
            "Write it anew by voltsim run --checksums",
        ),
    ] {
        if is_one {
            return Err(Failure::in_file(old, what).remedy(remedy));
        }
    }
    let core = libraries::core()?;
    let engine = Digest::of_file(&core).map_err(|error| Failure::in_file(&core, error))?;
    let target = Target {
        voltsim: env!("CARGO_PKG_VERSION"),
        engine,
        model: saved::VERSION,
        check_model: |bytes| saved::decode(bytes).map(drop).map_err(|error| error.to_string()),
        cold,
    };
    if !old.is_dir() {
        let converted = convert(old, new, &target).map_err(|error| refused(old, &error))?;
        return Ok(tell(old, new, &converted, out)?);
    }
    let all = convert_series(old, new, &target).map_err(|error| refused(old, &error))?;
    for (file, converted) in &all {
        tell(file, &new.join(file.file_name().unwrap_or_default()), converted, out)?;
    }
    Ok(())
}

/// A checkpoint that cannot be converted.
fn refused(file: &Path, error: &ConvertError) -> Failure {
    match error {
        ConvertError::Saved(error) => unreadable(file, error),
        ConvertError::InSeries { file, error } => refused(file, error),
        _ => Failure::in_file(file, error).remedy(error.remedy()),
    }
}

/// Says what has become of a file.
fn tell(old: &Path, new: &Path, converted: &Converted, out: &mut dyn Write) -> std::io::Result<()> {
    let (old, new) = (old.display(), new.display());
    if converted.is_as_before() {
        return writeln!(out, "{new}: {old} is of this build already, and was copied");
    }
    writeln!(out, "{new}: made of {old}")?;
    if let Some((voltsim, engine)) = &converted.build {
        writeln!(out, "build       it was of {voltsim} ({engine})")?;
    }
    for (section, versions) in &converted.sections {
        writeln!(out, "section     {section}, from version {} to {}", versions.start, versions.end)?;
    }
    for (device, version) in &converted.left_out {
        writeln!(
            out,
            "left out    state of the timing model of device {device}, of version {version}: caches are empty and statistics begin at the point"
        )?;
    }
    if converted.included > 0 {
        writeln!(out, "pages       those of {} files of before are in it", converted.included)?;
    }
    Ok(())
}
