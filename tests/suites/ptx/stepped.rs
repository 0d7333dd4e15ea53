//! The same files lowered, and executed one machine instruction at a time.

use std::sync::Arc;

use functional::device::Device;
use functional::engine::program::Program;
use functional::launch::LaunchConfig;
use functional::timed::turns::{Order, execute};
use functional::timed::{Identity, TimedError, launch as launch_timed};

/// The orders in which each file is executed.
pub(crate) const ORDERS: [Order; 2] = [Order::InTurn, Order::Random(7)];

/// SMs, and CTAs that each has room for: more in all than any file launches.
const ROOM: (u32, u32) = (2, 1 << 10);

/// Executes the kernel so. Clusters of CTAs cannot be; then there is nothing to compare, and the answer is `false`.
pub(crate) fn launch(
    device: &Device,
    program: &Arc<Program>,
    config: LaunchConfig,
    order: Order,
) -> Result<bool, String> {
    let identity = Identity { launch: 1, stream: 0 };
    let room = (ROOM.0, ROOM.1.min(config.grid.iter().product()));
    match launch_timed(device, program, config, identity, |source| execute(source, room, order, |_| {})) {
        Ok(()) => Ok(true),
        Err(TimedError::Unsupported { reason, .. }) if reason.contains("clusters") => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}
