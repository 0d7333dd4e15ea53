//! The devices that the program sees, by the options and CUDA's variables.

use super::Profile;
use crate::host::environment;
use crate::host::visible_devices::visible;
use std::sync::LazyLock;

static VISIBLE: LazyLock<Vec<usize>> = LazyLock::new(|| chosen(all()));

/// Number of devices in the options; one by default.
pub(crate) fn all() -> usize {
    environment::options().devices.map_or(1, |devices| devices.get() as usize)
}

/// Visible devices: device number by ordinal.
pub(crate) fn numbers() -> &'static [usize] {
    &VISIBLE
}

/// Number of visible devices.
pub(crate) fn count() -> usize {
    VISIBLE.len()
}

/// The devices in `CUDA_VISIBLE_DEVICES`, or all. `CUDA_DEVICE_ORDER` has no effect, since all
/// devices are equal.
fn chosen(all: usize) -> Vec<usize> {
    let everything = || (0..all).collect();
    let Some(value) = &environment::cuda().visible_devices else { return everything() };
    // An invalid profile is reported when a device starts.
    let Ok(profile) = Profile::from_environment() else { return everything() };
    let uuids: Vec<_> = (0..all).map(|number| profile.clone().numbered(number).uuid_text()).collect();
    visible(value, &uuids)
}
