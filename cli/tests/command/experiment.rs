//! `voltsim experiment`: each experiment runs once, with arrays just large enough for the paper's
//! result, in direction and rough size. The command's help names the papers.

use std::sync::LazyLock;

use super::Workplace;

/// The table that an experiment prints. Columns are two spaces apart.
struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Runs the experiment with arrays of so many elements.
    fn of(experiment: &str, elements: &str) -> Table {
        super::launches::libraries();
        let outcome = Workplace::new().voltsim(&["experiment", experiment, "--elements", elements]);
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        let cells = |line: &str| -> Vec<String> {
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
        };
        // The text around the table has one column.
        let mut lines = outcome.stdout.lines().map(cells).filter(|cells| cells.len() > 1);
        let heading = lines.next().unwrap();
        let rows: Vec<_> = lines.collect();
        assert!(!rows.is_empty() && rows.iter().all(|row| row.len() == heading.len()), "{}", outcome.stdout);
        Table { heading, rows }
    }

    /// A column's cells, from top to bottom.
    fn cells(&self, column: &str) -> Vec<&str> {
        let found = self.heading.iter().position(|name| name == column);
        let number = found.ok_or((column, &self.heading)).unwrap();
        self.rows.iter().map(|row| row[number].as_str()).collect()
    }

    /// The numbers that a column's cells begin with.
    fn numbers(&self, column: &str) -> Vec<f64> {
        let number = |cell: &str| cell.split(' ').next().and_then(|number| number.parse().ok());
        self.cells(column).into_iter().map(|cell| number(cell).ok_or(cell).unwrap()).collect()
    }

    /// The number in the row that begins with a name.
    fn number(&self, row: &str, column: &str) -> f64 {
        let found = self.rows.iter().position(|cells| cells[0] == row);
        self.numbers(column)[found.ok_or((row, &self.rows)).unwrap()]
    }
}

static COALESCER: LazyLock<Table> = LazyLock::new(|| Table::of("coalescer", "65536"));
static WRITE_POLICY: LazyLock<Table> = LazyLock::new(|| Table::of("l2-write-policy", "65536"));
// Arrays that do not fit L2 together.
static SCHEDULERS: LazyLock<Table> = LazyLock::new(|| Table::of("frfcfs", "524288"));
static CONTENTION: LazyLock<Table> = LazyLock::new(|| Table::of("l1-contention", "65536"));
static STREAM: LazyLock<Table> = LazyLock::new(|| Table::of("stream", "1048576"));
static FRONT_END: LazyLock<Table> = LazyLock::new(|| Table::of("frontend", "65536"));

#[test]
fn new_coalescer_makes_an_access_per_line_or_eight_lanes() {
    let accesses =
        COALESCER.numbers("stride").iter().map(|lanes| (32.0 / lanes).max(4.0)).collect::<Vec<_>>();
    assert_eq!(accesses, [32.0, 16.0, 8.0, 4.0, 4.0, 4.0]);
    assert_eq!(COALESCER.numbers("reads"), accesses);
    assert_eq!(COALESCER.numbers("writes"), accesses);
}

#[test]
fn the_old_coalescer_makes_an_access_for_each_line() {
    let lines = COALESCER.numbers("stride").iter().map(|lanes| 32.0 / lanes).collect::<Vec<_>>();
    assert_eq!(COALESCER.numbers("lines read by the old model"), lines);
}

/// Outcome of each access, with the number of fetched sectors.
fn outcomes(policy: &str) -> Vec<(&'static str, u32)> {
    let outcome = |cell: &'static str| {
        let (outcome, fetched) = cell.split_once(" (").unwrap();
        (outcome, fetched.trim_end_matches(')').parse().unwrap())
    };
    WRITE_POLICY.cells(policy).into_iter().map(outcome).collect()
}

#[test]
fn lazy_fetch_fetches_at_the_first_read_of_a_partial_sector() {
    let outcomes = outcomes("lazy fetch on read");
    let hits: Vec<&str> = outcomes.iter().map(|(outcome, _)| *outcome).collect();
    assert_eq!(hits, ["miss", "hit", "miss", "hit", "hit"]);
    let fetches: Vec<bool> = outcomes.iter().map(|(_, fetched)| *fetched > 0).collect();
    assert_eq!(fetches, [false, false, true, false, false]);
}

#[test]
fn fetch_on_write_fetches_at_writes_and_never_misses_reads() {
    let outcomes = outcomes("fetch on write");
    assert!(outcomes[0].0 == "miss" && outcomes[0].1 > 0, "{outcomes:?}");
    assert!(outcomes[1..].iter().all(|access| *access == ("hit", 0)), "{outcomes:?}");
}

#[test]
fn write_validate_never_fetches() {
    assert!(outcomes("write validate").iter().all(|(_, fetched)| *fetched == 0));
}

#[test]
fn fr_fcfs_is_worth_up_to_a_third_on_average_in_the_old_model() {
    let mean = SCHEDULERS.number("mean", "old model");
    assert!((1.02..1.33).contains(&mean), "{mean}");
}

#[test]
fn fr_fcfs_is_worth_several_times_as_much_in_the_new_model() {
    let [old, new] = ["old model", "new model"].map(|model| SCHEDULERS.number("mean", model) - 1.0);
    assert!(new > 0.3 && new > 3.0 * old, "{old} {new}");
}

#[test]
fn fr_fcfs_doubles_the_speed_of_a_stream_in_the_new_model() {
    let gain = SCHEDULERS.number("triad", "new model");
    assert!((1.7..2.5).contains(&gain), "{gain}");
}

#[test]
fn old_l1_fails_to_reserve_in_over_a_tenth_of_its_cycles() {
    for kernel in ["triad", "gather", "rows", "stencil"] {
        let failures = CONTENTION.number(kernel, "old model");
        assert!(failures > 100.0, "{kernel}: {failures}");
    }
}

#[test]
fn the_new_l1_never_fails_to_reserve() {
    assert_eq!(CONTENTION.numbers("new model"), [0.0; 5]);
}

/// Percent of DRAM's peak on 80, 24 and 12 SMs, with L1 and without.
fn stream(model: &str) -> [[f64; 2]; 3] {
    let [on, off] = ["on", "off"].map(|l1| STREAM.numbers(&format!("{model}, L1 {l1}")));
    [0, 1, 2].map(|row| [on[row], off[row]])
}

#[test]
fn stream_is_as_fast_with_the_new_l1_as_without() {
    for [on, off] in stream("new") {
        assert!((on / off - 1.0).abs() < 0.12, "{on} {off}");
    }
}

#[test]
fn stream_is_slower_with_the_old_l1_than_without() {
    for [on, off] in stream("old") {
        assert!(on < 0.9 * off, "{on} {off}");
    }
}

#[test]
fn stream_collapses_in_the_old_model() {
    let most = [0.5, 0.5, 0.6];
    for (([old, _], [new, _]), most) in stream("old").into_iter().zip(stream("new")).zip(most) {
        assert!(old < most * new, "{old} {new}");
    }
}

#[test]
fn stream_has_most_of_the_cards_bandwidth_in_the_new_model() {
    for ([new, _], card) in stream("new").into_iter().zip(STREAM.numbers("paper's card")) {
        assert!((0.7..1.1).contains(&(new / card)), "{new} {card}");
    }
}

#[test]
fn stream_keeps_most_of_its_bandwidth_as_sms_are_taken_away() {
    let [[all, _], [some, _], [few, _]] = stream("new");
    assert!(all > some && some > few && few > 0.6 * all, "{all} {some} {few}");
}

/// How much an organisation changes a kernel's cycles, in percent.
fn change(kernel: &str, organisation: &str) -> f64 {
    FRONT_END.number(kernel, organisation).abs()
}

/// The most that it changes those of any kernel.
fn greatest(organisation: &str) -> f64 {
    FRONT_END.numbers(organisation).into_iter().map(f64::abs).fold(0.0, f64::max)
}

#[test]
fn l0_instruction_cache_misses_more_often_with_long_code() {
    let factors = FRONT_END.numbers("misses x");
    assert!(factors.iter().all(|factor| *factor >= 1.0), "{factors:?}");
    assert!(FRONT_END.number("long_code", "misses x") > 2.0, "{factors:?}");
}

#[test]
fn only_the_sub_core_front_end_slows_long_code_down() {
    let slower = FRONT_END.number("long_code", "front end");
    let others = ["result bus", "memory pipeline"].map(|organisation| change("long_code", organisation));
    assert!(slower > 2.0 && others.iter().all(|change| *change < 0.5), "{slower} {others:?}");
}

#[test]
fn the_result_bus_changes_least() {
    let most = greatest("result bus");
    assert!(most < greatest("front end") && most < greatest("memory pipeline"), "{most}");
}

#[test]
fn sub_core_memory_pipeline_speeds_shared_loads_up() {
    let faster = -FRONT_END.number("multiply", "memory pipeline");
    assert!(faster > 2.0, "{faster}");
}

#[test]
fn arrays_that_are_too_small_are_refused() {
    let outcome = Workplace::new().voltsim(&["experiment", "stream", "--elements", "1000"]);
    assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("a power of two from 65536"), "{}", outcome.stderr);
}

#[test]
fn cache_model_experiment_has_six_points_and_errors() {
    let outcome = Workplace::new().voltsim(&["experiment", "cache-model"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    for name in ["32 ", "1024 ", "mean error", "largest error", "without MSHRs"] {
        assert!(outcome.stdout.contains(name), "{}", outcome.stdout);
    }
}
