//! A captured launch that is read, from a folder or from a kernel stream.

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

/// A captured launch, its manifest read and checked.
#[derive(Debug)]
pub struct Capture {
    place: Place,
    launch: Launch,
}

/// Where it is.
#[derive(Debug)]
enum Place {
    /// In a folder of its own.
    Folder(PathBuf),
    /// In a stream, as this entry.
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

    /// One whose folder was written now.
    pub(crate) fn of_folder(folder: PathBuf, launch: Launch) -> Capture {
        Capture { place: Place::Folder(folder), launch }
    }

    /// The entry of a stream.
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

    /// The file that has the manifest.
    fn manifest(&self) -> PathBuf {
        match &self.place {
            Place::Folder(folder) => folder.join(MANIFEST),
            Place::Stream(stream, _) => stream.path().to_owned(),
        }
    }

    /// Places that lie outside of what they are places in.
    fn check(&self) -> Result<(), Error> {
        let malformed = |message: String| Error::Malformed { path: self.manifest(), message };
        for parameter in &self.launch.parameters {
            let size = parameter.bytes.len() as u64;
            if u64::from(parameter.offset) + size > self.launch.parameter_bytes.into()
                || parameter.pointers.end().max(parameter.objects.end()) > size
            {
                return Err(malformed(format!(
                    "parameter `{}` does not lie within the parameters",
                    parameter.name
                )));
            }
        }
        for (number, buffer) in self.launch.buffers.iter().enumerate() {
            let end = buffer.address.0.checked_add(buffer.size);
            let words = [&buffer.pointers, &buffer.functions, &buffer.objects];
            if end.is_none() || words.iter().any(|words| words.end() > buffer.size) {
                return Err(malformed(format!("buffer {number} has places outside of it")));
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
                return Err(malformed(format!("image {number} does not lie in a buffer")));
            }
        }
        let of_textures = self.launch.textures.iter().filter_map(|texture| match texture.texels {
            Texels::Image(image) => Some(image),
            _ => None,
        });
        let of_surfaces = self.launch.surfaces.iter().map(|surface| surface.image);
        if let Some(number) = of_textures.chain(of_surfaces).find(|&image| image >= self.launch.images.len())
        {
            return Err(malformed(format!("there is no image {number}")));
        }
        if self.launch.modules.is_empty() {
            return Err(malformed("there is no module".to_owned()));
        }
        Ok(())
    }

    /// The folder, or the file of the stream.
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

    /// The PTX texts; the first holds the kernel.
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

    /// Contents of the buffer of this number before the launch.
    pub fn contents(&self, number: usize) -> Result<Vec<u8>, Error> {
        let message = format!("there is no buffer {number}");
        let none = || Error::Malformed { path: self.manifest(), message };
        let buffer = self.launch.buffers.get(number).ok_or_else(none)?;
        match &self.place {
            Place::Folder(folder) => {
                read_contents(&within(folder, MANIFEST, &buffer.file)?, buffer.size, &buffer.blake3)
            }
            Place::Stream(stream, entry) => stream.buffer(*entry, number, buffer),
        }
    }

    /// Where the buffers were.
    pub fn ranges(&self) -> Ranges {
        Ranges::new(self.launch.buffers.iter().map(|buffer| (buffer.address.0, buffer.size)))
    }

    /// What was allocated at the launch. Folders do not have it, nor streams of before.
    pub fn accessible(&self) -> Result<Option<Accessible>, Error> {
        match &self.place {
            Place::Folder(_) => Ok(None),
            Place::Stream(stream, entry) => stream.accessible(*entry),
        }
    }

    /// The memory after the launch, if that was captured too. Streams do not have it.
    pub fn results(&self) -> Result<Option<Results>, Error> {
        match &self.place {
            Place::Folder(folder) if folder.join(RESULTS).exists() => {
                Results::open(&folder.join(RESULTS)).map(Some)
            }
            _ => Ok(None),
        }
    }
}
