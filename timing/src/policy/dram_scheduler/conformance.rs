//! Rules for every DRAM scheduler, and the behaviour of each.

use super::{Parameters, Scheduler, SchedulerState, Waiting};

const PARAMETERS: Parameters = Parameters { cap: 2 };

/// Rows of the accesses of each bank, oldest first, with their ages; and the open rows.
struct Banks {
    accesses: Vec<Vec<(u64, u32)>>,
    open: Vec<Option<u32>>,
}

impl Waiting for Banks {
    fn occupied(&self) -> u64 {
        let occupied = self.accesses.iter().map(|accesses| u64::from(!accesses.is_empty()));
        (0..).zip(occupied).fold(0, |mask, (bank, bit)| mask | bit << bank)
    }

    fn hits(&self) -> u64 {
        let hit = |bank: usize| self.accesses[bank].iter().any(|(_, row)| self.open[bank] == Some(*row));
        (0..self.accesses.len()).fold(0, |mask, bank| mask | u64::from(hit(bank)) << bank)
    }

    fn oldest_hits(&self, bank: u8) -> bool {
        self.accesses[usize::from(bank)].first().map(|(_, row)| *row) == self.open[usize::from(bank)]
    }

    fn oldest_age(&self, bank: u8) -> u64 {
        self.accesses[usize::from(bank)][0].0
    }

    fn second_request(&self, bank: u8) -> Option<u64> {
        self.accesses[usize::from(bank)].get(1).map(|(age, _)| *age)
    }
}

impl Banks {
    /// Serves one command of each kind, the oldest bank first; the row of a served access.
    fn step(&mut self, scheduler: Scheduler, state: &mut SchedulerState) -> Option<u32> {
        let limit = scheduler.limit(self);
        let columns = scheduler.columns(&PARAMETERS, state, self, limit);
        let rows = scheduler.rows(&PARAMETERS, state, self, limit);
        assert_eq!(columns & !self.hits(), 0, "{scheduler:?} commands a bank without a hit");
        assert_eq!(rows & !self.occupied(), 0, "{scheduler:?} changes a row for nobody");
        assert_eq!(columns & rows, 0, "{scheduler:?} commands a bank in two ways");
        assert_ne!(columns | rows, 0, "{scheduler:?} stops though accesses wait");
        if rows != 0 {
            let bank = rows.trailing_zeros() as usize;
            self.open[bank] = Some(self.accesses[bank][0].1);
        }
        let bank = (columns != 0).then(|| columns.trailing_zeros() as u8)?;
        let place = usize::from(bank);
        let hit = self.accesses[place].iter().position(|(_, row)| self.open[place] == Some(*row))?;
        scheduler.issued(state, bank, hit == 0);
        Some(self.accesses[place].remove(hit).1)
    }

    /// Rows in the order in which a single bank's accesses are served.
    fn served(scheduler: Scheduler, open: u32, rows: &[u32]) -> Vec<u32> {
        let accesses = vec![(0..).zip(rows.iter().copied()).collect()];
        let mut banks = Banks { accesses, open: vec![Some(open)] };
        let (mut state, mut served) = (SchedulerState::default(), Vec::new());
        for _ in 0..4 * rows.len() {
            if banks.occupied() != 0 {
                served.extend(banks.step(scheduler, &mut state));
            }
        }
        served
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
        let accesses = vec![vec![(0, 1), (3, 2)], vec![(1, 5)], vec![], vec![(2, 7), (4, 7), (5, 8)]];
        let mut banks = Banks { accesses, open: vec![None, Some(5), None, Some(8)] };
        let (mut state, mut served) = (SchedulerState::default(), 0);
        for _ in 0..40 {
            if banks.occupied() != 0 {
                served += usize::from(banks.step(scheduler, &mut state).is_some());
            }
        }
        assert_eq!(served, 6, "{scheduler:?}");
    }
}

#[test]
fn fcfs_serves_a_bank_in_the_order_of_arrival() {
    assert_eq!(Banks::served(Scheduler::Fcfs, 1, &[2, 1, 1, 2]), [2, 1, 1, 2]);
}

#[test]
fn fr_fcfs_serves_all_row_hits_first() {
    assert_eq!(Banks::served(Scheduler::FrFcfs, 1, &[2, 1, 1, 1, 1]), [1, 1, 1, 1, 2]);
}

#[test]
fn the_cap_bounds_how_many_hits_pass_an_older_access() {
    assert_eq!(Banks::served(Scheduler::FrFcfsCap, 1, &[2, 1, 1, 1, 1]), [1, 1, 2, 1, 1]);
}

#[test]
fn hits_that_pass_nobody_are_not_counted() {
    assert_eq!(Banks::served(Scheduler::FrFcfsCap, 1, &[1, 1, 1, 1, 2]), [1, 1, 1, 1, 2]);
}
