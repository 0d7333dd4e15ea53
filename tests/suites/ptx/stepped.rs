//! File tests in lowered form, executed one machine instruction at a time.

use std::sync::Arc;

use functional::device::Device;
use functional::engine::program::Program;
use functional::launch::LaunchConfig;
use functional::timed::turns::{Order, execute};
use functional::timed::{Identity, TimedError, launch as launch_timed};

/// Execution of machine instructions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    order: Order,
    /// Diverged lanes continue only after reconvergence, as on a SIMT stack.
    simt_stack: bool,
}

/// Executions of each file with independent progress of lanes.
pub(crate) const INDEPENDENT: [Manner; 2] = [
    Manner { order: Order::InTurn, simt_stack: false },
    Manner { order: Order::Random(7), simt_stack: false },
];

/// Execution of each file as on GPUs before Volta.
pub(crate) const ON_A_STACK: Manner = Manner { order: Order::InTurn, simt_stack: true };

/// Files whose lanes spin until a waiting lane of the same warp acts.
pub(crate) const SPIN_FOR_EVER: [&str; 2] = [
    // The lane with the lock waits at the loop's end for the lanes that want it.
    "atomic/spin_lock",
    // The lane whose turn it is waits at the loop's end for the lanes after it.
    "atomic/ticket_lock",
];

/// SMs, and CTAs per SM: more in total than any file launches.
const ROOM: (u32, u32) = (2, 1 << 10);

/// Executes the kernel in this manner. Returns `false` for unsupported kernels with clusters of CTAs.
pub(crate) fn launch(
    device: &Device,
    program: &Arc<Program>,
    config: LaunchConfig,
    Manner { order, simt_stack }: Manner,
) -> Result<bool, String> {
    let identity = Identity { launch: 1, stream: 0 };
    let room = (ROOM.0, ROOM.1.min(config.shape.cta_count() as u32));
    let config = LaunchConfig { simt_stack, ..config };
    match launch_timed(device, program, config, identity, |source| execute(source, room, order, |_| {})) {
        Ok(()) => Ok(true),
        Err(TimedError::Unsupported { reason, .. }) if reason.contains("clusters") => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}
