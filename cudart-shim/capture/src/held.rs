//! A captured launch in memory, before its destination is chosen.

use warp_stream::Past;

use crate::accessible::Accessible;
use crate::error::Error;
use crate::folder::Writer;
use crate::manifest::{Buffer, Launch};

/// Receiver of all that a launch can reach.
pub trait Sink {
    /// Takes a PTX text; the kernel's comes first.
    fn module(&mut self, text: &str) -> Result<(), Error>;
    /// Takes the next buffer; the sink sets `size`, `file` and `blake3`.
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
    /// Manifest without file names.
    pub launch: Launch,
    /// Earlier accesses, if known.
    pub past: Option<Past>,
    /// Allocated memory, if known.
    pub accessible: Option<Accessible>,
    pub(crate) modules: Vec<String>,
    pub(crate) contents: Vec<Vec<u8>>,
}

/// Collects a launch in memory.
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
    /// Completes the launch and sets the manifest's `modules` and `buffers`.
    pub fn finish(self, launch: Launch) -> HeldLaunch {
        let Holder { modules, buffers, contents } = self;
        let names = (0..modules.len()).map(|number| number.to_string()).collect();
        let launch = Launch { modules: names, buffers, ..launch };
        HeldLaunch { launch, past: None, accessible: None, modules, contents }
    }
}
