//! Warning at exit about launch selections (`--only` and similar) that matched no launch, whose
//! results are therefore missing.

use crate::host::environment;
use crate::session::process::process;
use crate::session::{capture, kernel_stream, model, recording, summary};
use std::sync::atomic::{AtomicBool, Ordering};
use warp_stream::kernel_name::signature;

/// Most kernels named in a message.
const NAMED: usize = 5;

/// A selection and its match flag.
pub(crate) struct Chosen {
    /// Environment variable.
    setting: &'static str,
    /// Tells whether the restricted output is enabled.
    is_wanted: fn() -> bool,
    /// Command line option.
    option: &'static str,
    /// Verb for selected launches.
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

    /// Records whether a launch is selected, and returns that.
    pub(crate) fn note(&self, chosen: bool) -> bool {
        if chosen {
            self.any.store(true, Ordering::Relaxed);
        }
        chosen
    }

    /// The warning, if the selection is enabled and matched no launch.
    fn unmatched(&self) -> Option<String> {
        let unmatched = (self.is_wanted)() && !self.any.load(Ordering::Relaxed);
        environment::text(self.setting).filter(|_| unmatched)
    }

    fn tell(&self, launches: u64, kernels: &str) {
        let Some(selection) = self.unmatched() else { return };
        let Chosen { setting, option, done, .. } = self;
        eprintln!(
            "voltsim: {option} {selection} ({setting}) matches none of the {launches} launches: nothing is {done}; the program \
             launches {kernels}\n  remedy: use * as a wildcard in kernel names: kernel=*NAME*"
        );
    }
}

/// Warns about selections that matched nothing although there were launches.
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
