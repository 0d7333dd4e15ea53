//! Work of devices as data: checked at the call, executed by the session.

pub(crate) mod copy;
pub(crate) mod host_call;
pub(crate) mod kernel_launch;
pub(crate) mod memory_operation;
pub(crate) mod operation;
