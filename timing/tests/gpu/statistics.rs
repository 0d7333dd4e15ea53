//! Launch statistics: maxima, DRAM channels, occupancy limits.

use launch_report::{Format, Report};
use timing::record::LaunchRecord;
use timing::sm::Limit;
use warp_stream::{AccessKind, MemorySpace};

use crate::script::{Script, Thread, count, launch, titan_v};

/// Loads of `lines` lines by each of 32 threads.
fn loads(lines: u64) -> Script {
    let address = move |thread: Thread| (1 << 30) + thread.number % lines * 128;
    Script::new(1, 32).load(8, &[], address).exit()
}

#[test]
fn maxima_are_per_launch_and_combined_in_sums() {
    let mut gpu = titan_v(&["launch.cold=true"]);
    let mut report = Report::new("titan-v");
    for lines in [4, 32, 8] {
        report.add(launch(&mut gpu, &loads(lines)));
    }
    let most = |record: &LaunchRecord| count(record, "l1.most_misses");
    assert_eq!(report.launches().map(|launch| most(&launch.unwrap())).collect::<Vec<_>>(), [4, 32, 8]);
    assert_eq!(timing::statistics::value(&report.total().counters, "l1.most_misses"), Some(32));
}

#[test]
fn dram_channel_counts_are_per_launch_and_add_up() {
    let mut gpu = titan_v(&["launch.cold=true"]);
    let mut report = Report::new("titan-v");
    for lines in [4, 32] {
        report.add(launch(&mut gpu, &loads(lines)));
    }
    let total = report.total();
    let reads =
        |channels: &[timing::dram::ChannelCounts]| channels.iter().map(|channel| channel.reads).sum::<u64>();
    for record in report.launches().map(Result::unwrap) {
        assert_eq!(reads(&record.channels), count(&record, "dram.reads"));
    }
    let of_launches: u64 = report.launches().map(|record| reads(&record.unwrap().channels)).sum();
    assert_eq!(reads(&total.channels), of_launches);
    let spec = gpu.spec();
    assert_eq!(total.channels.len() as u32, spec.partition.channels * spec.dram.pseudo_channels);
}

#[test]
fn launch_without_dram_access_has_no_channel_counts() {
    let mut gpu = titan_v(&[]);
    launch(&mut gpu, &loads(4));
    assert_eq!(launch(&mut gpu, &loads(4)).channels, []);
}

#[test]
fn launch_reports_its_occupancy_limit() {
    let script = Script::new(4, 256).exit().with(|kernel| kernel.registers = 40);
    let occupancy = launch(&mut titan_v(&[]), &script).occupancy;
    assert_eq!((occupancy.ctas, occupancy.limit, occupancy.warps), (6, Limit::Registers, 48));
}

#[test]
fn access_lanes_equal_thread_access_instructions() {
    let place = |thread: Thread| (1 << 30) + 4 * thread.number;
    let script = Script::new(2, 48)
        .load(8, &[], place)
        .store(&[8], place)
        .access(MemorySpace::Shared, AccessKind::Load, Some(9), |_| 0)
        .access(MemorySpace::Local, AccessKind::Load, Some(10), place)
        .atomic(11, &[8], place)
        .exit();
    let record = launch(&mut titan_v(&[]), &script);
    let classes =
        ["load", "store", "atomic"].map(|class| count(&record, &format!("thread_instructions.{class}")));
    let lanes = ["coalescer.load_lanes", "coalescer.store_lanes", "coalescer.atomic_lanes", "shared.lanes"];
    assert_eq!(lanes.map(|name| count(&record, name)), [192, 96, 96, 96]);
    assert_eq!(classes, [192 + 96, 96, 96]);
    let mut report = Report::new("titan-v");
    report.add(record);
    let text = report.text(Format::GpgpuSim).unwrap();
    for line in ["gpgpu_n_load_insn = 288\n", "gpgpu_n_store_insn = 96\n", "gpgpu_n_shmem_insn = 96\n"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn issue_utilisation_is_at_most_100_percent_at_any_width() {
    let utilisation = timing::statistics::DERIVED.iter().find(|ratio| ratio.name == "utilisation").unwrap();
    assert_eq!(utilisation.section, "issue");
    let of_width = |width: u32| {
        let mut gpu = titan_v(&["chip.sms=1", &format!("issue.width={width}")]);
        let independent = (8..40).fold(Script::new(1, 1024), |script, register| {
            script.operation(warp_stream::OperationClass::Integer, register, &[])
        });
        utilisation.of(&launch(&mut gpu, &independent.exit()).counters).unwrap()
    };
    for width in [1, 2, 4] {
        let percent = of_width(width);
        assert!(percent > 0.0 && percent <= 100.0, "{percent} % with a width of {width}");
    }
}
