//! Rows that no lane needs at the start of a block: compiled code does not store them there.
//!
//! Liveness is that of the registers along the path of a single lane. An op writes the elements of its own
//! lanes alone, so lanes that wait elsewhere keep theirs.

use std::collections::HashMap;

use ptx_frontend::analyse::{ControlFlow, Liveness};
use ptx_frontend::ir::{Parameter, RegisterId};

use super::rows::Unit;
use crate::bind::rows_of;
use crate::engine::program::{BoundFunction, Program};

/// Bytes of a row of words, and of a unit.
const ROW: u32 = 128;
const UNIT: u32 = 64;

/// A set of a frame's units.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Units(Vec<u64>);

impl Units {
    fn insert(&mut self, unit: u32) {
        let word = unit as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (unit % 64);
    }

    fn remove_all(&mut self, other: &Units) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= !other;
        }
    }

    /// Units of both sets.
    pub(super) fn intersection(&self, other: &Units) -> Units {
        Units(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    /// True if the unit is in the set.
    pub(super) fn contains(&self, unit: Unit) -> bool {
        let Unit::Frame(offset) = unit else { return false };
        let unit = offset / UNIT;
        self.0.get(unit as usize / 64).is_some_and(|word| word >> (unit % 64) & 1 != 0)
    }
}

/// Units of registers that are dead at the first op of a block.
#[derive(Debug, Default)]
pub(super) struct DeadUnits(HashMap<u32, Units>);

impl DeadUnits {
    /// Dead units of all blocks of a program.
    pub(super) fn of(program: &Program) -> DeadUnits {
        let mut dead = DeadUnits::default();
        program.functions.iter().for_each(|function| dead.add(function));
        dead
    }

    /// Units that are dead at op `pc`, if it starts a block.
    pub(super) fn at(&self, pc: u32) -> Option<&Units> {
        self.0.get(&pc)
    }

    fn add(&mut self, function: &BoundFunction) {
        let source = &function.source;
        if function.starts.len() <= source.instructions.len() {
            return;
        }
        let units = |registers: &mut dyn Iterator<Item = RegisterId>| {
            let mut units = Units::default();
            for register in registers {
                let register = register.0 as usize;
                let first = function.rows[register];
                let bytes = rows_of(source.registers[register]) as u32 * ROW;
                (first..first + bytes).step_by(UNIT as usize).for_each(|offset| units.insert(offset / UNIT));
            }
            units
        };
        let flow = ControlFlow::of(source);
        let liveness = Liveness::of(source, &flow);
        let all = units(&mut (0..source.registers.len() as u32).map(RegisterId));
        let passed = source.parameters.iter().chain(&source.returns).flat_map(Parameter::registers);
        let of_callers = units(&mut passed.collect::<Vec<_>>().into_iter());
        for (number, block) in (0..).zip(flow.blocks()) {
            let mut dead = all.clone();
            dead.remove_all(&units(&mut liveness.live_in(ptx_frontend::analyse::BlockId(number))));
            dead.remove_all(&of_callers);
            self.0.insert(function.starts[block.start.0 as usize], dead);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(units: &[u32]) -> Units {
        let mut set = Units::default();
        units.iter().for_each(|unit| set.insert(*unit));
        set
    }

    #[test]
    fn set_names_units_of_the_frame_alone() {
        let units = set(&[3, 200]);
        assert!(units.contains(Unit::Frame(3 * 64)) && units.contains(Unit::Frame(200 * 64)));
        assert!(!units.contains(Unit::Frame(4 * 64)) && !units.contains(Unit::Constant(3 * 64)));
    }

    #[test]
    fn live_units_leave_the_dead_ones() {
        let mut units = set(&[1, 2, 70]);
        units.remove_all(&set(&[2]));
        assert_eq!(units, set(&[1, 70]));
        assert!(units.intersection(&set(&[1, 2])).contains(Unit::Frame(64)));
    }
}
