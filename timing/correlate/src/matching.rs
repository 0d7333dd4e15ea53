//! Matches launches of model and card: the n-th of a kernel with the n-th, or a card's mean with
//! the mean of all the model's.

use std::borrow::Cow;
use std::collections::BTreeMap;

use warp_stream::kernel_name::base_name;

use super::Launch;
use super::kernel_name::same_kernel;

/// A program's launches on both sides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// Name of the program.
    pub name: String,
    /// Matched launches, in the card's order.
    pub matches: Vec<Match>,
    /// Launches of one side only, or with another grid or block.
    pub unmatched: Vec<String>,
}

/// A launch on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The model's launch.
    pub ours: Launch,
    /// The card's launch.
    pub card: Launch,
}

impl Program {
    /// Matches the launches of a program.
    pub fn new(name: &str, ours: &[Launch], card: &[Launch]) -> Program {
        let mut program = Program { name: name.to_owned(), ..Program::default() };
        let mut taken = vec![false; ours.len()];
        for theirs in card {
            let next = ours
                .iter()
                .zip(&taken)
                .position(|(own, taken)| !taken && same_kernel(&own.kernel, &theirs.kernel));
            let Some(index) = next else {
                program.unmatched.push(format!("only the card has {}", describe(theirs)));
                continue;
            };
            taken[index] = true;
            let mut own = Cow::Borrowed(&ours[index]);
            if theirs.mean {
                let all = ours.iter().zip(&mut taken).skip(index);
                let all = all.filter(|(other, _)| same_kernel(&other.kernel, &theirs.kernel));
                own = Cow::Owned(mean(all.map(|(other, taken)| {
                    *taken = true;
                    other
                })));
            }
            let own = own.as_ref();
            let differs = |a: Option<[u32; 3]>, b: Option<[u32; 3]>| a.zip(b).is_some_and(|(a, b)| a != b);
            if differs(own.grid, theirs.grid) || differs(own.block, theirs.block) {
                let text = format!("{} is {} on the card", describe(own), describe(theirs));
                program.unmatched.push(text);
            } else {
                program.matches.push(Match { ours: own.clone(), card: theirs.clone() });
            }
        }
        let mut more: BTreeMap<String, usize> = BTreeMap::new();
        for (own, _) in ours.iter().zip(&taken).filter(|(_, taken)| !**taken) {
            *more.entry(base_name(&own.kernel)).or_default() += 1;
        }
        program.unmatched.extend(more.iter().map(|(kernel, count)| {
            format!("{count} launches of {kernel} without a counterpart on the card")
        }));
        program
    }
}

/// The first launch, with the means of all launches' values.
fn mean<'a>(launches: impl Iterator<Item = &'a Launch>) -> Launch {
    let launches: Vec<&Launch> = launches.collect();
    let mut mean = launches.first().map(|first| (*first).clone()).unwrap_or_default();
    mean.mean = true;
    mean.values.retain(|metric, value| {
        let values: Option<Vec<f64>> =
            launches.iter().map(|launch| launch.values.get(metric).copied()).collect();
        let sum = values.map(|values| values.iter().sum::<f64>());
        *value = sum.unwrap_or_default() / launches.len() as f64;
        sum.is_some()
    });
    mean
}

fn describe(launch: &Launch) -> String {
    let size =
        |size: Option<[u32; 3]>| size.map_or_else(|| "?".to_owned(), |[x, y, z]| format!("{x}x{y}x{z}"));
    format!("{}, grid {}, block {}", base_name(&launch.kernel), size(launch.grid), size(launch.block))
}
