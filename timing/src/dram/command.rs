//! Commands of a channel.

use serde::{Deserialize, Serialize};

/// What a command does.
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
    /// Whether it goes over the column command bus, where there are two.
    pub fn is_column(self) -> bool {
        matches!(self, CommandKind::Read | CommandKind::Write)
    }
}

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// What it does.
    pub kind: CommandKind,
    /// Bank; 0 for all.
    pub bank: u8,
    /// Row, of activations, reads and writes.
    pub row: u64,
}
