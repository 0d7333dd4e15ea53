//! Overlapping launches and copies.

use timing::gpu::{Copy, Direction, Ended, Gpu};
use timing::record::LaunchRecord;
use warp_stream::OperationClass;

use crate::script::{Script, count, launch, titan_v};

/// CTAs of one warp that occupy half of an SM's shared memory for a while.
fn half(ctas: u32) -> Script {
    let script = Script::new(ctas, 32).with(|kernel| kernel.shared_bytes = 48 << 10);
    (0..50).fold(script, |script, _| script.operation(OperationClass::Fp32, 8, &[8])).exit()
}

/// Runs launches concurrently. Returns their records in order of completion.
fn together(gpu: &mut Gpu, scripts: &[Script]) -> Vec<(u32, LaunchRecord)> {
    let mut session = gpu.session();
    for script in scripts {
        session.begin(script, 0).unwrap();
    }
    let mut end = || match session.run_until_one_ends(&mut ()).unwrap() {
        Ended::Launch { id, record } => (id, *record),
        _ => panic!("no launch"),
    };
    scripts.iter().map(|_| end()).collect()
}

#[test]
fn small_launches_overlap() {
    let records = together(&mut titan_v(&[]), &[half(80), half(80)]);
    let alone = launch(&mut titan_v(&[]), &half(80)).cycles;
    let end = records.iter().map(|(_, record)| record.start + record.cycles).max().unwrap();
    assert!(end < alone + 300, "{end} {alone}");
    assert!(records.iter().all(|(_, record)| record.shared));
}

#[test]
fn ctas_of_the_older_launch_start_first() {
    let scripts = [half(400), half(1)];
    let records = together(&mut titan_v(&["chip.sms=1"]), &scripts);
    assert_eq!(records.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [0, 1]);
    assert!(scripts[1].first_issues()[0] > scripts[0].first_issues()[399]);
}

#[test]
fn ctas_of_an_urgent_launch_start_first() {
    let scripts = [half(400), half(1)];
    let mut gpu = titan_v(&["chip.sms=1"]);
    let mut session = gpu.session();
    let older = session.begin(&scripts[0], 0).unwrap();
    session.begin_before(&scripts[1], 0, Some(older)).unwrap();
    while !matches!(session.run_until_one_ends(&mut ()).unwrap(), Ended::Launch { id, .. } if id == older) {}
    assert!(scripts[1].first_issues()[0] < scripts[0].first_issues()[2]);
}

#[test]
fn counters_of_overlapping_launches_add_up() {
    let records = together(&mut titan_v(&[]), &[half(80), half(40), half(200)]);
    let sum: u64 = records.iter().map(|(_, record)| count(record, "sm.warp_instructions")).sum();
    assert_eq!(sum, 320 * 51);
}

#[test]
fn overlapping_launches_count_their_own_instructions() {
    let mut records = together(&mut titan_v(&[]), &[half(80), half(40), half(200)]);
    records.sort_by_key(|(id, _)| *id);
    let instructions: Vec<u64> = records.iter().map(|(_, record)| record.warp_instructions).collect();
    assert_eq!(instructions, [80 * 51, 40 * 51, 200 * 51]);
}

#[test]
fn launch_begins_while_another_runs() {
    let mut gpu = titan_v(&[]);
    let scripts = [half(80), half(400)];
    let mut session = gpu.session();
    session.begin(&scripts[0], 0).unwrap();
    session.begin(&scripts[1], 1000).unwrap();
    let Ended::Launch { record, .. } = session.run_until_one_ends(&mut ()).unwrap() else { panic!() };
    let id = session.begin(&scripts[0], record.start + record.cycles).unwrap();
    let rest = [0; 2].map(|_| session.run_until_one_ends(&mut ()).unwrap());
    assert!(rest.iter().any(|ended| matches!(ended, Ended::Launch { id: ended, .. } if *ended == id)));
    let starts: Vec<u64> = rest.iter().map(start).collect();
    assert!(starts.contains(&1000) && starts.contains(&(record.start + record.cycles)), "{starts:?}");
}

fn start(ended: &Ended) -> u64 {
    match ended {
        Ended::Launch { record, .. } => record.start,
        _ => panic!("no launch"),
    }
}

#[test]
fn copy_overlaps_a_launch() {
    let copy = Copy { direction: Direction::ToDevice, address: 1 << 30, bytes: 1 << 20 };
    let time_of_copy = {
        let mut gpu = titan_v(&[]);
        gpu.copy(copy).unwrap();
        gpu.now().cycle
    };
    let script = half(80 * 100);
    let alone = launch(&mut titan_v(&[]), &script).cycles;
    let mut gpu = titan_v(&[]);
    let mut session = gpu.session();
    session.begin(&script, 0).unwrap();
    session.begin_copy(copy, 0);
    let ends = [0; 2].map(|_| match session.run_until_one_ends(&mut ()).unwrap() {
        Ended::Launch { record, .. } => record.cycles,
        Ended::Copy { end, .. } => end,
        ended => panic!("{ended:?}"),
    });
    let (first, last) = (time_of_copy.min(alone), time_of_copy.max(alone));
    assert!(
        ends[0].abs_diff(first) * 100 < first && ends[1].abs_diff(last) * 100 < last,
        "{ends:?} {first} {last}"
    );
}
