//! A phase of a sweep: the configurations that are timed, and the mode in which they are.

use std::num::NonZero;

use launch_capture::{Configuration, Plan};
use run_options::values::Mode;
use timing::fidelity;

use crate::failure::Failure;

/// The mode and the configurations of a phase. A sweep has one phase, an exploration two.
#[derive(Clone, Debug, Default)]
pub(super) struct Phase {
    /// Mode; detailed without one.
    pub(super) mode: Option<Mode>,
    /// Numbers of the configurations, from 0; all without a list.
    pub(super) configurations: Option<Vec<usize>>,
}

impl Phase {
    /// The plan with the configurations of this phase, in its mode.
    pub(super) fn of(&self, plan: &Plan) -> Result<Plan, Failure> {
        Ok(Plan { configurations: self.chosen(&plan.configurations)?, ..plan.clone() })
    }

    fn chosen(&self, all: &[Configuration]) -> Result<Vec<Configuration>, Failure> {
        let mut chosen = match &self.configurations {
            None => all.to_vec(),
            Some(numbers) => {
                let configuration = |number: &usize| {
                    let none = || Failure::new(format_args!("the plan has no configuration {number}"));
                    all.get(*number).cloned().ok_or_else(none)
                };
                numbers.iter().map(configuration).collect::<Result<_, _>>()?
            }
        };
        if let Some(mode) = self.mode {
            chosen.iter_mut().for_each(|configuration| enter(mode, configuration));
        }
        Ok(chosen)
    }

    /// Options by which another process has the same phase.
    pub(super) fn words(&self) -> impl Iterator<Item = String> {
        let mode = self.mode.map(|mode| format!("--mode={}", mode.name()));
        let numbers = self.configurations.as_ref().map(|numbers| {
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            format!("--configurations={}", numbers.join(","))
        });
        mode.into_iter().chain(numbers)
    }
}

/// Gives a configuration the fidelities of a mode. Changes that the configuration has of its own come
/// later, and win.
fn enter(mode: Mode, configuration: &mut Configuration) {
    let changes = fidelity::Mode::named(mode.name()).map_or(&[][..], |mode| mode.changes);
    if !changes.is_empty() {
        configuration.name = format!("{} {}", configuration.name, mode.name());
    }
    configuration.set.splice(0..0, changes.iter().map(|change| (*change).to_owned()));
}

/// The numbers of the configurations with the fewest cycles, best first. Equal cycles keep the order
/// of the plan.
pub(super) fn best(cycles: &[f64], most: NonZero<usize>) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..cycles.len()).collect();
    let of = |number: &usize| cycles.get(*number).copied().unwrap_or(f64::INFINITY);
    numbers.sort_by(|a, b| of(a).total_cmp(&of(b)));
    numbers.truncate(most.get());
    numbers
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn all() -> [Configuration; 3] {
        ["a", "b", "c"].map(|name| Configuration {
            name: name.to_owned(),
            gpu: "tiny".to_owned(),
            set: vec!["l1.sets=4".to_owned()],
        })
    }

    #[test]
    fn phase_has_the_named_configurations_in_its_mode() {
        let phase = Phase { mode: Some(Mode::HybridAlu), configurations: Some(vec![2, 0]) };
        let configurations = phase.chosen(&all()).unwrap();
        let names: Vec<&str> = configurations.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["c hybrid-alu", "a hybrid-alu"]);
        assert_eq!(configurations[0].set.last().unwrap(), "l1.sets=4");
        assert!(configurations[0].set[0].starts_with("fidelity."), "{:?}", configurations[0].set);
        let words: Vec<String> = phase.words().collect();
        assert_eq!(words, ["--mode=hybrid-alu", "--configurations=2,0"]);
    }

    #[test]
    fn detailed_phase_changes_no_configuration() {
        let phase = Phase { mode: Some(Mode::Detailed), configurations: None };
        assert_eq!(phase.chosen(&all()).unwrap(), all());
    }

    #[test]
    fn configuration_that_there_is_not_is_an_error() {
        let phase = Phase { mode: None, configurations: Some(vec![3]) };
        assert_eq!(phase.chosen(&all()).unwrap_err().to_string(), "the plan has no configuration 3");
    }

    #[test]
    fn best_configurations_have_the_fewest_cycles() {
        let most = NonZero::new(3).unwrap();
        assert_eq!(best(&[40.0, 10.0, 30.0, 10.0], most), [1, 3, 2]);
        assert_eq!(best(&[5.0], most), [0]);
    }
}
