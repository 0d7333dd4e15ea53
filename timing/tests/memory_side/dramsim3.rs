//! Comparison of a DRAM channel with DRAMsim3: equal HBM2 settings and requests.
//!
//! `dramsim3.csv` contains the results of both and explains differences. To record DRAMsim3 again,
//! build `dramsim3.cc` as described there. Then run `VOLTSIM_DRAMSIM3=./a.out cargo test -p timing
//! --test memory_side -- --ignored dramsim3` in this folder.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use timing::dram::{Cell, DramSpec, RefreshMode};

use crate::harness::{Access, Event, alone_in_channel, titan_v};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/memory_side/dramsim3.csv");

/// Requests per stream.
const REQUESTS: u64 = 8192;

/// Sectors of a row, and banks.
const COLUMNS: u64 = 32;
const BANKS: u64 = 16;

/// Result of a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Outcome {
    /// Cycle at which the last request was accepted.
    cycles: u64,
    /// Mean read latency from acceptance to end of data, in DRAM cycles.
    latency: f64,
}

/// Settings of a TITAN V as far as DRAMsim3 supports them: one pseudo-channel, all-bank refresh,
/// queues as long as its transaction queues. Write drains happen when the queue is full.
fn settings() -> DramSpec {
    let mut spec = titan_v(|_| ()).dram;
    spec.pseudo_channels = 1;
    (spec.refresh, spec.rfc) = (RefreshMode::AllBank, 221);
    (spec.read_queue, spec.write_queue) = (64, 64);
    (spec.write_high, spec.write_low) = (64, 0);
    spec
}

/// The settings in DRAMsim3's format.
fn its_settings(spec: &DramSpec) -> String {
    let DramSpec { ccd_s, ccd_l, rcd, ras, rp, rrd, faw, cl, wl, wtr, wr, rtp, refi, rfc, .. } = spec;
    assert_eq!((u64::from(spec.row) / 32, u64::from(spec.banks), spec.bank_groups), (COLUMNS, BANKS, 4));
    assert_eq!(spec.rc, ras + rp, "it has no other");
    assert_eq!(spec.turnaround, 2, "it has this one if it is told none");
    format!(
        "[dram_structure]\nprotocol = HBM\nbankgroups = 4\nbanks_per_group = 4\nrows = 32768\ncolumns = 64\ndevice_width = 64\n\
         BL = 4\nhbm_dual_cmd = true\n[timing]\ntCK = 1.176\nCL = {cl}\nCWL = {wl}\ntRCDRD = {rcd}\ntRCDWR = {rcd}\n\
         tRP = {rp}\ntRAS = {ras}\ntRFC = {rfc}\ntREFI = {refi}\ntRRD_S = {rrd}\ntRRD_L = {rrd}\ntWTR_S = {wtr}\n\
         tWTR_L = {wtr}\ntFAW = {faw}\ntWR = {wr}\ntCCD_S = {ccd_s}\ntCCD_L = {ccd_l}\ntRTP = {rtp}\n[system]\n\
         channel_size = 512\nchannels = 1\nbus_width = 64\naddress_mapping = rorababgchco\nqueue_structure = PER_BANK\n\
         row_buf_policy = OPEN_PAGE\ncmd_queue_size = 8\ntrans_queue_size = {queue}\nunified_queue = False\n[other]\n\
         output_level = 0\n",
        queue = spec.read_queue,
    )
}

/// Address for DRAMsim3: row, bank, column. A bank's group is its number's remainder in both
/// simulators.
fn its_address(cell: Cell) -> u64 {
    ((cell.row * BANKS + u64::from(cell.bank)) * COLUMNS + u64::from(cell.column)) * 32
}

/// The `number`th sector, with rows spread over all banks.
fn sector(number: u64) -> Cell {
    let row = number / COLUMNS;
    Cell { bank: (row % BANKS) as u8, row: row / BANKS, column: (number % COLUMNS) as u16 }
}

/// The `number`th sector, each in a different bank group than the previous one.
fn interleaved(number: u64) -> Cell {
    let (block, within) = (number / (COLUMNS * BANKS), number % (COLUMNS * BANKS));
    Cell { bank: (within % BANKS) as u8, row: block, column: (within / BANKS) as u16 }
}

/// Reproducible pseudo-random numbers.
fn drawn(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// A random sector in 16,384 rows.
fn anywhere(number: u64) -> Cell {
    sector(drawn(number) % (1 << 23))
}

/// Streams by name. Requests without cycles arrive as fast as they are accepted.
fn streams() -> BTreeMap<&'static str, Vec<Access>> {
    let read = |cycle, cell| Access { cycle, write: false, cell, source: 0 };
    let written = |cycle, cell| Access { cycle, write: true, cell, source: 0 };
    let in_bank = |row, column| Cell { bank: 5, row, column };
    let stream = |request: &dyn Fn(u64) -> Access| (0..REQUESTS).map(request).collect::<Vec<_>>();
    BTreeMap::from([
        ("alone_open_row", stream(&|n| read(n * 100, in_bank(0, (n % COLUMNS) as u16)))),
        ("alone_other_row", stream(&|n| read(n * 100, in_bank(n, 0)))),
        (
            "bursts_at_30_percent",
            stream(&|n| read(n / 16 * 107, sector(drawn(n / 16) % (1 << 19) * 16 + n % 16))),
        ),
        (
            "bursts_at_60_percent",
            stream(&|n| read(n / 16 * 53, sector(drawn(n / 16) % (1 << 19) * 16 + n % 16))),
        ),
        (
            "copied",
            stream(&|n| {
                if n % 2 == 0 { read(0, sector(n / 2)) } else { written(0, sector((1 << 20) + n / 2)) }
            }),
        ),
        ("read_everywhere", stream(&|n| read(0, anywhere(n)))),
        ("read_everywhere_at_20_percent", stream(&|n| read(n * 10, anywhere(n)))),
        ("read_in_one_bank", stream(&|n| read(0, in_bank(drawn(n) % 16384, 0)))),
        ("read_in_order", stream(&|n| read(0, sector(n)))),
        ("read_over_bank_groups", stream(&|n| read(0, interleaved(n)))),
        (
            "two_reads_and_a_write_everywhere",
            stream(&|n| Access { write: n % 3 == 2, ..read(0, anywhere(n)) }),
        ),
        ("written_in_order", stream(&|n| written(0, sector(n)))),
    ])
}

/// Result of a stream in this model.
fn ours(spec: &DramSpec, requests: &[Access]) -> Outcome {
    let mut taken_at = vec![0; requests.len()];
    let (mut cycles, mut latency, mut reads) = (0, 0, 0);
    for (cycle, event) in alone_in_channel(spec, 0, requests) {
        match event {
            Event::Taken(request) => {
                taken_at[request] = cycle;
                cycles = cycle;
            }
            Event::Read(request, end) | Event::Forwarded(request, end) => {
                latency += end - taken_at[request];
                reads += 1;
            }
            _ => {}
        }
    }
    Outcome { cycles, latency: if reads == 0 { 0.0 } else { latency as f64 / f64::from(reads) } }
}

/// Result of a stream in DRAMsim3.
fn theirs(driver: &str, settings: &str, requests: &[Access]) -> Outcome {
    let folder = std::env::temp_dir().join(format!("dramsim3-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("settings.ini");
    std::fs::write(&file, settings).unwrap();
    let mut lines = String::new();
    for Access { cycle, write, cell, .. } in requests {
        writeln!(lines, "{cycle} {} {}", if *write { 'W' } else { 'R' }, its_address(*cell)).unwrap();
    }
    let mut child =
        Command::new(driver).arg(&file).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let (cycles, latency) = text.lines().last().unwrap().split_once(' ').unwrap();
    Outcome { cycles: cycles.parse().unwrap(), latency: latency.parse().unwrap() }
}

/// Relative deviation of the first from the second in per cent.
fn deviation(ours: f64, theirs: f64) -> f64 {
    if theirs == 0.0 { 0.0 } else { 100.0 * (ours / theirs - 1.0) }
}

/// A line of the table without its explanation.
fn line(name: &str, theirs: Outcome, ours: Outcome) -> String {
    let cycles = deviation(ours.cycles as f64, theirs.cycles as f64);
    let latency = deviation(ours.latency, theirs.latency);
    format!(
        "{name},{},{},{cycles:+.1},{:.1},{:.1},{latency:+.1}",
        theirs.cycles, ours.cycles, theirs.latency, ours.latency
    )
}

/// A recorded line.
struct Recorded {
    line: String,
    theirs: Outcome,
    explanation: String,
}

fn recorded() -> BTreeMap<String, Recorded> {
    let text = std::fs::read_to_string(RECORDED).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let parsed = lines.map(|line| {
        let fields: Vec<&str> = line.splitn(8, ',').collect();
        let theirs = Outcome { cycles: fields[1].parse().unwrap(), latency: fields[4].parse().unwrap() };
        let recorded = Recorded { line: fields[..7].join(","), theirs, explanation: fields[7].to_owned() };
        (fields[0].to_owned(), recorded)
    });
    parsed.collect()
}

#[test]
fn dram_matches_dramsim3_except_where_explained() {
    let (spec, recorded) = (settings(), recorded());
    assert!(recorded.keys().eq(streams().keys()), "other streams are recorded");
    for (name, requests) in streams() {
        let Recorded { line: expected, theirs, explanation } = &recorded[name];
        let ours = ours(&spec, &requests);
        assert_eq!(
            &line(name, *theirs, ours),
            expected,
            "DRAMsim3 is to be asked again, and the line explained"
        );
        let cycles = deviation(ours.cycles as f64, theirs.cycles as f64).abs();
        let latency = deviation(ours.latency, theirs.latency).abs();
        assert!(
            cycles.max(latency) <= 5.0 || !explanation.is_empty(),
            "{name} is far off and nothing says why"
        );
    }
}

#[test]
#[ignore = "needs DRAMsim3"]
fn record_dramsim3() {
    let driver = std::env::var("VOLTSIM_DRAMSIM3").expect("VOLTSIM_DRAMSIM3 names the driver");
    let (spec, recorded) = (settings(), recorded());
    let mut text = String::from(
        "# A channel of HBM2 beside DRAMsim3 (umd-memsys/DRAMsim3, 2981759) with the same settings: 8,192 requests of 32 B, taken as\n\
         # fast as they come and there is room, cycles until the last is taken and mean latency of reads, in DRAM cycles. See dramsim3.rs.\n\
         stream,cycles_dramsim3,cycles,deviation_percent,latency_dramsim3,latency,deviation_percent,explanation\n",
    );
    for (name, requests) in streams() {
        let theirs = theirs(&driver, &its_settings(&spec), &requests);
        // Rounded as when the file is read.
        let theirs = Outcome { latency: (theirs.latency * 10.0).round() / 10.0, ..theirs };
        let explanation = recorded.get(name).map_or("", |recorded| &recorded.explanation);
        writeln!(text, "{},{explanation}", line(name, theirs, ours(&spec, &requests))).unwrap();
    }
    std::fs::write(RECORDED, text).unwrap();
}
