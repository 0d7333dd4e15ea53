//! Energy of launches, from their counters.

use std::num::NonZero;

use timing::record::LaunchRecord;
use timing::series::Interval;
use timing::specification::GpuSpec;
use timing::statistics::{DERIVED, value};
use warp_stream::OperationClass;

use crate::script::{Script, count, launch, titan_v};

/// Loads, arithmetic and stores.
fn script() -> Script {
    Script::new(200, 128)
        .load(4, &[], |thread| (1 << 32) + 4 * thread.number + thread.iteration * (1 << 20))
        .operation(OperationClass::Fp32, 5, &[4])
        .store(&[5], |thread| (1 << 33) + 4 * thread.number)
        .repeat(0, 4)
        .exit()
}

fn timed(changes: &[&str]) -> LaunchRecord {
    launch(&mut titan_v(changes), &script())
}

fn energy(record: &LaunchRecord) -> Option<u64> {
    value(&record.counters, "power.energy")
}

#[test]
fn energy_is_the_sum_of_its_parts() {
    let record = timed(&[]);
    let sum = |names: &[&str]| names.iter().map(|name| count(&record, name)).sum::<u64>();
    let units = ["power.interconnect", "power.l2", "power.dram"];
    let times = ["power.active_static", "power.idle", "power.constant"];
    let all = sum(&["power.core", "power.l1"]) + sum(&units) + sum(&times);
    assert_eq!(energy(&record), Some(all));
    assert!(all > 0);
    assert_eq!(
        count(&record, "power.l1"),
        sum(&["power.l1_data", "power.shared_memory", "power.constant_cache"])
    );
}

#[test]
fn energy_of_an_event_changes_its_part_alone() {
    let [plain, dearer] = [timed(&[]), timed(&["power.dram_read=3062pJ"])];
    let more = count(&dearer, "power.dram") - count(&plain, "power.dram");
    assert_eq!(more, count(&plain, "dram.reads") * 1000);
    assert_eq!(energy(&dearer).unwrap() - energy(&plain).unwrap(), more);
    assert_eq!(plain.cycles, dearer.cycles);
}

#[test]
fn gpu_without_a_card_has_no_energy_and_no_watts() {
    let record = timed(&["power.card=none"]);
    assert_eq!(energy(&record), None);
    let watts = DERIVED.iter().find(|ratio| (ratio.section, ratio.name) == ("power", "watts"));
    assert_eq!(watts.unwrap().of(&record.counters), None);
}

#[test]
fn mode_without_register_banks_has_no_energy_of_cores() {
    let record = timed(&["fidelity.arithmetic=analytical"]);
    for part in ["power.registers", "power.core", "power.energy"] {
        assert_eq!(value(&record.counters, part), None, "{part}");
    }
    assert!(count(&record, "power.dram") > 0);
}

#[test]
fn energies_of_points_add_up_to_the_launch() {
    let interval = NonZero::new(64).map(Interval::Cycles);
    let record = launch(&mut titan_v(&[]).with_series(interval), &script());
    assert_eq!(record.counters, timed(&[]).counters);
    let series = record.series.as_ref().unwrap();
    let columns: Vec<_> = series.columns().filter(|(counter, _)| counter.section == "power").collect();
    assert!(columns.len() > 10, "{}", columns.len());
    for (counter, values) in columns {
        let name = format!("power.{}", counter.name);
        assert_eq!(values.iter().sum::<u64>(), count(&record, &name), "{name}");
    }
}

#[test]
fn voltage_scales_events_squared_and_static_power_linearly() {
    let curve = ["power.curve_clocks=[1000, 1200]", "power.curve_voltages=[900, 500]"];
    let [plain, lower] = [timed(&[]), timed(&curve)];
    let ratio = |part: &str| count(&lower, part) as f64 / count(&plain, part) as f64;
    for (part, expected) in [("power.dram", 0.25), ("power.active_static", 0.5), ("power.constant", 1.0)] {
        assert!((ratio(part) - expected).abs() < 1e-3, "{part}: {}", ratio(part));
    }
}

#[test]
fn values_of_another_card_are_derived() {
    let derived = |name: &str| GpuSpec::built_in(name).unwrap().power.0.map(|power| power.derived);
    assert_eq!(derived("gv100"), Some(false));
    assert_eq!(derived("titan-v"), Some(true));
    assert_eq!(derived("gtx470"), None);
}

#[test]
fn curve_is_linear_between_its_points_and_constant_beyond() {
    let curve = ["power.curve_clocks=[800, 1000]", "power.curve_voltages=[700, 900]"];
    let power = GpuSpec::changed("gv100", curve).unwrap().power.0.unwrap();
    let voltages = [700, 800, 850, 900, 1000, 1500].map(|clock| power.spec.voltage_at(clock));
    assert_eq!(voltages, [700, 700, 750, 800, 900, 900]);
}

#[test]
fn contradicting_curve_is_an_error_of_its_key() {
    let said = |change: &str| GpuSpec::changed("gv100", [change]).unwrap_err().to_string();
    assert_eq!(
        said("power.curve_clocks=[800]"),
        "--set: `power.curve_clocks = [800]` with `power.curve_voltages = []`: the curve must have a \
         voltage for each clock"
    );
    assert_eq!(said("power.voltage=0"), "--set: `power.voltage = 0`: must be at least 1");
}
