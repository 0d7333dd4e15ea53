//! A captured launch, read from a folder or a kernel stream.

use crate::accessible::Accessible;
use crate::error::Error;
use crate::folder::{MANIFEST, RESULTS, Results, is_capture, read_contents, read_manifest, reading, within};
use crate::manifest::{FORMAT, Launch};
use crate::ranges::Ranges;
use crate::stream::KernelStream;
use crate::textures::{Level, Texels};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A captured launch with its validated manifest.
#[derive(Debug)]
pub struct Capture {
    place: Place,
    launch: Launch,
}

/// Location of a capture.
#[derive(Debug)]
enum Place {
    /// A folder of one launch.
    Folder(PathBuf),
    /// Entry of a kernel stream.
    Stream(Arc<KernelStream>, usize),
}

impl Capture {
    /// Opens a folder.
    pub fn open(folder: &Path) -> Result<Capture, Error> {
        if folder.is_dir() && !is_capture(folder) {
            return Err(Error::NotACapture { path: folder.to_owned() });
        }
        let launch: Launch = read_manifest(&folder.join(MANIFEST), FORMAT)?;
        Capture::of_folder(folder.to_owned(), launch).checked()
    }

    /// A capture whose folder was just written.
    pub(crate) fn of_folder(folder: PathBuf, launch: Launch) -> Capture {
        Capture { place: Place::Folder(folder), launch }
    }

    /// A stream's entry.
    pub(crate) fn of_stream(
        stream: Arc<KernelStream>,
        entry: usize,
        launch: Launch,
    ) -> Result<Capture, Error> {
        Capture { place: Place::Stream(stream, entry), launch }.checked()
    }

    fn checked(self) -> Result<Capture, Error> {
        self.check()?;
        Ok(self)
    }

    /// File that holds the manifest.
    fn manifest(&self) -> PathBuf {
        match &self.place {
            Place::Folder(folder) => folder.join(MANIFEST),
            Place::Stream(stream, _) => stream.path().to_owned(),
        }
    }

    /// Checks that offsets lie within their buffers.
    fn check(&self) -> Result<(), Error> {
        let malformed = |message: String| Error::Malformed { path: self.manifest(), message };
        for parameter in &self.launch.parameters {
            let size = parameter.bytes.len() as u64;
            if u64::from(parameter.offset) + size > self.launch.parameter_bytes.into()
                || parameter.pointers.end().max(parameter.objects.end()) > size
            {
                return Err(malformed(format!("parameter `{}` exceeds the parameter block", parameter.name)));
            }
        }
        for (number, buffer) in self.launch.buffers.iter().enumerate() {
            let end = buffer.address.0.checked_add(buffer.size);
            let words = [&buffer.pointers, &buffer.functions, &buffer.objects];
            if end.is_none() || words.iter().any(|words| words.end() > buffer.size) {
                return Err(malformed(format!("buffer {number} has word offsets beyond its end")));
            }
        }
        let ranges = self.ranges();
        for (number, image) in self.launch.images.iter().enumerate() {
            let lies_in_buffer = |level: &Level| {
                let place = ranges.find(level.address.0)?;
                let buffer = self.launch.buffers.get(place.buffer)?;
                let end = place.offset.checked_add(image.bytes(level)?)?;
                (end <= buffer.size && level.pitch > 0 && level.slice.is_multiple_of(level.pitch))
                    .then_some(())
            };
            if image.levels.is_empty() || image.levels.iter().any(|level| lies_in_buffer(level).is_none()) {
                return Err(malformed(format!("image {number} is outside every buffer")));
            }
        }
        let of_textures = self.launch.textures.iter().filter_map(|texture| match texture.texels {
            Texels::Image(image) => Some(image),
            _ => None,
        });
        let of_surfaces = self.launch.surfaces.iter().map(|surface| surface.image);
        if let Some(number) = of_textures.chain(of_surfaces).find(|&image| image >= self.launch.images.len())
        {
            return Err(malformed(format!("image {number} is missing")));
        }
        if self.launch.modules.is_empty() {
            return Err(malformed("the module is missing".to_owned()));
        }
        Ok(())
    }

    /// The folder, or the stream's file.
    pub fn path(&self) -> &Path {
        match &self.place {
            Place::Folder(folder) => folder,
            Place::Stream(stream, _) => stream.path(),
        }
    }

    /// The manifest.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// PTX texts, the kernel's first.
    pub fn modules(&self) -> Result<Vec<String>, Error> {
        let folder = match &self.place {
            Place::Folder(folder) => folder,
            Place::Stream(stream, entry) => return stream.modules(*entry),
        };
        let read = |file: &String| {
            let path = within(folder, MANIFEST, file)?;
            fs::read_to_string(&path).map_err(reading(&path))
        };
        self.launch.modules.iter().map(read).collect()
    }

    /// Contents of a numbered buffer before the launch.
    pub fn contents(&self, number: usize) -> Result<Vec<u8>, Error> {
        let message = format!("buffer {number} is missing");
        let none = || Error::Malformed { path: self.manifest(), message };
        let buffer = self.launch.buffers.get(number).ok_or_else(none)?;
        match &self.place {
            Place::Folder(folder) => {
                read_contents(&within(folder, MANIFEST, &buffer.file)?, buffer.size, &buffer.blake3)
            }
            Place::Stream(stream, entry) => stream.buffer(*entry, number, buffer),
        }
    }

    /// Addresses of the buffers.
    pub fn ranges(&self) -> Ranges {
        Ranges::new(self.launch.buffers.iter().map(|buffer| (buffer.address.0, buffer.size)))
    }

    /// Memory allocated at the launch; `None` for folders and older streams.
    pub fn accessible(&self) -> Result<Option<Accessible>, Error> {
        match &self.place {
            Place::Folder(_) => Ok(None),
            Place::Stream(stream, entry) => stream.accessible(*entry),
        }
    }

    /// Memory after the launch, if captured; `None` for streams.
    pub fn results(&self) -> Result<Option<Results>, Error> {
        match &self.place {
            Place::Folder(folder) if folder.join(RESULTS).exists() => {
                Results::open(&folder.join(RESULTS)).map(Some)
            }
            _ => Ok(None),
        }
    }
}
