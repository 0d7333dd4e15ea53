//! Stream attributes: hints for caches, waiting and memory domains. They are stored and returned,
//! with no other effect.

use crate::abi::error::{Error, Result};
use crate::abi::{DefaultStream, Out, StreamHandle};
use crate::session::simulator::Simulator;
use rustc_hash::FxHashMap;
use std::ffi::c_int;
use stream_engine::StreamId;

/// `cudaLaunchAttributeValue`, `CUlaunchAttributeValue`: 64 bytes, whose layout depends on the
/// attribute.
pub(crate) type Value = [u32; 16];

/// `cudaLaunchAttributeID`, `CUlaunchAttributeID`: the attributes of streams.
mod attribute {
    pub(crate) const ACCESS_POLICY_WINDOW: i32 = 1;
    pub(crate) const SYNCHRONIZATION_POLICY: i32 = 3;
    pub(crate) const PRIORITY: i32 = 8;
    pub(crate) const MEM_SYNC_DOMAIN_MAP: i32 = 9;
    pub(crate) const MEM_SYNC_DOMAIN: i32 = 10;
}

/// Word offset in `cudaAccessPolicyWindow`, after the address and the size.
const HIT_RATIO: usize = 4;
const HIT_PROPERTY: usize = 5;
const MISS_PROPERTY: usize = 6;
/// `cudaAccessPropertyPersisting`, which is invalid for misses.
const PERSISTING: u32 = 2;

/// Attributes set by the program.
pub(crate) type Values = FxHashMap<(StreamId, c_int), Value>;

fn first(word: u32) -> Value {
    let mut value = Value::default();
    value[0] = word;
    value
}

/// Rejects invalid attribute values.
fn check(attribute: c_int, value: &Value) -> Result<()> {
    let fits = match attribute {
        attribute::ACCESS_POLICY_WINDOW => {
            (0.0..=1.0).contains(&f32::from_bits(value[HIT_RATIO]))
                && value[HIT_PROPERTY] <= PERSISTING
                && value[MISS_PROPERTY] < PERSISTING
        }
        // Policies: automatic, spinning, yielding, blocking.
        attribute::SYNCHRONIZATION_POLICY => (1..=4).contains(&value[0]),
        // Devices of this capability have one domain.
        attribute::MEM_SYNC_DOMAIN_MAP => value[0] & 0xffff == 0,
        attribute::MEM_SYNC_DOMAIN => value[0] <= 1,
        _ => false,
    };
    if fits { Ok(()) } else { Err(Error::InvalidValue) }
}

impl Simulator {
    /// Removes the attributes of a destroyed stream.
    pub(crate) fn forget_stream_attributes(&self, stream: StreamId) {
        self.stream_attributes.lock().retain(|(of, _), _| *of != stream);
    }

    /// An attribute of a stream.
    pub(crate) fn stream_attribute(
        &self,
        stream: StreamHandle,
        default: DefaultStream,
        attribute: c_int,
        result: Out<Value>,
    ) -> Result<()> {
        result.check()?;
        let stream = self.stream(stream, default)?;
        let info = self.engine.stream_info(stream)?;
        let set = self.stream_attributes.lock().get(&(stream, attribute)).copied();
        let usual = match attribute {
            attribute::SYNCHRONIZATION_POLICY => first(1),
            attribute::PRIORITY => first(info.priority as u32),
            attribute::ACCESS_POLICY_WINDOW | attribute::MEM_SYNC_DOMAIN_MAP | attribute::MEM_SYNC_DOMAIN => {
                Value::default()
            }
            _ => return Err(Error::InvalidValue),
        };
        result.set(set.unwrap_or(usual))
    }

    /// Sets an attribute of a stream. The priority can be set only at creation.
    pub(crate) fn set_stream_attribute(
        &self,
        stream: StreamHandle,
        default: DefaultStream,
        attribute: c_int,
        value: &Value,
    ) -> Result<()> {
        let stream = self.stream(stream, default)?;
        self.engine.stream_info(stream)?;
        check(attribute, value)?;
        self.stream_attributes.lock().insert((stream, attribute), *value);
        Ok(())
    }

    /// Copies all attributes from another stream.
    pub(crate) fn copy_stream_attributes(
        &self,
        to: StreamHandle,
        from: StreamHandle,
        default: DefaultStream,
    ) -> Result<()> {
        let (to, from) = (self.stream(to, default)?, self.stream(from, default)?);
        self.engine.stream_info(to)?;
        self.engine.stream_info(from)?;
        let values = &mut *self.stream_attributes.lock();
        let copied: Vec<_> = values
            .iter()
            .filter(|((of, _), _)| *of == from)
            .map(|((_, attribute), value)| ((to, *attribute), *value))
            .collect();
        values.retain(|(of, _), _| *of != to || to == from);
        values.extend(copied);
        Ok(())
    }
}
