//! Statistics as JSON.

use std::io;

use serde::Serialize;
use serde::ser::{Error as _, SerializeMap as _, SerializeSeq as _};
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value, json};
use warp_stream::kernel_name::signature;

use super::sums::Sums;
use timing::record::{LaunchRecord, TransferRecord, not_modelled};

use super::{Run, Total, Transfers, channels, series, source_counts};
use timing::dram::ChannelCounts;
use timing::power::PowerSection;
use timing::sm::Occupancy;
use timing::statistics::{Counts, DERIVED};

/// Version of the format.
const VERSION: u32 = 1;

pub(super) fn write(run: &Run<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    Document(run).serialize(&mut Serializer::with_formatter(&mut *out, Lines::default()))?;
    out.write_all(b"\n")
}

/// A run as one object; each record is built when written.
struct Document<'a>(&'a Run<'a>);

impl Serialize for Document<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(run) = self;
        let Sums { total: all, streams, .. } = &run.sums;
        let mut fields = json!({
            "version": VERSION, "gpu": run.gpu, "same_bytes": run.same_bytes.name(), "launches": []
        });
        let sums = streams.iter().map(|(number, sum)| with(json!({ "stream": number }), total(sum)));
        fields["streams"] = sums.collect();
        fields["total"] = total(all);
        if all.transfers.number > 0 {
            fields["transfers"] = json!([]);
        }
        let listings: Vec<Value> = run.listings().map(source_counts::listing).collect();
        if !listings.is_empty() {
            fields["listings"] = json!(listings);
        }
        let ranges: Vec<Value> =
            run.reports.iter().flat_map(|report| report.ranges.json(all.cycles)).collect();
        if !ranges.is_empty() {
            fields["ranges"] = json!(ranges);
        }
        if let Some(power) = run.power {
            fields["power"] = energies(power);
        }
        if let Some(cause) = run.partial {
            fields["partial"] = json!(format!("ended by {cause}"));
        }
        let fields = fields.as_object().into_iter().flatten();
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in fields {
            match name.as_str() {
                "launches" => map.serialize_entry(name, &Each(|| launches(run)))?,
                "transfers" => map.serialize_entry(name, &Each(|| transfers(run)))?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

/// The card whose energies the run has; null if the GPU's file has none.
fn energies(power: &PowerSection) -> Value {
    power.0.as_ref().map_or(
        Value::Null,
        |power| json!({ "card": power.spec.card, "derived": power.derived, "millivolts": power.voltage }),
    )
}

fn launches(run: &Run<'_>) -> impl Iterator<Item = io::Result<Value>> {
    run.launches_with_beside().map(|record| {
        let (record, beside) = record?;
        let mut launch = launch(&record);
        if let Some(of_record) = beside.series {
            launch = with(launch, json!({ "series": series::json(&of_record, &record.counters) }));
        }
        if let Some(ranges) = run.reports.iter().find_map(|report| report.ranges.of(record.launch)) {
            launch = with(launch, json!({ "ranges": ranges }));
        }
        if let Some(counts) = beside.source_counts {
            launch = with(launch, json!({ "source_counts": source_counts::json(&counts) }));
        }
        Ok(launch)
    })
}

fn transfers(run: &Run<'_>) -> impl Iterator<Item = io::Result<Value>> {
    run.transfers().map(|record| record.map(|record| transfer(&record)))
}

/// A list that builds its elements one by one.
struct Each<F>(F);

impl<F: Fn() -> I, I: Iterator<Item = io::Result<Value>>> Serialize for Each<F> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for element in self.0() {
            list.serialize_element(&element.map_err(S::Error::custom)?)?;
        }
        list.end()
    }
}

fn launch(launch: &LaunchRecord) -> Value {
    let name = signature(&launch.kernel);
    let about = json!({
        "launch": launch.launch,
        "kernel": name,
        "stream": launch.stream,
        "grid": launch.shape.grid,
        "block": launch.shape.block,
        "registers": launch.registers,
        "registers.source": launch.register_source.name(),
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
        .map(|&(counter, value)| (counter, json!(value)))
        // A counter that the run does not model is null, never 0.
        .chain(not_modelled(counters).map(|counter| (counter, Value::Null)))
        .map(|(counter, value)| (format!("{}.{}", counter.section, counter.name), value));
    let derived =
        DERIVED.iter().map(|ratio| (format!("{}.{}", ratio.section, ratio.name), json!(ratio.of(counters))));
    json!({
        "counters": named.collect::<Map<_, _>>(),
        "derived": derived.collect::<Map<_, _>>(),
        "dram_channels": channels::json(dram, counters),
    })
}

/// Merges the fields of two objects.
fn with(mut object: Value, other: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut object, other) {
        fields.extend(more);
    }
    object
}

/// A formatter that gives each field a line and keeps lists of numbers in one.
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
