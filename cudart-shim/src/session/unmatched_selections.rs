//! Warning at exit about launch selections (`--only` and similar) that matched no launch, whose
//! results are therefore missing.

use crate::host::environment::options;
use crate::session::state::Session;
use crate::session::{capture, kernel_stream, model, recording, summary};
use run_options::Key;
use std::sync::atomic::{AtomicBool, Ordering};
use warp_stream::kernel_name::signature;

/// Most kernels named in a message.
const NAMED: usize = 5;

/// A selection and its match flag.
pub(crate) struct Chosen {
    /// Option of the selection.
    key: Key,
    /// Tells whether the restricted output is enabled.
    is_wanted: fn(&'static Session) -> bool,
    /// Verb for selected launches.
    done: &'static str,
    any: AtomicBool,
}

/// All selections.
pub(crate) struct Selections {
    pub(crate) timed: Chosen,
    pub(crate) recorded: Chosen,
    pub(crate) captured: Chosen,
    pub(crate) written: Chosen,
    pub(crate) checked: Chosen,
}

impl Selections {
    /// Selections of which none has matched.
    pub(crate) const fn new() -> Self {
        Self {
            timed: Chosen::new(Key::only, |session| model::gpu_name(session).is_some(), "timed"),
            recorded: Chosen::new(Key::only, recording::is_wanted, "recorded"),
            captured: Chosen::new(Key::capture_only, capture::is_wanted, "captured"),
            written: Chosen::new(Key::image_only, kernel_stream::is_wanted, "written to the kernel stream"),
            checked: Chosen::new(Key::check_only, |_| options().check.is_some(), "checked"),
        }
    }
}

impl Chosen {
    const fn new(key: Key, is_wanted: fn(&'static Session) -> bool, done: &'static str) -> Chosen {
        Chosen { key, is_wanted, done, any: AtomicBool::new(false) }
    }

    /// Records whether a launch is selected, and returns that.
    pub(crate) fn note(&self, chosen: bool) -> bool {
        if chosen {
            self.any.store(true, Ordering::Relaxed);
        }
        chosen
    }

    /// The selection, if it is enabled and matched no launch.
    fn unmatched(&self, session: &'static Session) -> Option<String> {
        let unmatched = (self.is_wanted)(session) && !self.any.load(Ordering::Relaxed);
        let selection = options().text(self.key).filter(|_| unmatched)?;
        Some(selection.to_string_lossy().into_owned())
    }

    fn tell(&self, session: &'static Session, launches: u64, kernels: &str) {
        let Some(selection) = self.unmatched(session) else { return };
        let (declaration, done) = (self.key.declaration(), self.done);
        let (option, setting) = (declaration.flag(), declaration.variable);
        eprintln!(
            "voltsim: {option} {selection} ({setting}) matches none of the {launches} launches: nothing is {done}; the program \
             launches {kernels}\n  remedy: use * as a wildcard in kernel names: kernel=*NAME*"
        );
    }
}

/// Warns about selections that matched nothing although there were launches.
pub(crate) fn tell(session: &'static Session) {
    let launches = session.process().launches.load(Ordering::Relaxed);
    if launches == 0 || session.process().forked.load(Ordering::Relaxed) {
        return;
    }
    let mangled = summary::kernels_launched(session);
    let names: Vec<String> = mangled.iter().take(NAMED).map(|name| signature(name).into_owned()).collect();
    let more = match mangled.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} others"),
    };
    let kernels = names.join(", ") + &more;
    let Selections { timed, recorded, captured, written, checked } = &session.selections;
    [timed, recorded, captured, written, checked]
        .into_iter()
        .for_each(|chosen| chosen.tell(session, launches, &kernels));
    for name in session.shared().given_registers.unmet() {
        eprintln!(
            "voltsim: --set kernel.registers={name}: no kernel has this name; the program launches {kernels}\n  \
             remedy: give the mangled name, or the name or signature of the source"
        );
    }
}
