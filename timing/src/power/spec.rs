//! Keys of `[power]`.

crate::specification! {
    /// Energies and powers of a card. Energies hold at the voltage `voltage`.
    pub struct PowerSpec in "power" {
        /// Card that the values were measured on; `none` for a GPU without values. The values are
        /// derived for every other card.
        card: String ["text"],
        /// SMs of that card. Static power scales with the GPU's number of SMs.
        sms: u32 ["SMs"],
        /// Voltage of the cores at which the energies and static powers hold.
        voltage: u32 ["mV"],
        /// Core clocks of the voltage curve, ascending; empty for a voltage that never changes.
        curve_clocks: Vec<u32> ["MHz"],
        /// Voltage of the cores at each clock of the curve, linear between them.
        curve_voltages: Vec<u32> ["mV"],
        /// Power of the card beside its units: board, idle DRAM, clocks of the chip.
        constant: u32 ["mW"],
        /// Power of an SM without CTAs.
        idle_sm: u32 ["mW"],
        /// Static power of all SMs with one active lane: launches that only move data.
        first_lane_memory: u32 ["mW"],
        /// Static power of all SMs with one active lane: integer instructions.
        first_lane_integer: u32 ["mW"],
        /// Added static power of all SMs for each further lane: integer instructions.
        next_lane_integer: u32 ["mW"],
        /// Static power with one active lane: single precision beside integers.
        first_lane_fp32: u32 ["mW"],
        /// Added static power for each further lane: single precision beside integers.
        next_lane_fp32: u32 ["mW"],
        /// Static power with one active lane: double precision too.
        first_lane_fp64: u32 ["mW"],
        /// Added static power for each further lane: double precision too.
        next_lane_fp64: u32 ["mW"],
        /// Static power with one active lane: special functions too.
        first_lane_special: u32 ["mW"],
        /// Added static power for each further lane: special functions too.
        next_lane_special: u32 ["mW"],
        /// Static power with one active lane: textures too.
        first_lane_texture: u32 ["mW"],
        /// Added static power for each further lane: textures too.
        next_lane_texture: u32 ["mW"],
        /// Static power with one active lane: tensor cores too.
        first_lane_tensor: u32 ["mW"],
        /// Added static power for each further lane: tensor cores too.
        next_lane_tensor: u32 ["mW"],
        /// Static power with one active lane: two or more of the units above.
        first_lane_mixed: u32 ["mW"],
        /// Added static power for each further lane: two or more of the units above.
        next_lane_mixed: u32 ["mW"],
        /// Energy of a fetch that hits the instruction cache.
        fetch: u32 ["fJ"],
        /// Further energy of a fetch that misses.
        fetch_miss: u32 ["fJ"],
        /// Energy of a warp instruction: buffer, decoder, scoreboard, warp scheduler, pipeline.
        instruction: u32 ["fJ"],
        /// Energy of a register read for all lanes of a warp.
        register_read: u32 ["fJ"],
        /// Energy of a register written for all lanes of a warp.
        register_write: u32 ["fJ"],
        /// Energy of a lane's integer or logic instruction, move, vote or shuffle.
        integer: u32 ["fJ"],
        /// Energy of a lane's integer multiplication or dot product.
        integer_multiply: u32 ["fJ"],
        /// Energy of a lane's single-precision or half-precision instruction.
        fp32: u32 ["fJ"],
        /// Energy of a lane's comparison or conversion of floating-point numbers.
        fp32_compare: u32 ["fJ"],
        /// Energy of a lane's double-precision instruction.
        fp64: u32 ["fJ"],
        /// Energy of a lane's special function.
        special_function: u32 ["fJ"],
        /// Energy of a lane in an instruction of the tensor cores.
        tensor: u32 ["fJ"],
        /// Energy of a lane's texture or surface instruction.
        texture: u32 ["fJ"],
        /// Energy of a pass of shared memory.
        shared_pass: u32 ["fJ"],
        /// Energy of a sector read that hits L1.
        l1_read_hit: u32 ["fJ"],
        /// Energy of a sector read that misses L1.
        l1_read_miss: u32 ["fJ"],
        /// Energy of a sector written through L1.
        l1_write: u32 ["fJ"],
        /// Energy of a sector read or written in L1 by the texture unit.
        texture_sector: u32 ["fJ"],
        /// Energy of a request to the constant cache.
        constant_request: u32 ["fJ"],
        /// Energy of a flit on the crossbar.
        flit: u32 ["fJ"],
        /// Energy of a sector read that hits L2.
        l2_read_hit: u32 ["fJ"],
        /// Energy of a sector that misses L2, beside DRAM's.
        l2_miss: u32 ["fJ"],
        /// Energy of a sector written to L2; atomic operations count as well.
        l2_write: u32 ["fJ"],
        /// Energy of a sector read from DRAM.
        dram_read: u32 ["fJ"],
        /// Energy of a sector written to DRAM.
        dram_write: u32 ["fJ"],
        /// Energy of a row's activation and precharge.
        dram_row: u32 ["fJ"],
    }
}
