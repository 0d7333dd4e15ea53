//! Contents of `launch.toml` and `results.toml`.

use crate::accessible::Accessible;
use crate::textures::{Image, Surface, Texture};
use crate::words::Words;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use warp_stream::LaunchShape;

/// Format of folders that this version reads and writes.
pub const FORMAT: u32 = 2;

/// A device address, in a manifest text such as `"0x7f0012345600"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(pub u64);

/// A launch: `launch.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// Voltsim version of the writer.
    pub voltsim: String,
    /// Executable of the program.
    pub program: String,
    /// Number of the launch in the program, from 1.
    pub launch: u64,
    /// API call number of the launch, from 1, as in the log.
    pub api_call: u64,
    /// The device's profile, by name or file.
    pub device: String,
    /// Mangled name of the kernel.
    pub kernel: String,
    /// PTX files: the kernel's first, then those linked with it.
    pub modules: Vec<String>,
    /// CTAs along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// True for a cooperative launch.
    pub cooperative: bool,
    /// CTAs of a cluster along x, y, z, if the launch had clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// Bytes of all parameters.
    pub parameter_bytes: u32,
    /// Heap limit of `malloc` in kernels, if the program changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap_limit: Option<u64>,
    /// Reachable things missing from the folder, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
    /// The parameters.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// Reachable memory.
    #[serde(default)]
    pub buffers: Vec<Buffer>,
    /// Arrays of textures and surfaces.
    #[serde(default)]
    pub images: Vec<Image>,
    /// Reachable texture objects.
    #[serde(default)]
    pub textures: Vec<Texture>,
    /// Reachable surface objects.
    #[serde(default)]
    pub surfaces: Vec<Surface>,
}

/// A parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Name in the PTX.
    pub name: String,
    /// Offset in the parameter block.
    pub offset: u32,
    /// Value: two hexadecimal digits a byte, in memory order.
    #[serde(with = "hexadecimal")]
    pub bytes: Vec<u8>,
    /// Words that are addresses in buffers.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub pointers: Words,
    /// Words that are handles of textures and surfaces.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub objects: Words,
}

/// A range of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Device address at the capture.
    pub address: Address,
    /// Bytes.
    pub size: u64,
    /// Kind of allocation: `device`, `managed`, `host`, `registered`, `module`, `heap`, `array`.
    pub kind: String,
    /// Module variable in this memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// File of the contents before the launch, compressed with zstd.
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
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// Outcome by the driver API's name: `CUDA_SUCCESS`.
    pub outcome: String,
    /// Buffers of the launch, in order; empty after a failure.
    #[serde(default)]
    pub buffers: Vec<ResultBuffer>,
}

/// A buffer after a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultBuffer {
    /// Device address in this run.
    pub address: Address,
    /// Bytes.
    pub size: u64,
    /// File of the contents.
    pub file: String,
    /// Hash of the contents.
    pub blake3: String,
}

/// The heap of kernels at a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heap {
    /// Heap limit of `malloc`, if the program changed it.
    pub limit: Option<u64>,
    /// Allocated blocks: address and bytes.
    pub blocks: Vec<(u64, u64)>,
}

impl Buffer {
    /// True if `malloc` in a kernel returned the buffer.
    pub fn is_of_heap(&self) -> bool {
        self.kind == "heap"
    }
}

impl Launch {
    /// Heap of kernels: all of it if the allocated memory is known, else the reachable part.
    pub fn heap(&self, accessible: Option<&Accessible>) -> Heap {
        let reached = || {
            let blocks = self.buffers.iter().filter(|buffer| buffer.is_of_heap());
            blocks.map(|buffer| (buffer.address.0, buffer.size)).collect()
        };
        let blocks = accessible.map_or_else(reached, |accessible| accessible.heap.clone());
        Heap { limit: self.heap_limit, blocks }
    }

    /// Parameter block, with gaps filled with 0.
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

    /// CTAs of the grid and threads of a CTA. The file has them as two keys.
    pub fn shape(&self) -> LaunchShape {
        LaunchShape::new(self.grid, self.block)
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
        digits
            .map(Address)
            .ok_or_else(|| D::Error::custom(format!("`{text}` must be an address such as 0x7f00")))
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
        bytes.ok_or_else(|| D::Error::custom("must be pairs of hexadecimal digits"))
    }
}
