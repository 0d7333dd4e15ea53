//! Commands of a channel.

use serde::{Deserialize, Serialize};

/// Kind of a command.
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
    /// Refreshes all banks, which are closed.
    RefreshAll,
}

impl CommandKind {
    /// The command uses the column command bus, where there are two buses.
    pub fn is_column(self) -> bool {
        matches!(self, CommandKind::Read | CommandKind::Write)
    }
}

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Kind.
    pub kind: CommandKind,
    /// Bank; 0 for all.
    pub bank: u8,
    /// Row, of activations, reads and writes.
    pub row: u64,
}
