//! What `launch.toml` and `results.toml` say.

use crate::accessible::Accessible;
use crate::textures::{Image, Surface, Texture};
use crate::words::Words;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The format of the folder that this code reads and writes.
pub const FORMAT: u32 = 2;

/// A device address; in a manifest, text such as `"0x7f0012345600"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(pub u64);

/// A launch: `launch.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// [`FORMAT`] of whoever wrote it.
    pub format: u32,
    /// Version of Voltsim that wrote it.
    pub voltsim: String,
    /// The program's executable.
    pub program: String,
    /// Number of the launch in the program, from 1.
    pub launch: u64,
    /// Number of the API call that launched it, from 1, as in the log.
    pub api_call: u64,
    /// The device's profile, by name or file.
    pub device: String,
    /// The kernel's name in the PTX.
    pub kernel: String,
    /// Files with PTX; the first holds the kernel, the others what it is linked with.
    pub modules: Vec<String>,
    /// CTAs along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// A cooperative launch.
    pub cooperative: bool,
    /// CTAs of a cluster along x, y, z, if the launch had clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// Bytes of all parameters.
    pub parameter_bytes: u32,
    /// Bytes that `malloc` in kernels may hand out, if that is not what it is without a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap_limit: Option<u64>,
    /// What the kernel can reach and the folder has not, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
    /// The parameters.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// The memory that may be reached.
    #[serde(default)]
    pub buffers: Vec<Buffer>,
    /// The arrays of textures and surfaces.
    #[serde(default)]
    pub images: Vec<Image>,
    /// The texture objects that may be reached.
    #[serde(default)]
    pub textures: Vec<Texture>,
    /// The surface objects that may be reached.
    #[serde(default)]
    pub surfaces: Vec<Surface>,
}

/// A parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name in the PTX.
    pub name: String,
    /// Bytes from the start of the parameter block.
    pub offset: u32,
    /// Its value, two hexadecimal digits a byte, in the order of memory.
    #[serde(with = "hexadecimal")]
    pub bytes: Vec<u8>,
    /// Words of it that are addresses in buffers.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub pointers: Words,
    /// Words of it that are handles of textures and surfaces.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub objects: Words,
}

/// A stretch of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Where it was.
    pub address: Address,
    /// Bytes.
    pub size: u64,
    /// Who allocated it: `device`, `managed`, `host`, `registered`, `module`, `heap`, `array`.
    pub kind: String,
    /// The module's variable that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// File with the contents before the launch, compressed by zstd.
    pub file: String,
    /// Hash of the contents.
    pub blake3: String,
    /// Words that are addresses in buffers.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub pointers: Words,
    /// Words that are addresses of device functions.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub functions: Words,
    /// Words that are handles of textures and surfaces.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub objects: Words,
}

/// Memory after a launch: `results.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultList {
    /// [`FORMAT`] of whoever wrote it.
    pub format: u32,
    /// How the launch ended, by the driver API's name: `CUDA_SUCCESS`.
    pub outcome: String,
    /// The buffers of the launch, in its order; none after a failure.
    #[serde(default)]
    pub buffers: Vec<ResultBuffer>,
}

/// A buffer after a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultBuffer {
    /// Where it was in this run.
    pub address: Address,
    /// Bytes.
    pub size: u64,
    /// File with the contents.
    pub file: String,
    /// Hash of the contents.
    pub blake3: String,
}

/// The heap of kernels at a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heap {
    /// Bytes that `malloc` may hand out, if that is not what it is without a call.
    pub limit: Option<u64>,
    /// What it has handed out: address and bytes.
    pub blocks: Vec<(u64, u64)>,
}

impl Buffer {
    /// Has `malloc` in a kernel handed it out?
    pub fn is_of_heap(&self) -> bool {
        self.kind == "heap"
    }
}

impl Launch {
    /// The heap of kernels: all of it if what was allocated is known, else as far as the launch can reach it.
    pub fn heap(&self, accessible: Option<&Accessible>) -> Heap {
        let reached = || {
            let blocks = self.buffers.iter().filter(|buffer| buffer.is_of_heap());
            blocks.map(|buffer| (buffer.address.0, buffer.size)).collect()
        };
        let blocks = accessible.map_or_else(reached, |accessible| accessible.heap.clone());
        Heap { limit: self.heap_limit, blocks }
    }

    /// The parameter block, with gaps of 0.
    pub fn parameter_block(&self) -> Vec<u8> {
        let mut block = vec![0; self.parameter_bytes as usize];
        for parameter in &self.parameters {
            let from = parameter.offset as usize;
            if let Some(place) = block.get_mut(from..from.saturating_add(parameter.bytes.len())) {
                place.copy_from_slice(&parameter.bytes);
            }
        }
        block
    }

    /// Threads of the whole grid.
    pub fn threads(&self) -> u64 {
        let product = |size: [u32; 3]| size.iter().fold(1, |all: u64, one| all.saturating_mul((*one).into()));
        product(self.grid).saturating_mul(product(self.block))
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Address, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        digits.map(Address).ok_or_else(|| D::Error::custom(format!("`{text}` is no address such as 0x7f00")))
    }
}

/// Bytes as hexadecimal digits.
mod hexadecimal {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::fmt::Write as _;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let text = bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        serializer.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
        let pair = |pair: &[u8]| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
        bytes.ok_or_else(|| D::Error::custom("not pairs of hexadecimal digits"))
    }
}
