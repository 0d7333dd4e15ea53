//! Counters of an SM, by unit.

use serde::{Deserialize, Serialize};
use warp_stream::{LaneMask, OperationClass, WARP_SIZE};

use super::front_end::FrontEndCounters;
use super::memory::MemoryCounters;
use super::operands::OperandCounters;
use crate::statistics::saved::Name;
use crate::statistics::{Counter, Counters};

crate::counters! {
    /// An SM as a whole.
    pub struct ActivityCounters in "sm" {
        /// Cycles in which the SM had a CTA.
        active_cycles: "cycles" = "sm__cycles_active.sum",
        /// Resident warps, summed over cycles.
        warp_cycles: "warps x cycles" = "sm__warps_active.sum",
        /// CTAs started.
        ctas: "CTAs" = "sm__ctas_launched.sum",
        /// Warps started.
        warps: "warps" = "sm__warps_launched.sum",
        /// Warp instructions executed.
        warp_instructions: "instructions" = "smsp__inst_executed.sum",
        /// PTX instructions covered by the executed warp instructions; code without PTX adds none.
        ptx_instructions: "instructions" = "",
        /// Thread instructions: warp instructions times their active lanes.
        thread_instructions: "instructions" = "smsp__thread_inst_executed_pred_on.sum",
    }
}

crate::counters! {
    /// Issue slots of sub-cores whose SM had a CTA, by outcome.
    pub struct IssueCounters in "issue" {
        /// An instruction was issued.
        issued: "slots" = "smsp__inst_issued.sum",
        /// Every warp with instructions waited for a fixed-latency result.
        scoreboard: "slots" = "",
        /// Every warp with instructions waited for memory.
        long_scoreboard: "slots" = "",
        /// Warps waited for instructions or for a branch.
        instruction_fetch: "slots" = "",
        /// A warp was ready, but its execution unit was busy.
        unit_busy: "slots" = "",
        /// A warp was ready, but no operand collector was free.
        operand_conflict: "slots" = "",
        /// Warps waited at a barrier.
        barrier: "slots" = "",
        /// A warp was ready, but the queue to the memory pipeline was full.
        memory_throttle: "slots" = "",
        /// A warp was ready, but the warp scheduler held its load back.
        held_load: "slots" = "",
        /// Warps slept.
        sleep: "slots" = "",
        /// No warp was resident.
        idle: "slots" = "",
    }
}

/// Outcome of an issue slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IssueStall {
    /// Waits for a fixed-latency result.
    Scoreboard,
    /// Waits for memory.
    LongScoreboard,
    /// Waits for instructions.
    InstructionFetch,
    /// Execution unit busy.
    UnitBusy,
    /// No free operand collector.
    OperandConflict,
    /// Waits for other warps.
    Barrier,
    /// Memory queue full.
    MemoryThrottle,
    /// The warp scheduler holds loads back.
    HeldLoad,
    /// Warps sleep.
    Sleep,
    /// No resident warp.
    Idle,
}

impl IssueCounters {
    /// Counts empty slots.
    pub(super) fn count(&mut self, slot: IssueStall, slots: u64) {
        *match slot {
            IssueStall::Scoreboard => &mut self.scoreboard,
            IssueStall::LongScoreboard => &mut self.long_scoreboard,
            IssueStall::InstructionFetch => &mut self.instruction_fetch,
            IssueStall::UnitBusy => &mut self.unit_busy,
            IssueStall::OperandConflict => &mut self.operand_conflict,
            IssueStall::Barrier => &mut self.barrier,
            IssueStall::MemoryThrottle => &mut self.memory_throttle,
            IssueStall::HeldLoad => &mut self.held_load,
            IssueStall::Sleep => &mut self.sleep,
            IssueStall::Idle => &mut self.idle,
        } += slots;
    }

    /// Total slots.
    pub fn slots(&self) -> u64 {
        let mut sum = 0;
        self.each(&mut |_, slots| sum += slots);
        sum
    }
}

/// Defines a table of counters of one kind.
macro_rules! table {
    ($name:ident, $section:literal, $unit:literal, $meaning:literal, [$($entry:literal)*]) => {
        static $name: &[Counter] =
            &[$(Counter::sum($section, $entry, $unit, $meaning),)*];
    };
}

table!(LANES, "lanes", "instructions", "Warp instructions by number of active lanes.", [
    "w0" "w1" "w2" "w3" "w4" "w5" "w6" "w7" "w8" "w9" "w10" "w11" "w12" "w13" "w14" "w15" "w16" "w17" "w18"
    "w19" "w20" "w21" "w22" "w23" "w24" "w25" "w26" "w27" "w28" "w29" "w30" "w31" "w32"
]);

/// Names of [`OperationClass::ALL`].
macro_rules! class_table {
    ($name:ident, $section:literal, $meaning:literal) => {
        table!($name, $section, "instructions", $meaning, [
            "integer" "move" "integer_multiply" "integer_extremum" "dot_product" "population_count" "bit_search"
            "fp32" "fp32_compare" "half" "fp64" "fp64_compare" "special_function" "conversion" "wide_conversion"
            "tensor" "tensor_integer" "vote" "shuffle" "special_register" "load_constant" "load" "store"
            "atomic" "reduction" "texture" "surface" "branch" "exit" "barrier" "warp_barrier" "fence" "nothing"
        ]);
    };
}

class_table!(WARP_CLASSES, "warp_instructions", "Warp instructions by class.");
class_table!(THREAD_CLASSES, "thread_instructions", "Thread instructions by class.");

/// Instructions by class and by number of active lanes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionCounters {
    /// Warp instructions by number of active lanes, 0 to 32.
    pub lanes: Vec<u64>,
    /// Warp instructions by class.
    pub warp: Vec<u64>,
    /// Thread instructions by class.
    pub thread: Vec<u64>,
}

impl Default for InstructionCounters {
    fn default() -> InstructionCounters {
        let classes = OperationClass::ALL.len();
        InstructionCounters {
            lanes: vec![0; WARP_SIZE + 1],
            warp: vec![0; classes],
            thread: vec![0; classes],
        }
    }
}

impl InstructionCounters {
    /// Counts an issued instruction.
    pub(super) fn count(&mut self, class: OperationClass, active: LaneMask) {
        let lanes = active.count_ones();
        self.lanes[lanes as usize] += 1;
        self.warp[class as usize] += 1;
        self.thread[class as usize] += u64::from(lanes);
    }

    /// Name of a class, as in the counters.
    pub fn class_name(class: OperationClass) -> &'static str {
        WARP_CLASSES.get(class as usize).map_or("", |counter| counter.name)
    }

    fn tables(&self) -> [(&'static [Counter], &Vec<u64>); 3] {
        [(LANES, &self.lanes), (WARP_CLASSES, &self.warp), (THREAD_CLASSES, &self.thread)]
    }
}

impl Counters for InstructionCounters {
    fn each(&self, tell: &mut dyn FnMut(&'static Counter, u64)) {
        for (counters, values) in self.tables() {
            counters.iter().zip(values).for_each(|(counter, &value)| tell(counter, value));
        }
    }

    fn add(&mut self, other: &InstructionCounters) {
        let own = [&mut self.lanes, &mut self.warp, &mut self.thread];
        for (own, (_, other)) in own.into_iter().zip(other.tables()) {
            own.iter_mut().zip(other).for_each(|(own, other)| *own += other);
        }
    }

    fn restart(&mut self) {}

    fn load(&mut self, read: &mut dyn FnMut(Name) -> u64) {
        let tables =
            [(LANES, &mut self.lanes), (WARP_CLASSES, &mut self.warp), (THREAD_CLASSES, &mut self.thread)];
        for (counters, values) in tables {
            let read = counters.iter().map(|counter| read(Name::of(counter)));
            values.iter_mut().zip(read).for_each(|(value, read)| *value = read);
        }
    }
}

/// All counters of an SM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmCounters {
    /// SM as a whole.
    pub activity: ActivityCounters,
    /// Issue slots.
    pub issue: IssueCounters,
    /// Instructions by class and active lanes.
    pub instructions: InstructionCounters,
    /// Front end.
    pub front_end: FrontEndCounters,
    /// Operand collectors and register file.
    pub operands: OperandCounters,
    /// Memory unit.
    pub memory: MemoryCounters,
}

crate::saved_counters!(SmCounters);

impl Counters for SmCounters {
    fn each(&self, tell: &mut dyn FnMut(&'static Counter, u64)) {
        self.activity.each(tell);
        self.issue.each(tell);
        self.instructions.each(tell);
        self.front_end.each(tell);
        self.operands.each(tell);
        self.memory.each(tell);
    }

    fn add(&mut self, other: &SmCounters) {
        self.activity.add(&other.activity);
        self.issue.add(&other.issue);
        self.instructions.add(&other.instructions);
        self.front_end.add(&other.front_end);
        self.operands.add(&other.operands);
        self.memory.add(&other.memory);
    }

    fn restart(&mut self) {
        self.activity.restart();
        self.issue.restart();
        self.instructions.restart();
        self.front_end.restart();
        self.operands.restart();
        self.memory.restart();
    }

    fn save(&self, write: &mut dyn FnMut(Name, u64)) {
        self.activity.save(write);
        self.issue.save(write);
        self.instructions.save(write);
        self.front_end.save(write);
        self.operands.save(write);
        self.memory.save(write);
    }

    fn load(&mut self, read: &mut dyn FnMut(Name) -> u64) {
        self.activity.load(read);
        self.issue.load(read);
        self.instructions.load(read);
        self.front_end.load(read);
        self.operands.load(read);
        self.memory.load(read);
    }
}
