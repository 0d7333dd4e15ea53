//! Tables 1 to 5 of Nugteren et al., to the digit.

#![allow(clippy::expect_used, reason = "helpers of tests, where a panic is the report")]

use cache_model::accesses::{Header, Kind, Launch, LaunchAccesses};
use cache_model::model::{
    ABSENT, Divergence, Geometry, Group, LatencySpec, ModelSpec, OrderSpec, Request, ReuseStack, Status,
    run_logged,
};
use serde::Deserialize;
use timing::policy::set_index::SetIndex;
use timing::sm::memory::l1::{Fetch, StoreHit};
use warp_stream::LaunchShape;

/// A table of requests: a column per request, -1 for an empty or infinite cell.
#[derive(Deserialize)]
struct Table {
    name: String,
    threads: Vec<u64>,
    cache: u32,
    misses: u32,
    latency: u32,
    conditional: bool,
    time: Vec<i64>,
    instruction: Vec<i64>,
    thread: Vec<i64>,
    line: Vec<i64>,
    distance: Vec<i64>,
    status: Option<Vec<String>>,
    mshrs_before: Option<Vec<i64>>,
    mshrs_after: Option<Vec<i64>>,
    latencies: Option<Vec<i64>>,
    effect: Option<Vec<i64>>,
}

/// Each thread is a warp that loads elements `2 t` and `2 t + 1`; a line has four elements.
fn requests(table: &Table) -> Vec<Request> {
    let warp = |thread: &u64| {
        let load = |position: u32| {
            let header =
                Header { position, lines: 1, kind: Kind::Load, waits: false, is_local: false, gap: 0 };
            let line = (2 * thread + u64::from(position)) / 4;
            [header.word(), line << 4 | 1]
        };
        [load(0), load(1)].concat()
    };
    let block = [32 * table.threads.len() as u32, 1, 1];
    let launch = Launch { shape: LaunchShape::new([1; 3], block), lines: vec![0; 2], ..Launch::default() };
    let accesses = LaunchAccesses::new(launch, table.threads.iter().map(warp));
    let spec = ModelSpec {
        geometry: Geometry { size: 128 * table.cache, sets: 1, index: SetIndex::Linear },
        line: 128,
        fetch: Fetch::Line,
        store_hit: StoreHit::Evict,
        misses: table.misses,
        latency: LatencySpec {
            hit: 0,
            minimum: table.latency,
            memory: table.latency,
            deviation: 0.0,
            is_conditional: table.conditional,
            is_clipped: false,
            seed: 1,
        },
        order: OrderSpec {
            cores: 1,
            ctas: 1,
            divergence: Divergence::None,
            issue: 0,
            interval: 0,
            has_barriers: false,
            has_stores: false,
        },
        l2: None,
    };
    run_logged(&accesses, &Group::of_one(spec)).1
}

fn check(text: &str) {
    let table: Table = toml::from_str(text).expect("a table");
    let requests = requests(&table);
    let column = |of: &dyn Fn(&Request) -> i64| requests.iter().map(of).collect::<Vec<i64>>();
    let is_cancelled = |request: &Request| request.status == Status::Cancel;
    let unless_cancelled = |request: &Request, value: i64| if is_cancelled(request) { -1 } else { value };
    let name = &table.name;
    assert_eq!(column(&|request| request.time as i64), table.time, "{name}: time");
    assert_eq!(column(&|request| request.position.into()), table.instruction, "{name}: instruction");
    let thread = |request: &Request| table.threads[request.warp as usize] as i64;
    assert_eq!(column(&thread), table.thread, "{name}: thread");
    assert_eq!(column(&|request| request.line as i64), table.line, "{name}: line");
    let distance = |request: &Request| request.distance.map_or(-1, i64::from);
    assert_eq!(column(&distance), table.distance, "{name}: distance");
    if let Some(expected) = &table.status {
        let letter = |request: &Request| match request.status {
            Status::Hit => "h",
            Status::Miss => "m",
            Status::Cancel => "c",
        };
        assert_eq!(requests.iter().map(letter).collect::<Vec<_>>(), *expected, "{name}: status");
    }
    type Column<'a> = (&'a str, &'a Option<Vec<i64>>, &'a dyn Fn(&Request) -> i64);
    let columns: [Column<'_>; 4] = [
        ("MSHRs before", &table.mshrs_before, &|request| request.mshrs.0.into()),
        ("MSHRs after", &table.mshrs_after, &|request| unless_cancelled(request, request.mshrs.1.into())),
        ("latency", &table.latencies, &|request| unless_cancelled(request, request.latency as i64)),
        ("effect", &table.effect, &|request| unless_cancelled(request, request.effect as i64)),
    ];
    for (what, expected, of) in columns {
        if let Some(expected) = expected {
            assert_eq!(column(of), *expected, "{name}: {what}");
        }
    }
}

#[derive(Deserialize)]
struct Stacks {
    line: u64,
    addresses: Vec<u64>,
    address_distances: Vec<i64>,
    lines: Vec<u64>,
    line_distances: Vec<i64>,
    cache: i64,
    compulsory: usize,
    capacity: usize,
}

fn distances(values: &[u64]) -> Vec<i64> {
    let mut stack = ReuseStack::default();
    let mut positions = [ABSENT; 16];
    let distance = |value: &u64| {
        let position = positions[*value as usize];
        let distance = if position == ABSENT { -1 } else { stack.distance(position).into() };
        stack.touch(*value as u32, position, |value, place| positions[value as usize] = place);
        distance
    };
    values.iter().map(distance).collect()
}

#[test]
fn stack_gives_the_distances_of_table_1() {
    let table: Stacks = toml::from_str(include_str!("tables/table1.toml")).expect("a table");
    assert_eq!(distances(&table.addresses), table.address_distances);
    let lines: Vec<u64> = table.addresses.iter().map(|address| address / table.line).collect();
    assert_eq!(lines, table.lines);
    let found = distances(&lines);
    assert_eq!(found, table.line_distances);
    let count = |of: &dyn Fn(i64) -> bool| found.iter().filter(|distance| of(**distance)).count();
    assert_eq!(count(&|distance| distance == -1), table.compulsory);
    assert_eq!(count(&|distance| distance >= table.cache), table.capacity);
}

#[test]
fn round_robin_gives_table_2() {
    check(include_str!("tables/table2.toml"));
}

#[test]
fn fixed_latencies_give_table_3() {
    check(include_str!("tables/table3.toml"));
}

#[test]
fn conditional_latencies_give_table_4() {
    check(include_str!("tables/table4.toml"));
}

#[test]
fn single_mshr_gives_table_5() {
    check(include_str!("tables/table5.toml"));
}
