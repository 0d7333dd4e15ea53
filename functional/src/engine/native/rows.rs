//! Contents of the host's vector registers while code is emitted: a cache of the frame's rows.
//!
//! A unit is 64 bytes of a row, which fill one register. Units that differ from memory are dirty. A unit
//! is raw if its NaNs have not yet been replaced by the canonical one: other arithmetic may read it, and
//! nothing else.

use crate::engine::constants::names_constant;

/// Vector registers of the host.
pub(super) const REGISTERS: usize = 32;

/// A vector register of the host, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vector(pub(super) u8);

/// 64 bytes that a register can hold, by their offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Of the frame.
    Frame(u32),
    /// Of the program's constants.
    Constant(u32),
    /// Of the code's own constants.
    Pool(u32),
}

impl Unit {
    /// Unit number `part` of the row at an op's offset.
    pub(super) fn of(row: u32, part: u32) -> Unit {
        match names_constant(row) {
            true => Unit::Constant((row & !(1 << 31)) + part * 64),
            false => Unit::Frame(row + part * 64),
        }
    }
}

/// A cached unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cached {
    pub(super) unit: Unit,
    pub(super) dirty: bool,
    pub(super) raw: bool,
    used: u32,
}

/// Contents of all registers at a place in the code.
pub(super) type Contents = [Option<Cached>; REGISTERS];

/// The cache.
#[derive(Debug)]
pub(super) struct Registers {
    contents: Contents,
    /// Registers that the current op uses.
    busy: u32,
    time: u32,
}

impl Registers {
    /// An empty cache.
    pub(super) fn new() -> Registers {
        Registers { contents: [None; REGISTERS], busy: 0, time: 0 }
    }

    /// Register that holds a unit; it stays until [`Registers::release`].
    pub(super) fn find(&mut self, unit: Unit) -> Option<Vector> {
        let number =
            self.contents.iter().position(|cached| cached.is_some_and(|cached| cached.unit == unit))?;
        self.time += 1;
        if let Some(cached) = &mut self.contents[number] {
            cached.used = self.time;
        }
        self.busy |= 1 << number;
        Some(Vector(number as u8))
    }

    /// A register for a new value, and the unit that leaves it.
    pub(super) fn take(&mut self) -> (Vector, Option<Cached>) {
        let free = |number: &usize| self.busy >> number & 1 == 0;
        let age = |number: &usize| self.contents[*number].map_or(0, |cached| cached.used + 1);
        // An op uses far fewer registers than the host has.
        let number = (0..REGISTERS).filter(free).min_by_key(age).unwrap_or_default();
        self.busy |= 1 << number;
        (Vector(number as u8), self.contents[number].take())
    }

    /// Makes a register hold a unit.
    pub(super) fn hold(&mut self, register: Vector, unit: Unit, dirty: bool, raw: bool) {
        for cached in &mut self.contents {
            if cached.is_some_and(|cached| cached.unit == unit) {
                *cached = None;
            }
        }
        self.time += 1;
        self.contents[register.0 as usize] = Some(Cached { unit, dirty, raw, used: self.time });
    }

    /// Cached unit of a register.
    pub(super) fn cached(&mut self, register: Vector) -> Option<&mut Cached> {
        self.contents[register.0 as usize].as_mut()
    }

    /// Ends the current op's use of registers.
    pub(super) fn release(&mut self) {
        self.busy = 0;
    }

    /// Contents of all registers.
    pub(super) fn contents(&self) -> Contents {
        self.contents
    }

    /// Notes that all units equal memory.
    pub(super) fn note_flushed(&mut self) {
        for cached in self.contents.iter_mut().flatten() {
            (cached.dirty, cached.raw) = (false, false);
        }
    }

    /// Takes units out of the cache that are not needed any more.
    pub(super) fn drop_units(&mut self, is_dead: impl Fn(Unit) -> bool) {
        for cached in &mut self.contents {
            if cached.is_some_and(|cached| is_dead(cached.unit)) {
                *cached = None;
            }
        }
    }

    /// Empties the cache.
    pub(super) fn forget(&mut self) {
        self.contents = [None; REGISTERS];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_unit_leaves_first() {
        let mut registers = Registers::new();
        for number in 0..REGISTERS as u32 {
            let (register, left) = registers.take();
            assert!(left.is_none());
            registers.hold(register, Unit::Frame(number * 64), true, false);
            registers.release();
        }
        assert!(registers.find(Unit::Frame(0)).is_some());
        assert_eq!(registers.take().1.map(|cached| cached.unit), Some(Unit::Frame(64)));
    }

    #[test]
    fn units_in_use_never_leave() {
        let mut registers = Registers::new();
        let taken: Vec<Vector> = (0..REGISTERS - 1).map(|_| registers.take().0).collect();
        assert!(!taken.contains(&registers.take().0));
    }

    #[test]
    fn unit_has_one_register() {
        let mut registers = Registers::new();
        for _ in 0..2 {
            let register = registers.take().0;
            registers.hold(register, Unit::Frame(64), true, false);
        }
        assert_eq!(registers.contents().iter().flatten().count(), 1);
    }
}
