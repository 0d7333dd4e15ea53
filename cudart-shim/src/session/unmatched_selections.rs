//! Selections of launches (`--only` and its like) that have chosen none: told when the process ends, as the user would wait for
//! results in vain.

use crate::host::environment;
use crate::session::process::process;
use crate::session::{capture, kernel_stream, model, recording, summary};
use std::sync::atomic::{AtomicBool, Ordering};
use warp_stream::kernel_name::signature;

/// Kernels that a message names.
const NAMED: usize = 5;

/// A selection, and whether it has chosen a launch.
pub(crate) struct Chosen {
    /// The environment's variable.
    setting: &'static str,
    /// Is the work asked for that the selection restricts?
    is_wanted: fn() -> bool,
    /// The command's option.
    option: &'static str,
    /// Treatment of chosen launches.
    done: &'static str,
    any: AtomicBool,
}

pub(crate) static TIMED: Chosen =
    Chosen::new("VOLTSIM_ONLY", || model::gpu_name().is_some(), "--only", "timed");
pub(crate) static RECORDED: Chosen = Chosen::new("VOLTSIM_ONLY", recording::is_wanted, "--only", "recorded");
pub(crate) static CAPTURED: Chosen =
    Chosen::new("VOLTSIM_CAPTURE_ONLY", capture::is_wanted, "--only", "captured");
pub(crate) static WRITTEN: Chosen = Chosen::new(
    "VOLTSIM_IMAGE_ONLY",
    kernel_stream::is_wanted,
    "--image-only",
    "written to the kernel stream",
);

impl Chosen {
    const fn new(
        setting: &'static str,
        is_wanted: fn() -> bool,
        option: &'static str,
        done: &'static str,
    ) -> Chosen {
        Chosen { setting, is_wanted, option, done, any: AtomicBool::new(false) }
    }

    /// A launch was asked for: is it chosen? The answer is the argument.
    pub(crate) fn note(&self, chosen: bool) -> bool {
        if chosen {
            self.any.store(true, Ordering::Relaxed);
        }
        chosen
    }

    /// The selection, if it was to choose launches and has chosen none.
    fn in_vain(&self) -> Option<String> {
        let in_vain = (self.is_wanted)() && !self.any.load(Ordering::Relaxed);
        environment::text(self.setting).filter(|_| in_vain)
    }

    fn tell(&self, launches: u64, kernels: &str) {
        let Some(selection) = self.in_vain() else { return };
        let Chosen { setting, option, done, .. } = self;
        eprintln!(
            "voltsim: {option} {selection} ({setting}) has chosen none of the {launches} launches: nothing is {done}; the program \
             launches {kernels}\n  remedy: names of kernels may have * in them: kernel=*NAME*"
        );
    }
}

/// Tells of selections that have chosen nothing, though there were launches.
pub(crate) fn tell() {
    let launches = process().launches.load(Ordering::Relaxed);
    if launches == 0 || process().forked.load(Ordering::Relaxed) {
        return;
    }
    let mangled = summary::kernels_launched();
    let names: Vec<String> = mangled.iter().take(NAMED).map(|name| signature(name).into_owned()).collect();
    let more = match mangled.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} others"),
    };
    let kernels = names.join(", ") + &more;
    [&TIMED, &RECORDED, &CAPTURED, &WRITTEN].into_iter().for_each(|chosen| chosen.tell(launches, &kernels));
}
