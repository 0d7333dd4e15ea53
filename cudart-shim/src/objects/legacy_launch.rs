//! Launches as before CUDA 4: block shape, shared memory and parameters are settings of a function.

use crate::abi::error::{Error, Result};

/// Most bytes of parameters.
pub(crate) const MAX_PARAMETERS: usize = 32764;

/// Settings of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setting {
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
    pub(crate) parameters: Vec<u8>,
}

impl Setting {
    /// Sets the parameter at an offset in bytes.
    pub(crate) fn set_parameter(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        let end = offset.checked_add(bytes.len()).filter(|end| *end <= MAX_PARAMETERS);
        let end = end.ok_or(Error::InvalidValue)?;
        if self.parameters.len() < end {
            self.parameters.resize(end, 0);
        }
        let target = self.parameters.get_mut(offset..end).ok_or(Error::InvalidValue)?;
        target.copy_from_slice(bytes);
        Ok(())
    }
}
