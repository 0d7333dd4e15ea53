//! Independent checker of command streams: it knows the timing table and the past commands but not
//! the scheduler.

use super::{Command, CommandKind, DramSpec, RefreshMode};

/// A command that violates a timing rule or the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Cycle of the command.
    pub cycle: u64,
    /// The command.
    pub command: Command,
    /// The rule under its JEDEC name.
    pub rule: String,
}

/// Banks to which a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Bank,
    Group,
    Channel,
}

/// Minimum gap between two commands.
#[derive(Debug, Clone)]
struct Rule {
    name: String,
    first: CommandKind,
    second: CommandKind,
    scope: Scope,
    gap: u64,
}

/// Checks a channel's commands and keeps the first violation.
#[derive(Debug, Clone)]
pub struct Checker {
    rules: Vec<Rule>,
    groups: u32,
    dual_bus: bool,
    faw: u64,
    burst: u64,
    latencies: (u64, u64),
    turnaround: u64,
    refresh: RefreshMode,
    /// Longest interval between refreshes of a bank: nine times tREFI, since eight may be
    /// postponed.
    longest: u64,
    /// By bank: open row and the last command of each kind.
    rows: Vec<Option<u64>>,
    last: Vec<[Option<u64>; 6]>,
    refreshed: Vec<u64>,
    activations: Vec<u64>,
    /// Last commands on the row bus and the column bus.
    buses: [Option<u64>; 2],
    /// End of the last data on the bus, and whether it was a write.
    data: (u64, bool),
    violation: Option<Violation>,
}

impl Checker {
    /// A checker without past commands.
    pub fn new(spec: &DramSpec) -> Checker {
        use CommandKind::{Activate, Precharge, Read, Refresh, RefreshAll, Write};
        use Scope::{Bank, Channel, Group};
        let burst = spec.burst / spec.beats_per_cycle;
        let rule = |(name, first, second, scope, gap): (&str, _, _, _, u32)| Rule {
            name: name.to_owned(),
            first,
            second,
            scope,
            gap: u64::from(gap),
        };
        let rules = [
            ("tRC", Activate, Activate, Bank, spec.rc),
            ("tRRD", Activate, Activate, Channel, spec.rrd),
            ("tRCD", Activate, Read, Bank, spec.rcd),
            ("tRCD", Activate, Write, Bank, spec.rcd),
            ("tRAS", Activate, Precharge, Bank, spec.ras),
            ("tRP", Precharge, Activate, Bank, spec.rp),
            ("tRP", Precharge, Refresh, Bank, spec.rp),
            ("tRP", Precharge, RefreshAll, Channel, spec.rp),
            ("tRC", Activate, Refresh, Bank, spec.rc),
            ("tRC", Activate, RefreshAll, Channel, spec.rc),
            ("tRTP", Read, Precharge, Bank, spec.rtp),
            ("tWR", Write, Precharge, Bank, spec.wl + burst + spec.wr),
            ("tCCDL", Read, Read, Group, spec.ccd_l),
            ("tCCDL", Write, Write, Group, spec.ccd_l),
            ("tCCDS", Read, Read, Channel, spec.ccd_s),
            ("tCCDS", Write, Write, Channel, spec.ccd_s),
            ("tWTR", Write, Read, Channel, spec.wl + burst + spec.wtr),
            ("tRFC", Refresh, Activate, Bank, spec.rfc),
            ("tRFC", Refresh, Refresh, Bank, spec.rfc),
            ("tRFC", RefreshAll, Activate, Channel, spec.rfc),
            ("tRFC", RefreshAll, RefreshAll, Channel, spec.rfc),
        ];
        let banks = spec.banks as usize;
        Checker {
            rules: rules.into_iter().map(rule).collect(),
            groups: spec.bank_groups,
            dual_bus: spec.dual_command_bus,
            faw: u64::from(spec.faw),
            burst: u64::from(burst),
            latencies: (u64::from(spec.cl), u64::from(spec.wl)),
            turnaround: u64::from(spec.turnaround),
            refresh: spec.refresh,
            longest: 9 * u64::from(spec.refi),
            rows: vec![None; banks],
            last: vec![[None; 6]; banks],
            refreshed: vec![0; banks],
            activations: Vec::new(),
            buses: [None; 2],
            data: (0, false),
            violation: None,
        }
    }

    /// The first violation.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Resumes at a cycle with these open rows.
    pub fn resumed(&mut self, cycle: u64, rows: impl Iterator<Item = Option<u64>>) {
        self.rows = rows.collect();
        self.rested(cycle);
    }

    /// Skips an idle period with regular refreshes, up to a cycle.
    pub fn rested(&mut self, cycle: u64) {
        self.refreshed.fill(cycle);
    }

    /// Checks a command.
    pub fn observe(&mut self, cycle: u64, command: Command) {
        let broken = self
            .gap(cycle, &command)
            .or_else(|| self.state(&command))
            .or_else(|| self.four_activations(cycle, &command))
            .or_else(|| self.command_bus(cycle, &command))
            .or_else(|| self.data_bus(cycle, &command))
            .or_else(|| self.unrefreshed(cycle, &command));
        if let (Some(rule), None) = (broken, &self.violation) {
            self.violation = Some(Violation { cycle, command, rule });
        }
        self.remember(cycle, &command);
    }

    fn gap(&self, cycle: u64, command: &Command) -> Option<String> {
        let bank = usize::from(command.bank);
        let group = |bank: usize| bank % self.groups as usize;
        let broken = |rule: &&Rule| {
            let within = |other: &usize| match rule.scope {
                Scope::Bank => *other == bank,
                Scope::Group => group(*other) == group(bank),
                Scope::Channel => true,
            };
            let first = |other: usize| self.last[other][rule.first as usize];
            let firsts = (0..self.last.len()).filter(within).filter_map(first);
            rule.second == command.kind && firsts.max().is_some_and(|first| cycle < first + rule.gap)
        };
        self.rules.iter().find(broken).map(|rule| rule.name.clone())
    }

    fn state(&self, command: &Command) -> Option<String> {
        let row = self.rows[usize::from(command.bank)];
        let wrong = match command.kind {
            CommandKind::Activate => row.is_some().then_some("activation of a bank with an open row"),
            CommandKind::Read | CommandKind::Write => {
                (row != Some(command.row)).then_some("access to a row that is not open")
            }
            CommandKind::Refresh => row.is_some().then_some("refresh of a bank with an open row"),
            CommandKind::RefreshAll => {
                self.rows.iter().any(Option::is_some).then_some("refresh while a row is open")
            }
            CommandKind::Precharge => None,
        };
        wrong.map(str::to_owned)
    }

    fn four_activations(&self, cycle: u64, command: &Command) -> Option<String> {
        let within = self.activations.iter().filter(|activation| **activation + self.faw > cycle);
        (command.kind == CommandKind::Activate && within.count() >= 4).then(|| "tFAW".to_owned())
    }

    fn command_bus(&self, cycle: u64, command: &Command) -> Option<String> {
        self.buses[self.bus(command)].is_some_and(|last| last >= cycle).then(|| "command bus".to_owned())
    }

    fn bus(&self, command: &Command) -> usize {
        usize::from(self.dual_bus && command.kind.is_column())
    }

    /// First cycle of a command's data, and whether it is a write.
    fn data_of(&self, cycle: u64, command: &Command) -> Option<(u64, bool)> {
        match command.kind {
            CommandKind::Read => Some((cycle + self.latencies.0, false)),
            CommandKind::Write => Some((cycle + self.latencies.1, true)),
            _ => None,
        }
    }

    fn data_bus(&self, cycle: u64, command: &Command) -> Option<String> {
        let (start, written) = self.data_of(cycle, command)?;
        let (end, before) = self.data;
        let gap = if written && !before && end > 0 { self.turnaround } else { 0 };
        (start < end + gap).then(|| "data bus".to_owned())
    }

    fn unrefreshed(&self, cycle: u64, command: &Command) -> Option<String> {
        let since = self.refreshed[usize::from(command.bank)];
        (self.refresh != RefreshMode::None && cycle > since + self.longest).then(|| "tREFI".to_owned())
    }

    fn remember(&mut self, cycle: u64, command: &Command) {
        let bank = usize::from(command.bank);
        self.last[bank][command.kind as usize] = Some(cycle);
        let bus = self.bus(command);
        self.buses[bus] = Some(cycle);
        if let Some((start, written)) = self.data_of(cycle, command) {
            self.data = (start + self.burst, written);
        }
        match command.kind {
            CommandKind::Activate => {
                self.rows[bank] = Some(command.row);
                self.activations.retain(|activation| activation + self.faw > cycle);
                self.activations.push(cycle);
            }
            CommandKind::Precharge => self.rows[bank] = None,
            CommandKind::Refresh => self.refreshed[bank] = cycle,
            CommandKind::RefreshAll => self.refreshed.fill(cycle),
            CommandKind::Read | CommandKind::Write => {}
        }
    }
}
