//! Statistics as JSON.

use std::io;

use serde::Serialize as _;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value, json};
use warp_stream::kernel_name::signature;

use super::{LaunchRecord, Report, Total, TransferRecord, Transfers, channels};
use crate::dram::ChannelCounts;
use crate::sm::Occupancy;
use crate::statistics::{Counts, DERIVED};

/// Version of this form.
const VERSION: u32 = 1;

pub(super) fn write(report: &Report) -> String {
    let launches: Vec<Value> = report.launches.iter().map(launch).collect();
    let streams: Vec<Value> =
        report.streams().iter().map(|(number, sum)| with(json!({ "stream": number }), total(sum))).collect();
    let mut all = json!({
        "version": VERSION,
        "gpu": report.gpu,
        "same_bytes": report.same_bytes.name(),
        "launches": launches,
        "streams": streams,
        "total": total(&report.total()),
    });
    if !report.transfers.is_empty() {
        let transfers: Vec<Value> = report.transfers.iter().map(transfer).collect();
        all = with(all, json!({ "transfers": transfers }));
    }
    lines(&all) + "\n"
}

fn launch(launch: &LaunchRecord) -> Value {
    let name = signature(&launch.kernel);
    let about = json!({
        "launch": launch.launch,
        "kernel": name,
        "stream": launch.stream,
        "grid": launch.grid,
        "block": launch.block,
        "registers": launch.registers,
        "shared_bytes": launch.shared_bytes,
        "occupancy": occupancy(&launch.occupancy),
        "start": launch.start,
        "cycles": launch.cycles,
        "warp_instructions": launch.warp_instructions,
        "shared": launch.shared,
        "extrapolated": launch.simulated.is_some(),
        "simulated_cycles": launch.simulated_cycles(),
        "unsure_cycles": launch.unsure_cycles(),
    });
    let key = if name == launch.kernel { json!({}) } else { json!({ "mangled": launch.kernel }) };
    with(with(about, key), counts(&launch.counters, &launch.channels))
}

fn transfer(transfer: &TransferRecord) -> Value {
    let about = json!({
        "kind": if transfer.is_fill { "fill" } else { "copy" },
        "stream": transfer.stream,
        "bytes": transfer.bytes,
        "start": transfer.start,
        "cycles": transfer.cycles,
        "shared": transfer.shared,
    });
    with(about, counts(&transfer.counters, &transfer.channels))
}

fn occupancy(occupancy: &Occupancy) -> Value {
    json!({
        "ctas_per_sm": occupancy.ctas,
        "limit": occupancy.limit.name(),
        "warps": occupancy.warps,
        "warp_slots": occupancy.warp_slots,
        "theoretical": occupancy.theoretical(),
        "limits": {
            "warps": occupancy.by_warps,
            "ctas": occupancy.by_ctas,
            "registers": occupancy.by_registers,
            "shared_memory": occupancy.by_shared,
        },
    })
}

fn total(total: &Total) -> Value {
    let mut about = json!({ "launches": total.launches, "cycles": total.cycles });
    let Transfers { number, bytes, cycles } = total.transfers;
    if number > 0 {
        about = with(about, json!({ "transfers": { "number": number, "bytes": bytes, "cycles": cycles } }));
    }
    with(about, counts(&total.counters, &total.channels))
}

fn counts(counters: &Counts, dram: &[ChannelCounts]) -> Value {
    let named = counters
        .iter()
        .map(|(counter, value)| (format!("{}.{}", counter.section, counter.name), json!(value)));
    let derived =
        DERIVED.iter().map(|ratio| (format!("{}.{}", ratio.section, ratio.name), json!(ratio.of(counters))));
    json!({
        "counters": named.collect::<Map<_, _>>(),
        "derived": derived.collect::<Map<_, _>>(),
        "dram_channels": channels::json(dram, counters),
    })
}

/// An object with the fields of two.
fn with(mut object: Value, other: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut object, other) {
        fields.extend(more);
    }
    object
}

/// A line for each field of an object, so that lists of numbers, of which there are long ones, are in one.
#[derive(Default)]
struct Lines {
    depth: usize,
    has_field: bool,
}

impl Lines {
    fn begin_line<W: io::Write + ?Sized>(&self, writer: &mut W) -> io::Result<()> {
        write!(writer, "\n{:width$}", "", width = 2 * self.depth)
    }
}

impl Formatter for Lines {
    fn begin_array_value<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        *self = Lines { depth: self.depth + 1, has_field: false };
        writer.write_all(b"{")
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.begin_line(writer)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_field = true;
        Ok(())
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.has_field {
            self.begin_line(writer)?;
        }
        writer.write_all(b"}")
    }
}

fn lines(value: &Value) -> String {
    let mut bytes = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, Lines::default()));
    // Neither can fail: bytes are written to memory, and texts are UTF-8.
    written.ok().and_then(|()| String::from_utf8(bytes).ok()).unwrap_or_default()
}
