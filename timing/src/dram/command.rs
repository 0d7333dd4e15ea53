//! DRAM commands.

use serde::{Deserialize, Serialize};

/// Kinds of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CommandKind {
    /// Opens a row.
    Activate,
    /// Closes a bank's row.
    Precharge,
    /// Reads an atom of the open row.
    Read,
    /// Writes an atom of the open row.
    Write,
    /// Refreshes a closed bank.
    Refresh,
    /// Refreshes all banks, which must be closed.
    RefreshAll,
}

impl CommandKind {
    /// Tells whether the command uses the column bus of a dual command bus.
    pub fn is_column(self) -> bool {
        matches!(self, CommandKind::Read | CommandKind::Write)
    }
}

/// A DRAM command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Kind of command.
    pub kind: CommandKind,
    /// Bank; 0 for all.
    pub bank: u8,
    /// Row, for activations, reads and writes.
    pub row: u64,
}
