//! A captured launch in memory, before somebody decides where it goes.

use warp_stream::Past;

use crate::accessible::Accessible;
use crate::error::Error;
use crate::folder::Writer;
use crate::manifest::{Buffer, Launch};

/// What a launch can reach, as it is told.
pub trait Sink {
    /// PTX; that of the kernel comes first.
    fn module(&mut self, text: &str) -> Result<(), Error>;
    /// The next buffer. Its `size`, `file` and `blake3` are the sink's affair.
    fn buffer(&mut self, buffer: Buffer, contents: Vec<u8>) -> Result<(), Error>;
}

impl Sink for Writer {
    fn module(&mut self, text: &str) -> Result<(), Error> {
        Writer::module(self, text)
    }

    fn buffer(&mut self, buffer: Buffer, contents: Vec<u8>) -> Result<(), Error> {
        Writer::buffer(self, buffer, &contents)
    }
}

/// A launch with all that it can reach.
#[derive(Debug)]
pub struct HeldLaunch {
    /// Its manifest, which names no files.
    pub launch: Launch,
    /// What came before it, if that is known.
    pub past: Option<Past>,
    /// What was allocated, if that is known.
    pub accessible: Option<Accessible>,
    pub(crate) modules: Vec<String>,
    pub(crate) contents: Vec<Vec<u8>>,
}

/// Takes a launch into memory.
#[derive(Debug, Default)]
pub struct Holder {
    modules: Vec<String>,
    buffers: Vec<Buffer>,
    contents: Vec<Vec<u8>>,
}

impl Sink for Holder {
    fn module(&mut self, text: &str) -> Result<(), Error> {
        self.modules.push(text.to_owned());
        Ok(())
    }

    fn buffer(&mut self, buffer: Buffer, contents: Vec<u8>) -> Result<(), Error> {
        self.buffers.push(Buffer { size: contents.len() as u64, ..buffer });
        self.contents.push(contents);
        Ok(())
    }
}

impl Holder {
    /// The launch; `modules` and `buffers` of the manifest are set here.
    pub fn finish(self, launch: Launch) -> HeldLaunch {
        let Holder { modules, buffers, contents } = self;
        let names = (0..modules.len()).map(|number| number.to_string()).collect();
        let launch = Launch { modules: names, buffers, ..launch };
        HeldLaunch { launch, past: None, accessible: None, modules, contents }
    }
}
