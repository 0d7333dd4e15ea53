//! The DRAM checker detects each rule violated by one cycle and accepts compliant commands.

use timing::dram::{Checker, Command, CommandKind, DramSpec, RefreshMode, Violation};

use crate::harness::titan_v;

/// A TITAN V without refresh, changed so that a single rule decides.
fn spec(change: impl FnOnce(&mut DramSpec)) -> DramSpec {
    let mut spec = titan_v(|_| ()).dram;
    spec.refresh = RefreshMode::None;
    change(&mut spec);
    spec
}

/// Row of all accesses.
const ROW: u64 = 7;

fn command(kind: CommandKind, bank: u8) -> Command {
    Command { kind, bank, row: ROW }
}

fn activate(bank: u8) -> Command {
    command(CommandKind::Activate, bank)
}

fn precharge(bank: u8) -> Command {
    command(CommandKind::Precharge, bank)
}

fn read(bank: u8) -> Command {
    command(CommandKind::Read, bank)
}

fn write(bank: u8) -> Command {
    command(CommandKind::Write, bank)
}

fn refresh(bank: u8) -> Command {
    command(CommandKind::Refresh, bank)
}

const REFRESH_ALL: Command = Command { kind: CommandKind::RefreshAll, bank: 0, row: 0 };

/// Long after activation.
const LATER: u64 = 60;

/// Violation in a sequence of commands.
fn found(spec: &DramSpec, commands: &[(u64, Command)]) -> Option<Violation> {
    let mut checker = Checker::new(spec);
    commands.iter().for_each(|(cycle, command)| checker.observe(*cycle, *command));
    checker.violation().cloned()
}

/// Asserts that after the legal sequence `before` a command is legal at a cycle but violates the
/// rule one cycle earlier.
#[track_caller]
fn allowed_from(spec: &DramSpec, before: &[(u64, Command)], command: Command, cycle: u64, rule: &str) {
    let with = |cycle| [before, &[(cycle, command)]].concat();
    let violation = Violation { cycle: cycle - 1, command, rule: rule.to_owned() };
    assert_eq!(found(spec, &with(cycle - 1)), Some(violation));
    assert_eq!(found(spec, &with(cycle)), None);
}

/// Asserts that a command violates a rule after `before`, but not with `between` inserted, at any
/// cycle.
#[track_caller]
fn needs(before: &[(u64, Command)], between: &[(u64, Command)], command: Command, rule: &str) {
    let spec = spec(|_| ());
    let cycle = 3 * LATER;
    let violation = Violation { cycle, command, rule: rule.to_owned() };
    assert_eq!(found(&spec, &[before, &[(cycle, command)]].concat()), Some(violation));
    assert_eq!(found(&spec, &[before, between, &[(cycle, command)]].concat()), None);
}

/// Two banks with long-open rows. Banks 0 and 1 are in different groups, 0 and 4 in one.
fn both_open(other: u8) -> Vec<(u64, Command)> {
    vec![(0, activate(0)), (4, activate(other))]
}

#[test]
fn trc_separates_activations_of_a_bank() {
    let spec = spec(|dram| dram.rc = 50);
    let before = [(0, activate(0)), (u64::from(spec.ras), precharge(0))];
    allowed_from(&spec, &before, activate(0), 50, "tRC");
}

#[test]
fn trrd_separates_activations_of_banks() {
    let spec = spec(|_| ());
    allowed_from(&spec, &[(0, activate(0))], activate(1), spec.rrd.into(), "tRRD");
}

#[test]
fn tfaw_holds_four_activations() {
    let spec = spec(|dram| dram.faw = 20);
    let before: Vec<_> = (0..4).map(|bank| (u64::from(spec.rrd * bank), activate(bank as u8))).collect();
    allowed_from(&spec, &before, activate(4), 20, "tFAW");
}

#[test]
fn trcd_separates_activation_and_read() {
    let spec = spec(|_| ());
    allowed_from(&spec, &[(0, activate(0))], read(0), spec.rcd.into(), "tRCD");
}

#[test]
fn trcd_separates_activation_and_write() {
    let spec = spec(|_| ());
    allowed_from(&spec, &[(0, activate(0))], write(0), spec.rcd.into(), "tRCD");
}

#[test]
fn tras_separates_activation_and_precharge() {
    let spec = spec(|_| ());
    allowed_from(&spec, &[(0, activate(0))], precharge(0), spec.ras.into(), "tRAS");
}

#[test]
fn trp_separates_precharge_and_activation() {
    let spec = spec(|_| ());
    let before = [(0, activate(0)), (LATER, precharge(0))];
    allowed_from(&spec, &before, activate(0), LATER + u64::from(spec.rp), "tRP");
}

#[test]
fn trp_separates_precharge_and_per_bank_refresh() {
    let spec = spec(|_| ());
    let before = [(0, activate(0)), (LATER, precharge(0))];
    allowed_from(&spec, &before, refresh(0), LATER + u64::from(spec.rp), "tRP");
}

#[test]
fn trp_separates_precharge_and_all_bank_refresh() {
    let spec = spec(|_| ());
    let before = [(0, activate(3)), (LATER, precharge(3))];
    allowed_from(&spec, &before, REFRESH_ALL, LATER + u64::from(spec.rp), "tRP");
}

#[test]
fn trc_separates_activation_and_per_bank_refresh() {
    let spec = spec(|dram| dram.rc = 50);
    let before = [(0, activate(0)), (u64::from(spec.ras), precharge(0))];
    allowed_from(&spec, &before, refresh(0), 50, "tRC");
}

#[test]
fn trc_separates_activation_and_all_bank_refresh() {
    let spec = spec(|dram| dram.rc = 50);
    let before = [(0, activate(3)), (u64::from(spec.ras), precharge(3))];
    allowed_from(&spec, &before, REFRESH_ALL, 50, "tRC");
}

#[test]
fn trtp_separates_read_and_precharge() {
    let spec = spec(|_| ());
    let before = [(0, activate(0)), (LATER, read(0))];
    allowed_from(&spec, &before, precharge(0), LATER + u64::from(spec.rtp), "tRTP");
}

#[test]
fn twr_separates_write_data_and_precharge() {
    let spec = spec(|_| ());
    let before = [(0, activate(0)), (LATER, write(0))];
    let gap = spec.wl + spec.burst / spec.beats_per_cycle + spec.wr;
    allowed_from(&spec, &before, precharge(0), LATER + u64::from(gap), "tWR");
}

#[test]
fn tccdl_separates_accesses_to_one_bank_group() {
    let spec = spec(|_| ());
    for access in [read, write] {
        let before = [both_open(4), vec![(LATER, access(0))]].concat();
        allowed_from(&spec, &before, access(4), LATER + u64::from(spec.ccd_l), "tCCDL");
    }
}

#[test]
fn tccds_separates_accesses_to_other_bank_groups() {
    let spec = spec(|dram| dram.ccd_s = 3);
    for access in [read, write] {
        let before = [both_open(1), vec![(LATER, access(0))]].concat();
        allowed_from(&spec, &before, access(1), LATER + 3, "tCCDS");
    }
}

#[test]
fn twtr_separates_write_data_and_read() {
    let spec = spec(|_| ());
    let before = [both_open(1), vec![(LATER, write(0))]].concat();
    let gap = spec.wl + spec.burst / spec.beats_per_cycle + spec.wtr;
    allowed_from(&spec, &before, read(1), LATER + u64::from(gap), "tWTR");
}

#[test]
fn trfc_separates_per_bank_refresh_and_activation() {
    let spec = spec(|_| ());
    allowed_from(&spec, &[(0, refresh(0))], activate(0), spec.rfc.into(), "tRFC");
    assert_eq!(found(&spec, &[(0, refresh(0)), (1, activate(1))]), None);
}

#[test]
fn trfc_separates_refreshes_of_a_bank() {
    let spec = spec(|_| ());
    allowed_from(&spec, &[(0, refresh(0))], refresh(0), spec.rfc.into(), "tRFC");
    assert_eq!(found(&spec, &[(0, refresh(0)), (1, refresh(1))]), None);
}

#[test]
fn trfc_separates_all_bank_refresh_and_activation() {
    let spec = spec(|_| ());
    allowed_from(&spec, &[(0, REFRESH_ALL)], activate(3), spec.rfc.into(), "tRFC");
}

#[test]
fn trfc_separates_all_bank_refreshes() {
    let spec = spec(|_| ());
    allowed_from(&spec, &[(0, REFRESH_ALL)], REFRESH_ALL, spec.rfc.into(), "tRFC");
}

#[test]
fn bursts_do_not_overlap_on_the_data_bus() {
    let spec = spec(|dram| dram.ccd_s = 1);
    let burst = u64::from(spec.burst / spec.beats_per_cycle);
    for access in [read, write] {
        let before = [both_open(1), vec![(LATER, access(0))]].concat();
        allowed_from(&spec, &before, access(1), LATER + burst, "data bus");
    }
}

#[test]
fn write_data_follows_read_data_after_the_turnaround() {
    let spec = spec(|_| ());
    let before = [both_open(1), vec![(LATER, read(0))]].concat();
    let end = LATER + u64::from(spec.cl + spec.burst / spec.beats_per_cycle);
    allowed_from(&spec, &before, write(1), end + u64::from(spec.turnaround) - u64::from(spec.wl), "data bus");
}

#[test]
fn command_bus_carries_one_command_a_cycle() {
    let spec = spec(|_| ());
    let before = [(0, activate(0)), (LATER, precharge(0))];
    allowed_from(&spec, &before, activate(1), LATER + 1, "command bus");
    let before = [both_open(1), vec![(LATER, read(0))]].concat();
    assert_eq!(found(&spec, &[before, vec![(LATER, precharge(1))]].concat()), None, "a bus of its own");
}

#[test]
fn row_and_column_commands_share_a_single_bus() {
    let spec = spec(|dram| dram.dual_command_bus = false);
    let before = [both_open(1), vec![(LATER, read(0))]].concat();
    allowed_from(&spec, &before, precharge(1), LATER + 1, "command bus");
}

#[test]
fn refresh_is_postponed_by_at_most_nine_intervals() {
    let spec = spec(|dram| dram.refresh = RefreshMode::PerBank);
    let longest = 9 * u64::from(spec.refi);
    let late = Violation { cycle: longest + 1, command: activate(0), rule: "tREFI".to_owned() };
    assert_eq!(found(&spec, &[(longest + 1, activate(0))]), Some(late));
    assert_eq!(found(&spec, &[(longest, activate(0))]), None);
    assert_eq!(found(&spec, &[(1000, refresh(0)), (longest + 1, activate(0))]), None);
    assert_eq!(found(&spec, &[(1000, REFRESH_ALL), (longest + 1, activate(3))]), None);
    assert!(found(&spec, &[(1000, refresh(1)), (longest + 1, activate(0))]).is_some());
}

#[test]
fn activation_needs_a_closed_bank() {
    let rule = "activation of a bank with an open row";
    needs(&[(0, activate(0))], &[(LATER, precharge(0))], activate(0), rule);
}

#[test]
fn column_command_needs_the_open_row() {
    let rule = "access to a row that is not open";
    for access in [read(0), write(0)] {
        needs(&[], &[(0, activate(0))], access, rule);
        needs(&[(0, activate(0)), (LATER, precharge(0))], &[(2 * LATER, activate(0))], access, rule);
        let other = Command { row: ROW + 1, ..activate(0) };
        let reopened = [(LATER, precharge(0)), (2 * LATER, activate(0))];
        needs(&[(0, other)], &reopened, access, rule);
    }
}

#[test]
fn per_bank_refresh_needs_a_closed_bank() {
    let rule = "refresh of a bank with an open row";
    needs(&[(0, activate(0))], &[(LATER, precharge(0))], refresh(0), rule);
}

#[test]
fn all_bank_refresh_needs_all_banks_closed() {
    let rule = "refresh while a row is open";
    needs(&[(0, activate(3))], &[(LATER, precharge(3))], REFRESH_ALL, rule);
}

#[test]
fn first_violation_is_kept() {
    let spec = spec(|_| ());
    let first = Violation { cycle: 1, command: read(0), rule: "tRCD".to_owned() };
    assert_eq!(found(&spec, &[(0, activate(0)), (1, read(0)), (2, precharge(0))]), Some(first));
}

#[test]
fn resumed_checker_knows_open_rows_and_recent_refreshes() {
    let spec = spec(|dram| dram.refresh = RefreshMode::PerBank);
    let start = 1_000_000;
    let resumed = |cycle, command| {
        let mut checker = Checker::new(&spec);
        checker.resumed(start, (0..spec.banks).map(|bank| (bank == 2).then_some(ROW)));
        checker.observe(cycle, command);
        checker.violation().map(|violation| violation.rule.clone())
    };
    let last = start + 9 * u64::from(spec.refi);
    assert_eq!(resumed(last, read(2)), None);
    assert_eq!(resumed(last + 1, read(2)), Some("tREFI".to_owned()));
    assert_eq!(resumed(last, activate(2)), Some("activation of a bank with an open row".to_owned()));
}
