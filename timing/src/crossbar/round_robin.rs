//! Inputs choose in turn among the free outputs; the first to choose rotates each cycle.

use super::network::{Matching, first_from, ports};

/// Matches `inputs` with `outputs`.
pub(super) fn choose(matching: &mut Matching, inputs: u128, mut outputs: u128) {
    let from_first = u128::MAX << matching.first;
    for input in ports(inputs & from_first).chain(ports(inputs & !from_first)) {
        let wanted = matching.outputs_of[input as usize] & outputs;
        if wanted != 0 {
            let output = first_from(wanted, matching.output_turn[input as usize]);
            outputs &= !(1 << output);
            matching.output_turn[input as usize] = (output + 1) % 128;
            matching.pairs.push((input, output));
        }
    }
    matching.first = (matching.first + 1) % matching.outputs_of.len() as u8;
}
