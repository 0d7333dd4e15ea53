//! Rules for every DRAM scheduler, and the behaviour of each.

use super::{Issued, Look, Parameters, Request, Scheduler, SchedulerState, Turn, Waiting};
use crate::specification::GpuSpec;

/// Parameters of a TITAN V with other values of some schedulers.
fn parameters() -> Parameters {
    let changes = ["dram.cap=2", "dram.bliss_streak=2", "dram.bliss_interval=100"];
    GpuSpec::changed("titan-v", changes).unwrap().dram.scheduling
}

/// An access: its age, its row, and the SM that asks.
type Access = (u64, u32, u16);

/// Accesses of each bank, oldest first, and the open rows.
struct Banks {
    accesses: Vec<Vec<Access>>,
    open: Vec<Option<u32>>,
    cycle: u64,
}

impl Waiting for Banks {
    fn occupied(&self) -> u64 {
        let occupied = self.accesses.iter().map(|accesses| u64::from(!accesses.is_empty()));
        (0..).zip(occupied).fold(0, |mask, (bank, bit)| mask | bit << bank)
    }

    fn hits(&self) -> u64 {
        let hit = |bank: u8| self.requests(bank).any(|request| request.hits);
        (0..self.accesses.len() as u8).fold(0, |mask, bank| mask | u64::from(hit(bank)) << bank)
    }

    fn oldest_hits(&self, bank: u8) -> bool {
        self.requests(bank).next().is_some_and(|request| request.hits)
    }

    fn oldest_age(&self, bank: u8) -> u64 {
        self.accesses[usize::from(bank)][0].0
    }

    fn second_request(&self, bank: u8) -> Option<u64> {
        self.accesses[usize::from(bank)].get(1).map(|(age, ..)| *age)
    }

    fn requests(&self, bank: u8) -> impl Iterator<Item = Request> {
        let open = self.open[usize::from(bank)];
        let accesses = self.accesses[usize::from(bank)].iter();
        accesses.map(move |(_, row, source)| Request { source: *source, hits: open == Some(*row) })
    }
}

impl Banks {
    /// With accesses to rows by SMs, as one bank's, and an open row.
    fn one(open: u32, rows: &[(u32, u16)]) -> Banks {
        let accesses = (0..).zip(rows).map(|(age, (row, source))| (age, *row, *source)).collect();
        Banks { accesses: vec![accesses], open: vec![Some(open)], cycle: 0 }
    }

    /// Serves one command of each kind, the oldest bank first; the row of a served access and its
    /// SM.
    fn step(&mut self, scheduler: Scheduler, state: &mut SchedulerState) -> Option<(u32, u16)> {
        self.cycle += 1;
        let spec = parameters();
        let turn = Turn { cycle: self.cycle, limit: scheduler.limit(self) };
        let look = Look { scheduler, spec: &spec, state, waiting: self, turn };
        let (columns, rows, preferred) = (look.columns(), look.rows(), look.preferred());
        assert_eq!(columns & !self.hits(), 0, "{scheduler:?} commands a bank without a hit");
        assert_eq!(rows & !self.occupied(), 0, "{scheduler:?} changes a row for nobody");
        assert_eq!(columns & rows, 0, "{scheduler:?} commands a bank in two ways");
        assert_ne!(columns | rows, 0, "{scheduler:?} stops though accesses wait");
        let first = |banks: u64| match banks & preferred {
            0 => banks,
            first => first,
        };
        let row = (rows != 0).then(|| first(rows).trailing_zeros() as usize);
        let row = row.map(|bank| (bank, look.row_of(bank as u8)));
        let bank = (columns != 0).then(|| first(columns).trailing_zeros() as u8);
        let place = bank.and_then(|bank| look.column_of(bank));
        if let Some((bank, place)) = row {
            self.open[bank] = Some(self.accesses[bank][place].1);
        }
        let number = usize::from(bank?);
        let hits = |access: &Access| self.open[number] == Some(access.1);
        let place = place.or_else(|| self.accesses[number].iter().position(hits))?;
        assert!(hits(&self.accesses[number][place]), "{scheduler:?} reads a row that is not open");
        let (age, row, source) = self.accesses[number].remove(place);
        let issued = Issued {
            cycle: self.cycle,
            bank: bank?,
            oldest: place == 0,
            source,
            line: (row.into(), age as u16),
        };
        state.issued(scheduler, &spec, issued);
        Some((row, source))
    }

    /// Rows and SMs in the order in which accesses are served.
    fn all_served(mut self, scheduler: Scheduler) -> Vec<(u32, u16)> {
        let (mut state, mut served) = (SchedulerState::default(), Vec::new());
        for _ in 0..100 {
            if self.occupied() != 0 {
                served.extend(self.step(scheduler, &mut state));
            }
        }
        served
    }

    /// Rows in the order in which a single bank's accesses, all of one SM, are served.
    fn served(scheduler: Scheduler, open: u32, rows: &[u32]) -> Vec<u32> {
        let rows: Vec<_> = rows.iter().map(|row| (*row, 0)).collect();
        Banks::one(open, &rows).all_served(scheduler).into_iter().map(|(row, _)| row).collect()
    }
}

#[test]
fn every_access_is_served() {
    for &scheduler in Scheduler::ALL {
        let mut rows = Banks::served(scheduler, 1, &[1, 2, 1, 3, 1, 1, 2]);
        rows.sort_unstable();
        assert_eq!(rows, [1, 1, 1, 1, 2, 2, 3], "{scheduler:?}");
    }
}

#[test]
fn accesses_of_several_banks_are_all_served() {
    for &scheduler in Scheduler::ALL {
        let accesses =
            vec![vec![(0, 1, 0), (3, 2, 0)], vec![(1, 5, 1)], vec![], vec![(2, 7, 0), (4, 7, 1), (5, 8, 1)]];
        let banks = Banks { accesses, open: vec![None, Some(5), None, Some(8)], cycle: 0 };
        assert_eq!(banks.all_served(scheduler).len(), 6, "{scheduler:?}");
    }
}

#[test]
fn saved_scheduler_state_is_valid() {
    for &scheduler in Scheduler::ALL {
        let (mut state, mut banks) =
            (SchedulerState::default(), Banks::one(1, &[(1, 0), (1, 0), (1, 0), (2, 1)]));
        (0..3).for_each(|_| _ = banks.step(scheduler, &mut state));
        let written = serde_json::to_string(&state).unwrap();
        let mut read: SchedulerState = serde_json::from_str(&written).unwrap();
        assert_eq!(read.check(&parameters(), 1), Ok(()), "{scheduler:?}");
        let mut same = Banks { accesses: banks.accesses.clone(), open: banks.open.clone(), ..banks };
        assert_eq!(same.step(scheduler, &mut read), banks.step(scheduler, &mut state), "{scheduler:?}");
    }
}

#[test]
fn fcfs_serves_a_bank_in_arrival_order() {
    assert_eq!(Banks::served(Scheduler::Fcfs, 1, &[2, 1, 1, 2]), [2, 1, 1, 2]);
}

#[test]
fn fr_fcfs_serves_all_row_hits_first() {
    assert_eq!(Banks::served(Scheduler::FrFcfs, 1, &[2, 1, 1, 1, 1]), [1, 1, 1, 1, 2]);
}

#[test]
fn cap_bounds_row_hits_ahead_of_an_older_access() {
    assert_eq!(Banks::served(Scheduler::FrFcfsCap, 1, &[2, 1, 1, 1, 1]), [1, 1, 2, 1, 1]);
}

#[test]
fn row_hits_without_older_access_are_not_counted() {
    assert_eq!(Banks::served(Scheduler::FrFcfsCap, 1, &[1, 1, 1, 1, 2]), [1, 1, 1, 1, 2]);
}

/// SMs in the order in which accesses of a bank are served: SM 0 streams through the open row, SM 1
/// wants another row.
fn served_beside_a_stream(scheduler: Scheduler) -> Vec<u16> {
    let rows = [(1, 0), (1, 0), (2, 1), (1, 0), (1, 0), (1, 0), (1, 0)];
    Banks::one(1, &rows).all_served(scheduler).into_iter().map(|(_, source)| source).collect()
}

#[test]
fn bliss_serves_another_sm_after_a_streak() {
    assert_eq!(served_beside_a_stream(Scheduler::Bliss), [0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(served_beside_a_stream(Scheduler::FrFcfs), [0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn bliss_lists_no_source_of_write_backs() {
    let rows = [(1, super::NO_SOURCE); 5].into_iter().chain([(2, 1), (1, super::NO_SOURCE)]);
    let served = Banks::one(1, &rows.collect::<Vec<_>>()).all_served(Scheduler::Bliss);
    assert_eq!(served.last(), Some(&(2, 1)));
}

#[test]
fn bliss_clears_the_blacklist_after_an_interval() {
    let waits = |cycle| {
        let mut state = SchedulerState::default();
        let mut banks = Banks::one(1, &[(1, 0), (1, 0), (1, 0), (2, 1)]);
        (0..2).for_each(|_| _ = banks.step(Scheduler::Bliss, &mut state));
        banks.cycle = cycle;
        banks.step(Scheduler::Bliss, &mut state).is_none()
    };
    assert!(waits(50));
    assert!(!waits(100));
}
