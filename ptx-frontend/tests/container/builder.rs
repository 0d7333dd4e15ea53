//! Builders of fat binaries and ELF files in the format of the vendor's tools.

/// Entry of a fat binary, with the fields of its header.
#[derive(Clone, Debug)]
pub(crate) struct EntryBuilder {
    kind: u16,
    architecture: u32,
    flags: u64,
    identifier: Vec<u8>,
    options: Vec<u8>,
    compressed_size: u32,
    uncompressed_size: u64,
    payload: Vec<u8>,
}

pub(crate) const LZ4: u64 = 0x2000;
pub(crate) const ZSTD: u64 = 0x8000;
pub(crate) const EXACT: u64 = 0x10_0000;
pub(crate) const FAMILY: u64 = 0x20_0000;

impl EntryBuilder {
    pub(crate) fn new(kind: u16, architecture: u32, payload: &[u8]) -> Self {
        Self {
            kind,
            architecture,
            flags: 0x11,
            identifier: Vec::new(),
            options: Vec::new(),
            compressed_size: 0,
            uncompressed_size: 0,
            payload: payload.to_vec(),
        }
    }

    pub(crate) fn ptx(architecture: u32, text: &str) -> Self {
        Self::new(1, architecture, text.as_bytes())
    }

    pub(crate) fn cubin(architecture: u32, kernels: &[&str]) -> Self {
        Self::new(2, architecture, &cubin(kernels))
    }

    pub(crate) fn flags(mut self, flags: u64) -> Self {
        self.flags |= flags;
        self
    }

    pub(crate) fn identifier(mut self, text: &str) -> Self {
        self.identifier = text.into();
        self
    }

    pub(crate) fn options(mut self, text: &str) -> Self {
        self.options = text.into();
        self
    }

    /// Stores `compressed` in place of the payload.
    pub(crate) fn stored_as(mut self, flag: u64, compressed: Vec<u8>) -> Self {
        self.flags |= flag;
        self.uncompressed_size = self.payload.len() as u64;
        self.compressed_size = compressed.len() as u32;
        self.payload = compressed;
        self
    }

    pub(crate) fn lz4(self) -> Self {
        let block = lz4_flex::block::compress(&self.payload);
        self.stored_as(LZ4, block)
    }

    pub(crate) fn zstd(self) -> Self {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let frame = ruzstd::encoding::compress_to_vec(self.payload.as_slice(), level);
        self.stored_as(ZSTD, frame)
    }

    /// Sets a wrong uncompressed size in the header.
    pub(crate) fn claiming(mut self, size: u64) -> Self {
        self.uncompressed_size = size;
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let identifier_offset = 64;
        let record_offset = padded(identifier_offset + self.identifier.len());
        let options_offset = record_offset + 8;
        let header_size = padded(options_offset + self.options.len());
        let payload_size = padded(self.payload.len());

        let mut bytes = Vec::new();
        bytes.extend(self.kind.to_le_bytes());
        bytes.extend(0x0101_u16.to_le_bytes());
        bytes.extend((header_size as u32).to_le_bytes());
        bytes.extend((payload_size as u64).to_le_bytes());
        bytes.extend(self.compressed_size.to_le_bytes());
        bytes.extend((record_offset as u32).to_le_bytes());
        bytes.extend(5_u16.to_le_bytes());
        bytes.extend(9_u16.to_le_bytes());
        bytes.extend(self.architecture.to_le_bytes());
        bytes.extend((identifier_offset as u32).to_le_bytes());
        bytes.extend((self.identifier.len() as u32).to_le_bytes());
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend(self.uncompressed_size.to_le_bytes());
        bytes.extend(&self.identifier);
        bytes.resize(record_offset, 0);
        bytes.extend((options_offset as u32).to_le_bytes());
        bytes.extend((self.options.len() as u32).to_le_bytes());
        bytes.extend(&self.options);
        bytes.resize(header_size, 0);
        bytes.extend(&self.payload);
        bytes.resize(header_size + payload_size, 0);
        bytes
    }
}

fn padded(size: usize) -> usize {
    size.next_multiple_of(8)
}

pub(crate) fn container(entries: &[EntryBuilder]) -> Vec<u8> {
    let content: Vec<u8> = entries.iter().flat_map(EntryBuilder::bytes).collect();
    let mut bytes = Vec::new();
    bytes.extend(0xba55_ed50_u32.to_le_bytes());
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(16_u16.to_le_bytes());
    bytes.extend((content.len() as u64).to_le_bytes());
    bytes.extend(content);
    bytes
}

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Returns a zstd frame with its content size in the header and `text` in one uncompressed block.
pub(crate) fn raw_zstd_frame(text: &[u8]) -> Vec<u8> {
    let single_segment_with_4_byte_content_size = 0b1010_0000;
    let mut frame = ZSTD_MAGIC.to_vec();
    frame.push(single_segment_with_4_byte_content_size);
    frame.extend((text.len() as u32).to_le_bytes());
    frame.extend(zstd_block(0, text.len() as u32, true));
    frame.extend(text);
    frame
}

/// Returns a zstd frame without a content size. Each of its blocks repeats one byte 131,072 times.
pub(crate) fn repeating_zstd_frame(blocks: u32) -> Vec<u8> {
    let window_of_1_mib = 10 << 3;
    let mut frame = ZSTD_MAGIC.to_vec();
    frame.extend([0, window_of_1_mib]);
    for block in 1..=blocks {
        frame.extend(zstd_block(1, 128 << 10, block == blocks));
        frame.push(b'x');
    }
    frame
}

/// Header of a block of `kind` 0 (stored) or 1 (one repeated byte); RFC 8878, section 3.1.1.2.
fn zstd_block(kind: u32, size: u32, last: bool) -> Vec<u8> {
    let header = u32::from(last) | kind << 1 | size << 3;
    header.to_le_bytes().into_iter().take(3).collect()
}

const EM_X86_64: u16 = 62;
const EM_CUDA: u16 = 190;

/// Returns a host object file with these sections.
pub(crate) fn host_elf(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let sections: Vec<_> = sections.iter().map(|&(name, bytes)| Section::plain(name, bytes)).collect();
    elf(EM_X86_64, &sections)
}

/// Returns a cubin with these kernels and the device function `helper`.
pub(crate) fn cubin(kernels: &[&str]) -> Vec<u8> {
    let (names, symbols) = kernel_symbols(kernels);
    let text = Section::plain(".text", &[0; 16]);
    let string_table = Section { kind: 3, ..Section::plain(".strtab", &names) };
    let symbol_table = Section { kind: 2, link: 2, entry_size: 24, ..Section::plain(".symtab", &symbols) };
    elf(EM_CUDA, &[text, string_table, symbol_table])
}

/// Names and symbols of kernels from number 1 on, and of a device function behind them.
fn kernel_symbols(kernels: &[&str]) -> (Vec<u8>, Vec<u8>) {
    const ENTRY: u8 = 0x10;
    let mut names = vec![0];
    let mut symbols = vec![0; 24];
    let functions = kernels.iter().map(|&name| (name, ENTRY)).chain([("helper", 0)]);
    for (name, other) in functions {
        symbols.extend((names.len() as u32).to_le_bytes());
        symbols.extend([0x12, other]);
        symbols.extend(1_u16.to_le_bytes());
        symbols.extend([0; 16]);
        names.extend(name.as_bytes());
        names.push(0);
    }
    (names, symbols)
}

/// Returns a linked cubin whose kernels have a number of registers and bytes of static shared memory.
pub(crate) fn assembled_cubin(kernels: &[(&str, u32, u32)]) -> Vec<u8> {
    const REGISTERS: [u8; 4] = [4, 0x2f, 8, 0];
    let names: Vec<&str> = kernels.iter().map(|(name, ..)| *name).collect();
    let (strings, symbols) = kernel_symbols(&names);
    // An attribute of another kind precedes the registers.
    let mut info = vec![3, 0x19, 0x18, 0];
    for (symbol, (_, registers, _)) in (1_u32..).zip(kernels) {
        info.extend(REGISTERS);
        info.extend(symbol.to_le_bytes());
        info.extend(registers.to_le_bytes());
    }
    let text = Section::plain(".text", &[0; 16]);
    let string_table = Section { kind: 3, ..Section::plain(".strtab", &strings) };
    let symbol_table = Section { kind: 2, link: 2, entry_size: 24, ..Section::plain(".symtab", &symbols) };
    let info = Section { kind: 0x7000_0000, ..Section::plain(".nv.info", &info) };
    let shared: Vec<(String, Vec<u8>)> = kernels
        .iter()
        .map(|(name, _, bytes)| (format!(".nv.shared.{name}"), vec![0; *bytes as usize]))
        .collect();
    let shared = shared.iter().map(|(name, bytes)| Section::plain(name, bytes));
    let sections: Vec<Section<'_>> =
        [text, string_table, symbol_table, info].into_iter().chain(shared).collect();
    let mut bytes = elf(EM_CUDA, &sections);
    // ET_EXEC
    bytes[16] = 2;
    bytes
}

struct Section<'a> {
    name: &'a str,
    kind: u32,
    link: u32,
    entry_size: u64,
    bytes: &'a [u8],
}

impl<'a> Section<'a> {
    fn plain(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { name, kind: 1, link: 0, entry_size: 0, bytes }
    }
}

/// Returns a 64-bit little-endian ELF file without segments. Section numbers start from 1.
fn elf(machine: u16, sections: &[Section<'_>]) -> Vec<u8> {
    const HEADER_SIZE: usize = 64;
    let name_of_names = ".shstrtab";
    let mut names = vec![0];
    let mut name_offsets = Vec::new();
    for name in sections.iter().map(|section| section.name).chain([name_of_names]) {
        name_offsets.push(names.len() as u32);
        names.extend(name.as_bytes());
        names.push(0);
    }
    let section_names = Section { kind: 3, ..Section::plain(name_of_names, &names) };

    let mut content = Vec::new();
    let mut table = vec![0; 64];
    for (section, name_offset) in sections.iter().chain([&section_names]).zip(name_offsets) {
        content.resize(padded(content.len()), 0);
        table.extend(name_offset.to_le_bytes());
        table.extend(section.kind.to_le_bytes());
        table.extend([0; 16]);
        table.extend(((HEADER_SIZE + content.len()) as u64).to_le_bytes());
        table.extend((section.bytes.len() as u64).to_le_bytes());
        table.extend(section.link.to_le_bytes());
        table.extend(0_u32.to_le_bytes());
        table.extend(8_u64.to_le_bytes());
        table.extend(section.entry_size.to_le_bytes());
        content.extend(section.bytes);
    }
    content.resize(padded(content.len()), 0);

    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(machine.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend([0; 16]);
    bytes.extend(((HEADER_SIZE + content.len()) as u64).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(64_u16.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(64_u16.to_le_bytes());
    bytes.extend((sections.len() as u16 + 2).to_le_bytes());
    bytes.extend((sections.len() as u16 + 1).to_le_bytes());
    bytes.extend(content);
    bytes.extend(table);
    bytes
}
