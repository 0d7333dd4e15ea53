//! Units of profilers and their factors to base units.
//!
//! Base units are those of Nsight Compute's `--print-units base`: nanoseconds, hertz, bytes, bytes
//! per second, per cent.

/// Nanoseconds per second.
const SECOND: f64 = 1e9;

/// Decimal prefixes, as Nsight Compute and nvprof write them.
const DECIMAL: [(&str, f64); 11] = [
    ("n", 1e-9),
    ("u", 1e-6),
    ("\u{b5}", 1e-6),
    ("\u{3bc}", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("K", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
];

/// Binary prefixes.
const BINARY: [(&str, f64); 6] = [
    ("Ki", 1024.0),
    ("ki", 1024.0),
    ("Mi", 1048576.0),
    ("Gi", 1073741824.0),
    ("Ti", 1099511627776.0),
    ("Pi", 1125899906842624.0),
];

/// Countable things; a plural `s` may follow.
const COUNTED: &[&str] = &[
    "access",
    "accesses",
    "atom",
    "bank",
    "bit",
    "block",
    "branch",
    "branches",
    "cluster",
    "conflict",
    "count",
    "cta",
    "cycle",
    "device",
    "event",
    "flop",
    "fma",
    "grid",
    "hit",
    "inst",
    "instruction",
    "kernel",
    "lane",
    "launch",
    "line",
    "miss",
    "misses",
    "node",
    "op",
    "operation",
    "packet",
    "page",
    "pass",
    "passes",
    "pc",
    "pixel",
    "quad",
    "query",
    "queries",
    "read",
    "reduction",
    "register",
    "req",
    "request",
    "sample",
    "sector",
    "segment",
    "slot",
    "sm",
    "stall",
    "store",
    "tag",
    "texel",
    "thread",
    "transaction",
    "vertex",
    "vertices",
    "warp",
    "wavefront",
    "write",
];

/// Quantity that a metric measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Nanoseconds.
    Time,
    /// Hertz: cycles per second.
    Frequency,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    ByteRate,
    /// Per cent.
    Percentage,
    /// Things, or things per thing.
    Number,
}

impl Quantity {
    /// Quantity of a metric by its name.
    pub fn of_metric(metric: &str) -> Quantity {
        let per_second = metric.ends_with(".per_second");
        match metric {
            _ if metric.ends_with(".pct") || metric.contains("pct_of_peak") => Quantity::Percentage,
            _ if metric.contains("__time_duration") => Quantity::Time,
            _ if metric.contains("__bytes") || metric.contains("_bytes_") => match per_second {
                true => Quantity::ByteRate,
                false => Quantity::Bytes,
            },
            _ if per_second && metric.contains("__cycles") => Quantity::Frequency,
            _ => Quantity::Number,
        }
    }

    /// Base unit, for messages.
    fn base(self) -> &'static str {
        match self {
            Quantity::Time => "nanoseconds",
            Quantity::Frequency => "hertz",
            Quantity::Bytes => "bytes",
            Quantity::ByteRate => "bytes per second",
            Quantity::Percentage => "per cent",
            Quantity::Number => "a number",
        }
    }
}

/// Size of `kilo` and larger prefixes before bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kilo {
    /// 1,000, as in Nsight Compute.
    Decimal,
    /// 1,024, as in nvprof.
    Binary,
}

/// A unit: its quantity, and its size in base units.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Unit {
    quantity: Quantity,
    factor: f64,
}

/// Converts a value to its metric's base unit.
///
/// # Errors
/// The unit is unknown or measures another quantity.
pub(super) fn converted(metric: &str, value: f64, unit: &str, kilo: Kilo) -> Result<f64, String> {
    let unit = unit.trim();
    if unit.is_empty() {
        return Ok(value);
    }
    let quantity = Quantity::of_metric(metric);
    let Some(found) = parse(unit, kilo) else {
        return Err(format!(
            "{metric} has the unknown unit `{unit}`; profile with `ncu --print-units base`, which gives {}",
            quantity.base()
        ));
    };
    match found.quantity == quantity {
        true => Ok(value * found.factor),
        false => Err(format!("{metric} is in `{unit}`; must be {}", quantity.base())),
    }
}

/// Parses a unit: `inst/cycle`, `bytes per second`.
fn parse(text: &str, kilo: Kilo) -> Option<Unit> {
    let text = text.replace(" per ", "/");
    let mut parts = text.split('/').map(str::trim);
    let first = single(parts.next()?, kilo)?;
    let Some(second) = parts.next() else { return Some(first) };
    let second = single(second, kilo)?;
    let factor = first.factor / second.factor;
    let quantity = match (first.quantity, second.quantity) {
        (Quantity::Bytes, Quantity::Time) => Quantity::ByteRate,
        (Quantity::Number, Quantity::Time) => Quantity::Frequency,
        // Bytes per thing.
        (quantity, Quantity::Number) => quantity,
        _ => return None,
    };
    let factor = if second.quantity == Quantity::Time { factor * SECOND } else { factor };
    parts.next().is_none().then_some(Unit { quantity, factor })
}

fn single(text: &str, kilo: Kilo) -> Option<Unit> {
    if text == "%" {
        return Some(Unit { quantity: Quantity::Percentage, factor: 1.0 });
    }
    // The last word names the thing counted: `core cycles`, `warps x cycles`.
    let word = text.rsplit(' ').next().unwrap_or(text);
    if let Some(unit) = noun(word) {
        return Some(unit);
    }
    let prefixed = |(prefix, size): &(&str, f64)| {
        let unit = noun(word.strip_prefix(prefix)?)?;
        let decimal = DECIMAL.iter().any(|(known, _)| known == prefix);
        let power = (size.log10() / 3.0).round();
        let size = match kilo {
            Kilo::Binary if decimal && unit.quantity == Quantity::Bytes && power > 0.0 => {
                1024_f64.powf(power)
            }
            _ => *size,
        };
        Some(Unit { factor: unit.factor * size, ..unit })
    };
    BINARY.iter().chain(&DECIMAL).find_map(prefixed)
}

fn noun(word: &str) -> Option<Unit> {
    let unit = |quantity, factor| Some(Unit { quantity, factor });
    match word {
        "s" | "sec" | "second" | "seconds" => return unit(Quantity::Time, SECOND),
        "B" | "byte" | "bytes" | "Byte" | "Bytes" => return unit(Quantity::Bytes, 1.0),
        "hz" | "Hz" | "hertz" => return unit(Quantity::Frequency, 1.0),
        _ => {}
    }
    let word = word.to_ascii_lowercase();
    let known = |word: &str| COUNTED.contains(&word);
    let counted = known(&word) || word.strip_suffix('s').is_some_and(known);
    counted.then_some(Unit { quantity: Quantity::Number, factor: 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: &str = "gpu__time_duration.sum";
    const BYTES: &str = "dram__bytes_read.sum";
    const RATE: &str = "dram__bytes.sum.per_second";
    const CLOCK: &str = "gpc__cycles_elapsed.avg.per_second";
    const COUNT: &str = "smsp__inst_executed.sum";

    #[test]
    fn nsight_compute_units_convert_to_base_units() {
        for (metric, unit, expected) in [
            (TIME, "nsecond", 1.0),
            (TIME, "ns", 1.0),
            (TIME, "usecond", 1e3),
            (TIME, "us", 1e3),
            (TIME, "\u{b5}s", 1e3),
            (TIME, "msecond", 1e6),
            (TIME, "ms", 1e6),
            (TIME, "second", 1e9),
            (TIME, "s", 1e9),
            (BYTES, "byte", 1.0),
            (BYTES, "Kbyte", 1e3),
            (BYTES, "Mbyte", 1e6),
            (BYTES, "Gbyte", 1e9),
            (BYTES, "Tbyte", 1e12),
            (BYTES, "KB", 1e3),
            (BYTES, "KiB", 1024.0),
            (BYTES, "MiB", 1048576.0),
            (BYTES, "Kibyte", 1024.0),
            (BYTES, "Kbyte/block", 1e3),
            (RATE, "byte/second", 1.0),
            (RATE, "Kbyte/second", 1e3),
            (RATE, "Gbyte/second", 1e9),
            (RATE, "Gbyte/s", 1e9),
            (RATE, "GB/s", 1e9),
            (RATE, "byte/nsecond", 1e9),
            (RATE, "Tbyte/second", 1e12),
            (CLOCK, "hz", 1.0),
            (CLOCK, "Mhz", 1e6),
            (CLOCK, "Ghz", 1e9),
            (CLOCK, "GHz", 1e9),
            (CLOCK, "cycle/second", 1.0),
            (CLOCK, "cycle/usecond", 1e6),
            (CLOCK, "cycle/nsecond", 1e9),
            (COUNT, "inst", 1.0),
            (COUNT, "Kinst", 1e3),
            (COUNT, "inst/cycle", 1.0),
            (COUNT, "sector/req", 1.0),
            (COUNT, "register/thread", 1.0),
            (COUNT, "", 1.0),
            ("lts__t_sector_hit_rate.pct", "%", 1.0),
        ] {
            let value = converted(metric, 1.0, unit, Kilo::Decimal).unwrap();
            assert!((value / expected - 1.0).abs() < 1e-12, "{unit}: {value} is not {expected}");
        }
    }

    #[test]
    fn nvprof_kilo_is_1024_for_bytes_and_1000_for_time() {
        assert_eq!(converted(BYTES, 2.0, "KB", Kilo::Binary), Ok(2048.0));
        assert_eq!(converted(TIME, 2.0, "us", Kilo::Binary), Ok(2000.0));
    }

    #[test]
    fn unknown_or_wrong_unit_error_names_it() {
        for unit in ["fortnight", "usecondd", "x/y/z", "%%"] {
            assert!(converted(TIME, 1.0, unit, Kilo::Decimal).unwrap_err().contains(unit));
        }
        let wrong = converted(TIME, 1.0, "byte", Kilo::Decimal).unwrap_err();
        assert_eq!(wrong, "gpu__time_duration.sum is in `byte`; must be nanoseconds");
    }

    #[test]
    fn units_of_own_statistics_parse() {
        for unit in
            ["core cycles", "L2 cycles", "CTAs", "warps x cycles", "passes", "slots", "lanes per instruction"]
        {
            assert_eq!(converted(COUNT, 3.0, unit, Kilo::Decimal), Ok(3.0), "{unit}");
        }
    }
}
