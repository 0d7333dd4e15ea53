//! iSLIP (McKeown, "The iSLIP Scheduling Algorithm for Input-Queued Switches", 1999): each output
//! grants an input, each input accepts a grant. Pointers advance only past grants accepted in the
//! first round, which desynchronises busy ports so that every cycle is used.

use super::network::{Matching, first_from, only, ports};

/// Matches `inputs` with `outputs` in at most `rounds` rounds.
#[inline(always)]
pub(super) fn choose(matching: &mut Matching, mut inputs: u128, mut outputs: u128, rounds: u32) {
    for round in 0..rounds {
        let mut granted = 0_u128;
        for output in ports(outputs) {
            let candidates = matching.inputs_of[output as usize] & inputs;
            if candidates != 0 {
                let input = first_from(candidates, matching.input_turn[output as usize]);
                matching.granted[input as usize] |= only(output);
                granted |= only(input);
            }
        }
        if granted == 0 {
            return;
        }
        for input in ports(granted) {
            let grants = std::mem::take(&mut matching.granted[input as usize]);
            let output = first_from(grants, matching.output_turn[input as usize]);
            matching.pairs.push((input, output));
            outputs &= !only(output);
            if round == 0 {
                matching.input_turn[output as usize] = (input + 1) % 128;
                matching.output_turn[input as usize] = (output + 1) % 128;
            }
        }
        inputs &= !granted;
    }
}
