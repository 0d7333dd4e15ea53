//! Lines that a core has accessed, with their places in all reuse stacks.

use rustc_hash::FxHashMap;

use super::run::MAX_STACKS;
use super::spec::Geometry;
use super::stack::{ABSENT, ReuseStack};

/// Sectors of a line at most.
pub(super) const SECTORS: usize = 4;

/// Distance of a sector that was never fetched.
const NEVER: u32 = u32::MAX;
/// Distance of a sector that a store or an atomic operation has invalidated.
pub(super) const DROPPED: u32 = u32::MAX - 1;

/// A line.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    /// Time at which the sectors in flight take effect.
    pub arrival: u64,
    /// Sectors that were ever requested.
    pub seen: u8,
    /// Sectors in flight.
    pub pending: u8,
    /// Sectors that have arrived at the present time, before their effect on the stacks.
    pub fresh: u8,
    /// Level that serves the sectors in flight.
    pub level: u8,
}

/// Reuse stacks of one number of sets.
#[derive(Debug, Clone)]
struct SetStacks {
    geometry: Geometry,
    sets: Vec<ReuseStack>,
}

/// Distances of a line's sectors in one kind of stacks.
#[derive(Debug, Clone, Copy)]
struct Place {
    position: u32,
    set: u32,
    /// Largest distance of the line since each sector was last accessed.
    away: [u32; SECTORS],
}

/// Lines of a page of the index, as a power of two: neighbours share the host's cache lines.
const PAGE: u32 = 5;

/// Lines of a core.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    /// Page of the index by number of the page's lines.
    index: FxHashMap<u64, u32>,
    /// Index of each line plus one; 0 for none.
    pages: Vec<[u32; 1 << PAGE]>,
    pub lines: Vec<Line>,
    /// Places by line and stacks.
    places: Vec<Place>,
    stacks: Vec<SetStacks>,
}

impl Lines {
    /// No lines, and stacks for each number of sets.
    pub fn new(geometries: &[Geometry]) -> Lines {
        let stacks = |geometry: &Geometry| SetStacks {
            geometry: *geometry,
            sets: vec![ReuseStack::default(); geometry.sets.max(1) as usize],
        };
        Lines {
            index: FxHashMap::default(),
            pages: Vec::new(),
            lines: Vec::new(),
            places: Vec::new(),
            stacks: geometries.iter().map(stacks).collect(),
        }
    }

    /// The line of a number, new or known.
    #[inline]
    pub fn find(&mut self, number: u64) -> u32 {
        let next = self.pages.len() as u32;
        let page = *self.index.entry(number >> PAGE).or_insert(next);
        if page == next {
            self.pages.push([0; 1 << PAGE]);
        }
        let place = (number % (1 << PAGE)) as usize;
        match self.pages[page as usize][place].checked_sub(1) {
            Some(line) => line,
            None => {
                let line = self.add(number);
                self.pages[page as usize][place] = line + 1;
                line
            }
        }
    }

    /// The line of a number, if it is known.
    #[inline]
    pub fn known(&self, number: u64) -> Option<u32> {
        let page = *self.index.get(&(number >> PAGE))?;
        self.pages[page as usize][(number % (1 << PAGE)) as usize].checked_sub(1)
    }

    #[inline(never)]
    fn add(&mut self, number: u64) -> u32 {
        self.lines.push(Line::default());
        for stacks in &self.stacks {
            let sets = stacks.sets.len() as u32;
            let address = number.wrapping_mul(timing::message::LINE_BYTES);
            let set = if sets == 1 { 0 } else { stacks.geometry.index.set(address, sets) };
            self.places.push(Place { position: ABSENT, set, away: [NEVER; SECTORS] });
        }
        self.lines.len() as u32 - 1
    }

    /// Distance of a line in stacks: `None` if it is not there.
    #[inline]
    pub fn distance(&self, line: u32, stacks: usize) -> Option<u32> {
        if self.lines[line as usize].fresh != 0 {
            return Some(0);
        }
        let place = &self.places[line as usize * self.stacks.len() + stacks];
        match place.position {
            ABSENT => None,
            position => Some(self.stacks[stacks].sets[place.set as usize].distance(position)),
        }
    }

    /// Distance of each sector of a line whose own distance is known.
    #[inline]
    pub fn sector_distances(&self, line: u32, stacks: usize, distance: Option<u32>) -> [u32; SECTORS] {
        let Some(distance) = distance else { return self.absent(line, stacks) };
        let away = self.places[line as usize * self.stacks.len() + stacks].away;
        let fresh = self.lines[line as usize].fresh;
        std::array::from_fn(|sector| match fresh >> sector & 1 {
            0 => away[sector].max(distance),
            _ => 0,
        })
    }

    fn absent(&self, line: u32, stacks: usize) -> [u32; SECTORS] {
        let away = self.places[line as usize * self.stacks.len() + stacks].away;
        away.map(|away| if away == DROPPED { DROPPED } else { NEVER })
    }

    /// Moves a line to the top of its stacks; `sectors` are valid from now on. `distances` are those of
    /// the line, if known.
    #[inline]
    pub fn touch(&mut self, line: u32, sectors: u8, distances: Option<&[u32; MAX_STACKS]>) {
        let count = self.stacks.len();
        let first = line as usize * count;
        for number in 0..count {
            let place = self.places[first + number];
            let stack = &mut self.stacks[number].sets[place.set as usize];
            let away = &mut self.places[first + number].away;
            if place.position != ABSENT && sectors != 0xf {
                let distance =
                    distances.map_or_else(|| stack.distance(place.position), |known| known[number]);
                for away in away.iter_mut().filter(|away| **away < DROPPED) {
                    *away = (*away).max(distance);
                }
            }
            for (sector, away) in away.iter_mut().enumerate() {
                if sectors >> sector & 1 != 0 {
                    *away = 0;
                }
            }
            let places = &mut self.places;
            stack.touch(line, place.position, |line, position| {
                places[line as usize * count + number].position = position;
            });
        }
    }

    /// Invalidates sectors of a line.
    pub fn drop_sectors(&mut self, line: u32, sectors: u8) {
        let count = self.stacks.len();
        let first = line as usize * count;
        for place in &mut self.places[first..first + count] {
            for (sector, away) in place.away.iter_mut().enumerate() {
                if sectors >> sector & 1 != 0 && *away != NEVER {
                    *away = DROPPED;
                }
            }
        }
    }
}
