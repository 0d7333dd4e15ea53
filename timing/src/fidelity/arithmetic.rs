//! Fidelities of the operand and arithmetic pipeline.

use warp_stream::Unit;

use crate::statistics::Counter;

crate::choice! {
    /// Fidelity of operand collectors, register banks, execution units and result bus.
    pub enum Arithmetic {
        /// Collectors and bank ports, initiation intervals, result slots and write ports.
        Detailed = "detailed",
        /// The fixed latency, the unit's initiation interval and the result slot. Operands are
        /// always read in one cycle.
        Analytical = "analytical",
        /// The fixed latency alone: units and result bus serve every instruction at once.
        Ideal = "ideal",
    }
}

impl Arithmetic {
    /// Tells whether an instruction occupies its unit for the initiation interval.
    pub fn occupies_units(self, unit: Unit) -> bool {
        self != Arithmetic::Ideal || matches!(unit, Unit::Memory | Unit::Texture)
    }

    /// Tells whether the fidelity leaves a counter without value.
    pub fn leaves_out(self, counter: &Counter) -> bool {
        match self {
            Arithmetic::Detailed => false,
            Arithmetic::Analytical => counter.section == "operands" || is_operand_conflict(counter),
            Arithmetic::Ideal => {
                let is_busy_unit = (counter.section, counter.name) == ("issue", "unit_busy");
                counter.section == "operands" || is_operand_conflict(counter) || is_busy_unit
            }
        }
    }
}

fn is_operand_conflict(counter: &Counter) -> bool {
    (counter.section, counter.name) == ("issue", "operand_conflict")
}
