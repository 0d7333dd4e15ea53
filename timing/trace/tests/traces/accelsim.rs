//! Text traces.

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use warp_stream::{CacheOperator, KernelSource, MemorySpace, OperationClass, Registers};
use warp_trace::accelsim::{Entry, TraceError, read_kernel, read_list, write_kernel, write_list};
use warp_trace::{Recorder, Recording};

use super::drive::{drive, of_warp, place};
use super::toy::Toy;

const TRACE: &str = include_str!("kernel-1.traceg");

fn read(text: &str) -> Result<Recording, TraceError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel-1.traceg");
    std::fs::write(&file, text).unwrap();
    read_kernel(&file)
}

/// The error of the trace with one text replaced.
fn error(from: &str, to: &str) -> String {
    assert!(TRACE.contains(from), "{from}");
    read(&TRACE.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn header_gives_the_launch() {
    let recording = read(TRACE).unwrap();
    let kernel = recording.kernel();
    assert_eq!(
        (kernel.name.as_str(), kernel.shape.grid, kernel.shape.block),
        ("_Z4vaddPKfS0_Pfi", [2, 1, 1], [64, 1, 1])
    );
    assert_eq!((kernel.registers, kernel.shared_bytes, kernel.launch, kernel.stream), (12, 128, 1, 0));
}

#[test]
fn code_is_ordered_by_address() {
    let recording = read(TRACE).unwrap();
    let classes: Vec<OperationClass> =
        recording.kernel().code.instructions.iter().map(|instruction| instruction.class).collect();
    use OperationClass::{Barrier, Exit, Fp32, Load, SpecialRegister, Store};
    assert_eq!(classes, [SpecialRegister, Load, Load, Load, Barrier, Fp32, Store, Exit]);
}

#[test]
fn opcode_sets_the_registers_of_operands() {
    let recording = read(TRACE).unwrap();
    let load = recording.kernel().code.instructions[1];
    assert_eq!(load.destination, Registers { first: 4, count: 2 });
    assert_eq!(load.sources[0], Registers { first: 16, count: 2 });
    let strong = recording.kernel().code.instructions[2];
    assert_eq!(strong.memory.map(|operation| operation.cache), Some(CacheOperator::Coherent));
}

#[test]
fn all_three_address_forms_read() {
    let ctas = drive(&read(TRACE).unwrap(), &[0, 1]);
    let warp = of_warp(&ctas[0], 0);
    assert_eq!(warp[1].addresses, (0..32).map(|lane| 0xc000_0000 + 8 * lane).collect::<Vec<u64>>());
    assert_eq!(warp[2].addresses, [0x100, 0x200, 0x180]);
    assert_eq!(warp[6].addresses, [0xc008_0000, 0xc008_0004, 0xc008_0000]);
}

#[test]
fn generic_shared_addresses_become_offsets() {
    let recording = read(TRACE).unwrap();
    assert_eq!(recording.kernel().code.instructions[3].memory.unwrap().space, MemorySpace::Generic);
    assert_eq!(of_warp(&drive(&recording, &[0, 1])[0], 0)[3].addresses, [0x10]);
}

#[test]
fn barrier_spans_the_whole_cta() {
    let recording = read(TRACE).unwrap();
    let (barrier, behind) = (4, 5);
    for order in [[0, 1], [1, 0]] {
        let cta = &drive(&recording, &order)[0];
        assert!(
            place(cta, 0, behind) > place(cta, 1, barrier) && place(cta, 1, behind) > place(cta, 0, barrier)
        );
    }
}

#[test]
fn malformed_line_error_has_its_number() {
    for (from, to, expected) in [
        ("-grid dim = (2,1,1)", "-grid dim = (2,1)", "line 3: `(2,1)` is not a value of `grid dim`"),
        ("binary version = 70", "binary version = 35", "binary version 35"),
        ("thread block = 1,0,0", "thread block = 2,0,0", "no CTA 2,0,0"),
        ("FFMA", "UMOV", "binary version 70 has no opcode `UMOV`"),
        ("S2R 0 0", "S2R zero 0", "`zero` is not a number of registers"),
        ("1 R1 S2R", "1 1 S2R", "`1` is not a register"),
        ("1 0xc0000000 8", "1 0xc0000000", "the stride is missing"),
        ("1 0xc0000000 8", "7 0xc0000000 8", "must be 0, 1 or 2"),
        ("warp = 1", "warp = 2", "the block has no warp 2"),
        ("warp = 1", "warp = 0", "warp 0 occurs twice"),
        ("insts = 8", "insts = 7", "must be `thread block"),
        ("0070 ffffffff 0 EXIT 0 0", "0070 ffffffff 0 NOP 0 0", "ends without EXIT"),
        ("thread block = 1,0,0", "thread block = 0,0,0", "CTA 0 was recorded 2 times"),
        ("0070 ffffffff", "x070 ffffffff", "not an instruction address"),
    ] {
        let text = error(from, to);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn truncated_trace_is_an_error() {
    let lines: Vec<&str> = TRACE.trim_end().lines().collect();
    for count in 0..lines.len() {
        assert!(read(&lines[..count].join("\n")).is_err(), "{count} lines");
    }
}

#[test]
fn xz_traces_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel-1.traceg.xz");
    let mut writer = XzWriter::new(std::fs::File::create(&file).unwrap(), XzOptions::default()).unwrap();
    writer.write_all(TRACE.as_bytes()).unwrap();
    writer.finish().unwrap();
    assert_eq!(drive(&read_kernel(&file).unwrap(), &[0, 1]), drive(&read(TRACE).unwrap(), &[0, 1]));
}

/// The trace with source lines, as the tracer writes it.
fn with_source_lines() -> String {
    let is_instruction = |line: &str| line.starts_with("00");
    let line = |line: &str| match is_instruction(line) {
        true => format!("17 {line}\n"),
        false => format!("{line}\n"),
    };
    let text: String = TRACE.lines().map(line).collect();
    text.replace("-accelsim tracer version = 3\n", "-accelsim tracer version = 5\n-enable lineinfo = 1\n")
}

#[test]
fn source_line_precedes_the_address() {
    let read_lines = read(&with_source_lines()).unwrap();
    assert_eq!(drive(&read_lines, &[0, 1]), drive(&read(TRACE).unwrap(), &[0, 1]));
    assert!(read_lines.kernel().code.instructions.iter().all(|instruction| instruction.line == 17));
    let without = with_source_lines().replace("lineinfo = 1", "lineinfo = 0");
    assert!(read(&without).unwrap_err().to_string().contains("is not a number of registers"));
    let none = with_source_lines().replacen("17 0000", "here 0000", 1);
    assert!(read(&none).unwrap_err().to_string().contains("`here` is not a source line"));
}

#[test]
fn gzip_traces_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel-1.traceg.gz");
    let mut writer = GzEncoder::new(std::fs::File::create(&file).unwrap(), Compression::default());
    writer.write_all(TRACE.as_bytes()).unwrap();
    writer.finish().unwrap();
    assert_eq!(drive(&read_kernel(&file).unwrap(), &[0, 1]), drive(&read(TRACE).unwrap(), &[0, 1]));
    let list = folder.path().join("kernelslist.g");
    std::fs::write(&list, "kernel-1.traceg\n").unwrap();
    assert_eq!(read_list(&list).unwrap(), [Entry::Kernel { file }]);
}

#[test]
fn unsupported_compression_error_names_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel-1.traceg");
    for (begin, name) in
        [(&[0x28_u8, 0xb5, 0x2f, 0xfd][..], "zstd"), (b"BZh9", "bzip2"), (b"PK\x03\x04", "zip")]
    {
        std::fs::write(&file, begin).unwrap();
        let said = read_kernel(&file).unwrap_err().to_string();
        assert!(
            said.ends_with(&format!("packed with {name}; unpack it, or pack it with xz or gzip")),
            "{said}"
        );
    }
}

#[test]
fn unsorted_trace_error_names_post_processing() {
    let header = &TRACE[..TRACE.find("#BEGIN_TB").unwrap()];
    let raw = format!("{header}0 0 0 0 0000 ffffffff 1 R1 S2R 0 0 0\n");
    let said = read(&raw).unwrap_err().to_string();
    assert!(said.contains("line 16: ") && said.contains("post-traces-processing kernelslist"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernelslist"), "kernel-1.trace\n").unwrap();
    for name in ["kernelslist", "kernelslist.g"] {
        let said = read_list(&folder.path().join(name)).unwrap_err().to_string();
        assert!(said.contains("kernelslist: raw output of the tracer; sort it"), "{said}");
    }
}

#[test]
fn trace_has_the_compute_capability_of_its_card() {
    assert_eq!(read(TRACE).unwrap().capability(), Some(70));
    assert_eq!(read(&TRACE.replace("version = 70", "version = 86")).unwrap().capability(), Some(86));
}

#[test]
fn written_trace_reads_back() {
    let toy = Toy::new(2);
    let recorder = Recorder::new(&toy);
    let live = drive(&recorder, &[0, 1]);
    let mut text = Vec::new();
    write_kernel(&recorder.finish().unwrap(), &mut text).unwrap();
    let read = read(std::str::from_utf8(&text).unwrap()).unwrap();
    for (cta, expected) in drive(&read, &[0, 1]).iter().zip(&live) {
        for warp in 0..2 {
            for (done, mut live) in of_warp(cta, warp).into_iter().zip(of_warp(expected, warp)) {
                // The format has no addresses of texture accesses.
                if !std::mem::take(&mut live.texels).is_empty() {
                    live.addresses = done.addresses.clone();
                }
                assert_eq!(done, live);
            }
        }
    }
}

#[test]
fn kernel_lists_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernelslist.g");
    let text = "MemcpyHtoD,0x00007f0000000000,4096\n\nMemcpyDtoH,0x1,2\nkernel-1.traceg\n";
    std::fs::write(&file, text).unwrap();
    let entries = read_list(&file).unwrap();
    assert_eq!(entries[0], Entry::Copy { address: 0x7f00_0000_0000, bytes: 4096 });
    assert_eq!(entries[1], Entry::Kernel { file: folder.path().join("kernel-1.traceg") });
    assert_eq!(write_list(&entries), "MemcpyHtoD,0x00007f0000000000,4096\nkernel-1.traceg\n");
}

#[test]
fn malformed_copy_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernelslist.g");
    std::fs::write(&file, "\nMemcpyHtoD,0x10\n").unwrap();
    assert!(
        read_list(&file)
            .unwrap_err()
            .to_string()
            .ends_with("line 2: a copy must be MemcpyHtoD,0xADDRESS,BYTES")
    );
    assert!(matches!(read_list(Path::new("/nowhere/kernelslist.g")), Err(TraceError::File { .. })));
}
