//! Converts a kernel's trace to a recording.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::str::SplitWhitespace;
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use warp_stream::{
    Kernel, LaneMask, MachineCode, MachineInstruction, MemorySpace, OperationClass, RegisterSource, Registers,
};

use super::header::Header;
use super::opcode::Opcode;
use super::parse::{hexadecimal, number, register, triple};
use super::{POST_PROCESS, TraceError, addresses};
use crate::recording::{CtaBlock, CtaScript, Cursor, Step};
use crate::{Recording, RecordingError};

/// Code addresses; each kernel has its own range, chosen by name.
const CODE: u64 = 1 << 52;
/// Bytes of a kernel's code range.
const CODE_ROOM: u64 = 1 << 20;
/// Window of generic addresses for local memory in bytes (Accel-Sim).
const LOCAL_WINDOW: u64 = 16 << 10;
/// Device address of local memory.
const LOCAL: u64 = 1 << 48;

/// Memory for decompression in KiB.
const XZ_MEMORY: u32 = 1 << 20;
/// Most registers in a line.
const MOST_REGISTERS: usize = 8;

/// Reads a kernel's trace, plain or compressed with `xz` or `gzip`.
///
/// # Errors
/// The file is unreadable, a line malformed, an opcode unknown, or CTAs or warps are missing.
pub fn read_kernel(file: &Path) -> Result<Recording, TraceError> {
    let mut code = CodeReader::default();
    let header = walk(file, &mut code)?;
    let kernel = kernel(&header, &code);
    let capability = header.of_card.then_some(header.binary_version);
    let mut ctas = CtaReader {
        header,
        kernel: &kernel,
        arrives: &code.arrives.values().copied().collect::<Vec<_>>(),
        number: 0,
        script: CtaScript::default(),
        cursors: Vec::new(),
        warp: None,
        blocks: Vec::new(),
    };
    walk(file, &mut ctas)?;
    let blocks = ctas.blocks;
    let recording = Recording::new(kernel, blocks);
    let recording = recording.map_err(|error| TraceError::Recording { file: file.to_owned(), error })?;
    Ok(recording.of_capability(capability))
}

fn kernel(header: &Header, code: &CodeReader) -> Kernel {
    let hash = blake3::hash(header.name.as_bytes());
    let place = hash.as_bytes()[..3].iter().fold(0, |place, &byte| place << 8 | u64::from(byte));
    Kernel {
        name: header.name.clone(),
        launch: header.launch,
        stream: header.stream,
        shape: header.shape,
        code: Arc::new(MachineCode {
            instructions: code.instructions.values().copied().collect(),
            instruction_bytes: 16,
        }),
        code_address: CODE + place * CODE_ROOM,
        registers: header.registers,
        register_source: RegisterSource::MachineCode,
        shared_bytes: header.shared_bytes,
        local_bytes: 0,
        cooperative: false,
    }
}

/// An instruction line.
struct Line<'a> {
    /// Source line; without source lines, the line of the trace.
    number: usize,
    address: u32,
    active: LaneMask,
    destination: Option<u16>,
    opcode: &'a str,
    sources: Vec<u16>,
    /// Addresses follow.
    accesses: bool,
    rest: SplitWhitespace<'a>,
}

impl<'a> Line<'a> {
    fn parse(text: &'a str, line_of_trace: usize, header: &Header) -> Result<Line<'a>, String> {
        let mut words = text.split_whitespace();
        if header.numbered {
            words.nth(3);
        }
        let bad = |what: &str, text: &str| format!("`{text}` is not {what}");
        let mut source_line = line_of_trace;
        if header.source_lines {
            let text = word(&mut words, "the source line")?;
            source_line = number(text).ok_or_else(|| bad("a source line", text))?;
        }
        let text = word(&mut words, "the address")?;
        let address = hexadecimal(text).and_then(|address| u32::try_from(address).ok());
        let address = address.ok_or_else(|| bad("an instruction address", text))?;
        let text = word(&mut words, "the lane mask")?;
        let active = hexadecimal(text).and_then(|mask| u32::try_from(mask).ok());
        let active = active.ok_or_else(|| bad("a lane mask", text))?;
        let destination = registers(&mut words)?.first().copied();
        let opcode = word(&mut words, "the opcode")?;
        let sources = registers(&mut words)?;
        let text = word(&mut words, "the width")?;
        let width: u32 = number(text).ok_or_else(|| bad("width", text))?;
        Ok(Line {
            number: source_line,
            address,
            active,
            destination,
            opcode,
            sources,
            accesses: width > 0,
            rest: words,
        })
    }
}

fn word<'a>(words: &mut SplitWhitespace<'a>, what: &str) -> Result<&'a str, String> {
    words.next().ok_or_else(|| format!("{what} is missing"))
}

/// A count, then that many registers.
fn registers(words: &mut SplitWhitespace<'_>) -> Result<Vec<u16>, String> {
    let text = word(words, "the number of registers")?;
    let count: usize = number(text)
        .filter(|count| *count <= MOST_REGISTERS)
        .ok_or_else(|| format!("`{text}` is not a number of registers"))?;
    let one = |_| {
        let text = word(words, "a register")?;
        register(text).ok_or_else(|| format!("`{text}` is not a register"))
    };
    (0..count).map(one).collect()
}

/// Receiver of a trace's parts.
trait Reader {
    fn begin(&mut self) {}
    fn cta(&mut self, _: &Header, _: [u32; 3]) -> Result<(), String> {
        Ok(())
    }
    fn warp(&mut self, _: usize) -> Result<(), String> {
        Ok(())
    }
    fn instruction(&mut self, header: &Header, line: Line<'_>) -> Result<(), String>;
    fn end(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Walks through a trace line by line.
fn walk(file: &Path, reader: &mut dyn Reader) -> Result<Header, TraceError> {
    let mut lines = Lines::open(file)?;
    let mut header = Header::default();
    let mut in_header = true;
    let mut instructions = 0_u64;
    while lines.advance()? {
        let text = lines.text.trim();
        let number_of_line = lines.number;
        let told = match text {
            "" => continue,
            _ if in_header && !text.starts_with('#') => header.take(text),
            _ if in_header => {
                in_header = false;
                header.check()
            }
            _ if instructions > 0 => {
                instructions -= 1;
                Line::parse(text, number_of_line, &header).and_then(|line| reader.instruction(&header, line))
            }
            "#BEGIN_TB" => {
                reader.begin();
                Ok(())
            }
            "#END_TB" => reader.end(),
            _ if text.starts_with('#') => Ok(()),
            _ => statement(text, &header, reader).map(|count| instructions = count),
        };
        told.map_err(|reason| lines.error(reason))?;
    }
    if in_header {
        return Err(lines.error("the trace ends within its header".to_owned()));
    }
    if instructions > 0 {
        return Err(
            lines.error(format!("the trace ends {instructions} instructions before the end of a warp"))
        );
    }
    Ok(header)
}

/// True for a raw tracer line: CTA and warp in four numbers, then an instruction.
fn is_raw(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let placed = (0..4).all(|_| words.next().is_some_and(|word| number::<u64>(word).is_some()));
    placed && words.next().and_then(hexadecimal).is_some()
}

/// Handles `key = value` within a CTA and returns the number of instructions that follow.
fn statement(text: &str, header: &Header, reader: &mut dyn Reader) -> Result<u64, String> {
    let unknown = || match is_raw(text) {
        true => format!("`{text}` is raw output of the tracer, not sorted by CTA and warp; {POST_PROCESS}"),
        false => format!("`{text}` must be `thread block = x,y,z`, `warp = n` or `insts = n`"),
    };
    let (key, value) = text.split_once('=').ok_or_else(unknown)?;
    let value = value.trim();
    match key.trim() {
        "thread block" => reader.cta(header, triple(value).ok_or_else(unknown)?)?,
        "warp" => reader.warp(number(value).ok_or_else(unknown)?)?,
        "insts" => return number(value).ok_or_else(unknown),
        _ => return Err(unknown()),
    }
    Ok(0)
}

/// Compression of a file.
enum Packing {
    None,
    Gzip,
    Xz,
    /// Program that made an unsupported compression.
    Unknown(&'static str),
}

impl Packing {
    /// Compression by the file's first bytes.
    fn of(begin: &[u8]) -> Packing {
        match begin {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Packing::Xz,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Unknown("zstd"),
            [b'B', b'Z', b'h', ..] => Packing::Unknown("bzip2"),
            [b'P', b'K', 3, 4, ..] => Packing::Unknown("zip"),
            [b'7', b'z', 0xbc, 0xaf, ..] => Packing::Unknown("7z"),
            _ => Packing::None,
        }
    }
}

/// Lines of a file.
struct Lines {
    file: PathBuf,
    reader: Box<dyn BufRead>,
    text: String,
    number: usize,
}

impl Lines {
    fn open(file: &Path) -> Result<Lines, TraceError> {
        let opened = File::open(file).map_err(|error| TraceError::File { file: file.to_owned(), error })?;
        let mut reader = BufReader::new(opened);
        let begin = reader.fill_buf().map_err(|error| TraceError::File { file: file.to_owned(), error })?;
        let reader: Box<dyn BufRead> = match Packing::of(begin) {
            Packing::None => Box::new(reader),
            Packing::Gzip => Box::new(BufReader::new(MultiGzDecoder::new(reader))),
            Packing::Xz => {
                Box::new(BufReader::new(lzma_rust2::XzReader::new_mem_limit(reader, true, XZ_MEMORY)))
            }
            Packing::Unknown(name) => {
                let error = format!("the file is packed with {name}; unpack it, or pack it with xz or gzip");
                return Err(TraceError::File { file: file.to_owned(), error: io::Error::other(error) });
            }
        };
        Ok(Lines { file: file.to_owned(), reader, text: String::new(), number: 0 })
    }

    /// Advances to the next line; false at the end.
    fn advance(&mut self) -> Result<bool, TraceError> {
        self.text.clear();
        self.number += 1;
        let read = self.reader.read_line(&mut self.text);
        read.map(|bytes| bytes > 0).map_err(|error| TraceError::File { file: self.file.clone(), error })
    }

    fn error(&self, reason: String) -> TraceError {
        TraceError::Line { file: self.file.clone(), line: self.number, reason }
    }
}

/// Collects a kernel's instructions.
#[derive(Default)]
struct CodeReader {
    instructions: BTreeMap<u32, MachineInstruction>,
    /// Barriers that do not wait (`BAR.ARV`).
    arrives: BTreeMap<u32, bool>,
}

impl Reader for CodeReader {
    fn instruction(&mut self, header: &Header, line: Line<'_>) -> Result<(), String> {
        if self.instructions.contains_key(&line.address) {
            return Ok(());
        }
        let opcode = Opcode::parse(line.opcode, header.binary_version)?;
        let mut sources = [Registers::NONE; 4];
        for (index, (source, first)) in sources.iter_mut().zip(line.sources).enumerate() {
            *source = opcode.source(index, first);
        }
        let instruction = MachineInstruction {
            address: line.address,
            class: opcode.class,
            destination: line.destination.map_or(Registers::NONE, |first| opcode.destination(first)),
            sources,
            predicates_read: 0,
            predicates_written: 0,
            memory: opcode.memory,
            line: u32::try_from(line.number).unwrap_or(0),
            ptx: 0,
        };
        self.instructions.insert(line.address, instruction);
        self.arrives.insert(line.address, line.opcode.split('.').any(|token| token == "ARV"));
        Ok(())
    }
}

/// Collects the instructions that CTAs executed.
struct CtaReader<'a> {
    header: Header,
    kernel: &'a Kernel,
    /// By position in the code.
    arrives: &'a [bool],
    number: u64,
    script: CtaScript,
    cursors: Vec<Cursor>,
    warp: Option<usize>,
    blocks: Vec<(u64, Result<CtaBlock, RecordingError>)>,
}

impl Reader for CtaReader<'_> {
    fn begin(&mut self) {
        let warps = self.kernel.shape.warps_per_cta() as usize;
        self.script.warps = vec![Default::default(); warps];
        self.cursors = vec![Cursor::default(); warps];
        self.warp = None;
    }

    fn cta(&mut self, header: &Header, [x, y, z]: [u32; 3]) -> Result<(), String> {
        let [columns, rows, layers] = header.shape.grid;
        if x >= columns || y >= rows || z >= layers {
            return Err(format!("the grid has no CTA {x},{y},{z}"));
        }
        self.number = header.shape.cta_index([x, y, z]);
        Ok(())
    }

    fn warp(&mut self, warp: usize) -> Result<(), String> {
        let script = self.script.warps.get(warp).ok_or_else(|| format!("the block has no warp {warp}"))?;
        if !script.steps.is_empty() {
            return Err(format!("warp {warp} occurs twice"));
        }
        self.warp = Some(warp);
        Ok(())
    }

    fn instruction(&mut self, _: &Header, line: Line<'_>) -> Result<(), String> {
        let warp = self.warp.ok_or("an instruction precedes its `warp` line")?;
        let instructions = &self.kernel.code.instructions;
        let position = instructions.binary_search_by_key(&line.address, |instruction| instruction.address);
        let position = position.map_err(|_| "the file changed while it was read")?;
        let mut step = Step {
            position: position as u32,
            active: line.active,
            space: None,
            texels: 0,
            deferred: false,
            sleep: 0,
            after_deferred: false,
            release: 0,
        };
        let mut lanes = [0; warp_stream::WARP_SIZE];
        if let (Some(operation), true) = (instructions[position].memory, line.accesses) {
            lanes = addresses::read(line.rest, line.active)?;
            step.space = Some(self.resolve(operation.space, warp, line.active, &mut lanes));
        }
        let active = (0..lanes.len()).filter(|lane| step.space.is_some() && line.active >> lane & 1 != 0);
        let addresses = active.map(|lane| lanes[lane]);
        self.script.warps[warp].push(&mut self.cursors[warp], step, addresses);
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let mut script = std::mem::take(&mut self.script);
        let instructions = &self.kernel.code.instructions;
        for (warp, steps) in script.warps.iter().enumerate() {
            let last = steps.steps.last().ok_or_else(|| format!("warp {warp} has no instructions"))?;
            if instructions[last.position as usize].class != OperationClass::Exit {
                return Err(format!("warp {warp} ends without EXIT"));
            }
        }
        self.add_releases(&mut script);
        self.blocks.push((self.number, CtaBlock::new(self.number, &script)));
        Ok(())
    }
}

impl CtaReader<'_> {
    /// Converts addresses to device addresses and names their memory space.
    fn resolve(
        &self,
        space: MemorySpace,
        warp: usize,
        active: LaneMask,
        lanes: &mut [u64; 32],
    ) -> MemorySpace {
        let Header { shared_base, local_base, .. } = self.header;
        let first = lanes[active.trailing_zeros().min(31) as usize];
        let space = match space {
            MemorySpace::Generic if shared_base == 0 || local_base == 0 => MemorySpace::Shared,
            MemorySpace::Generic if (shared_base..local_base).contains(&first) => MemorySpace::Shared,
            MemorySpace::Generic
                if (local_base..local_base.saturating_add(LOCAL_WINDOW)).contains(&first) =>
            {
                MemorySpace::Local
            }
            MemorySpace::Generic => MemorySpace::Global,
            space => space,
        };
        let base = match space {
            MemorySpace::Shared => shared_base,
            MemorySpace::Local => local_base,
            _ => 0,
        };
        for (lane, address) in lanes.iter_mut().enumerate() {
            *address = address.checked_sub(base).unwrap_or(*address);
            if space == MemorySpace::Local {
                *address = self.local(*address, warp, lane);
            }
        }
        space
    }

    /// Device address of a thread's local memory: the words of all threads are interleaved.
    fn local(&self, offset: u64, warp: usize, lane: usize) -> u64 {
        let per_cta = u64::from(self.kernel.shape.threads_per_cta());
        let thread = self.number * per_cta + (warp * warp_stream::WARP_SIZE + lane) as u64;
        let threads = self.kernel.shape.cta_count().wrapping_mul(per_cta);
        let word = (offset / 4).wrapping_mul(threads).wrapping_add(thread);
        LOCAL.wrapping_add(word.wrapping_mul(4)).wrapping_add(offset % 4)
    }

    /// Adds releases. Every barrier is CTA-wide: a warp passes its n-th when all others have
    /// reached theirs or exited.
    fn add_releases(&self, script: &mut CtaScript) {
        let instructions = &self.kernel.code.instructions;
        let class = |step: &Step| instructions[step.position as usize].class;
        // For each warp: its events up to each barrier, and all its events.
        let events: Vec<(Vec<u32>, u32)> = script
            .warps
            .iter()
            .map(|warp| {
                let (mut barriers, mut events) = (Vec::new(), 0);
                for step in &warp.steps {
                    let barrier = class(step) == OperationClass::Barrier;
                    events += u32::from(barrier || class(step) == OperationClass::Exit);
                    if barrier {
                        barriers.push(events);
                    }
                }
                (barriers, events)
            })
            .collect();
        let barriers = events.iter().map(|(barriers, _)| barriers.len()).max().unwrap_or(0);
        script.releases = (0..barriers)
            .map(|n| events.iter().map(|(barriers, all)| barriers.get(n).copied().unwrap_or(*all)).collect())
            .collect();
        for warp in &mut script.warps {
            let mut passed = 0;
            let mut waits = false;
            for step in &mut warp.steps {
                if std::mem::take(&mut waits) {
                    step.release = passed;
                }
                if class(step) == OperationClass::Barrier {
                    passed += 1;
                    waits = !self.arrives[step.position as usize];
                }
            }
        }
    }
}
