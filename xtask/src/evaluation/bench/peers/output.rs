//! Parses GPGPU-Sim's and Accel-Sim's output of each launch, with its time.

use super::clock::Moment;
use std::collections::VecDeque;

/// A launch with the simulator's figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Launch {
    /// Mangled.
    pub kernel: String,
    pub cycles: u64,
    pub warp_instructions: u64,
    /// Processor seconds from its start, or the previous launch's end, to the first line of its
    /// statistics.
    pub seconds: f64,
}

/// A launch whose statistics are being printed.
struct Ended {
    kernel: String,
    seconds: f64,
    cycles: Option<u64>,
}

/// Line-by-line parser.
#[derive(Default)]
pub(super) struct Reader {
    launches: Vec<Launch>,
    /// Start times of unfinished launches.
    made: VecDeque<Moment>,
    /// Time at which the last launch's statistics were complete.
    free: Moment,
    ended: Option<Ended>,
    /// Warp instructions of all earlier launches; the simulators never reset the count.
    counted: u64,
    passed: bool,
}

impl Reader {
    /// Parses a line; `now` returns its time.
    pub(super) fn line(&mut self, line: &str, now: impl Fn() -> Moment) {
        if line.starts_with("GPGPU-Sim PTX: pushing kernel") || line.starts_with("launching kernel name:") {
            self.made.push_back(now());
        } else if line == "PASS" {
            self.passed = true;
        } else if let Some((name, value)) = line.split_once(" = ") {
            self.statistic(name.trim(), value.trim(), now);
        }
    }

    fn statistic(&mut self, name: &str, value: &str, now: impl Fn() -> Moment) {
        match (name, &mut self.ended) {
            ("kernel_name", _) => {
                let begun = self.made.pop_front().unwrap_or_default().later(&self.free);
                let seconds = now().processor_seconds_since(&begun);
                self.ended = Some(Ended { kernel: value.to_owned(), seconds, cycles: None });
            }
            ("gpu_sim_cycle", Some(ended)) => ended.cycles = value.parse().ok(),
            ("gpgpu_n_tot_w_icount", _) => self.complete(value.parse().ok()),
            ("gpgpu_simulation_time", _) => self.free = now(),
            _ => {}
        }
    }

    fn complete(&mut self, counted: Option<u64>) {
        let Some(Ended { kernel, seconds, cycles: Some(cycles) }) = self.ended.take() else { return };
        let Some(counted) = counted else { return };
        let warp_instructions = counted.saturating_sub(self.counted);
        self.counted = counted;
        self.launches.push(Launch { kernel, cycles, warp_instructions, seconds });
    }

    /// Completed launches, in order.
    pub(super) fn launches(&self) -> &[Launch] {
        &self.launches
    }

    /// True if the program confirmed its results.
    pub(super) fn passed(&self) -> bool {
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUSHED: &str =
        "GPGPU-Sim PTX: pushing kernel '_Z4stepPf' to stream 0, gridDim= (4,1,1) blockDim = (64,1,1) ";

    /// Output of a completed launch, with lines that the parser skips.
    fn statistics(cycles: &str, counted: &str) -> Vec<String> {
        let lines = [
            "kernel_name = _Z4stepPf ",
            "kernel_launch_uid = 1 ",
            &format!("gpu_sim_cycle = {cycles}"),
            "gpu_tot_sim_cycle = 123456",
            "L1D_cache:",
            &format!("gpgpu_n_tot_w_icount = {counted}"),
            "gpgpu_n_stall_shd_mem = 0",
            "gpgpu_simulation_time = 0 days, 0 hrs, 0 min, 3 sec (3 sec)",
        ];
        lines.map(str::to_owned).to_vec()
    }

    fn read(lines: &[(f64, Vec<String>)]) -> Reader {
        let mut reader = Reader::default();
        for (seconds, lines) in lines {
            lines.iter().for_each(|line| reader.line(line, || Moment::of_one_thread(*seconds)));
        }
        reader
    }

    #[test]
    fn launch_has_cycles_instructions_and_seconds() {
        let reader = read(&[(1.0, vec![PUSHED.to_owned()]), (3.5, statistics("2045", "56400"))]);
        let kernel = "_Z4stepPf".to_owned();
        let launch = Launch { kernel, cycles: 2045, warp_instructions: 56_400, seconds: 2.5 };
        assert_eq!(reader.launches(), [launch]);
    }

    #[test]
    fn instructions_of_earlier_launches_are_subtracted() {
        let reader = read(&[(1.0, statistics("10", "100")), (2.0, statistics("10", "250"))]);
        let counts: Vec<u64> = reader.launches().iter().map(|launch| launch.warp_instructions).collect();
        assert_eq!(counts, [100, 150]);
    }

    #[test]
    fn launch_begins_at_the_end_of_the_previous_one() {
        let made = (1.0, vec![PUSHED.to_owned(), PUSHED.to_owned()]);
        let reader = read(&[made, (3.0, statistics("10", "100")), (7.0, statistics("20", "300"))]);
        let seconds: Vec<f64> = reader.launches().iter().map(|launch| launch.seconds).collect();
        assert_eq!(seconds, [2.0, 4.0]);
    }

    #[test]
    fn accel_sim_launches_are_recognised() {
        let launched = "launching kernel name: _Z4stepPf uid: 1 cuda_stream_id: 0".to_owned();
        let reader = read(&[(2.0, vec![launched]), (3.0, statistics("10", "100"))]);
        assert_eq!(reader.launches()[0].seconds, 1.0);
    }

    #[test]
    fn launch_with_partial_statistics_is_unfinished() {
        for lines in [&statistics("10", "100")[..4], &statistics("no number", "100")] {
            let reader = read(&[(1.0, lines.to_vec())]);
            assert!(reader.launches().is_empty(), "{lines:?}");
        }
    }

    #[test]
    fn results_need_the_programs_confirmation() {
        assert!(read(&[(1.0, vec!["PASS".to_owned()])]).passed());
        assert!(!read(&[(1.0, vec!["FAIL".to_owned()])]).passed());
        assert!(!read(&[]).passed());
    }
}
