//! Earlier accesses in streams of version 2.

use serde::{Deserialize, Serialize};
use warp_stream::{Executed, Past, Trace, UsedPage};

/// Encoded form of version 2.
#[derive(Serialize, Deserialize)]
pub(crate) struct PastOf2 {
    pub(crate) traces: Vec<TraceOf2>,
    pub(crate) pages: Vec<u64>,
    pub(crate) has_code: bool,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct TraceOf2 {
    pub(crate) line: u64,
    pub(crate) read: u8,
    pub(crate) written: u8,
}

impl From<PastOf2> for Past {
    /// Fills missing fields with version 2's assumptions: written sectors count as written bytes,
    /// nothing was evicted, TLBs are empty. If any SM has the code, all have.
    fn from(past: PastOf2) -> Past {
        let trace = |TraceOf2 { line, read, written }| Trace {
            line,
            read,
            written,
            bytes: Trace::bytes_of(written),
            ..Trace::default()
        };
        Past {
            traces: past.traces.into_iter().map(trace).collect(),
            pages: past.pages.into_iter().map(|address| UsedPage { address, ctas: 0 }).collect(),
            code: past
                .has_code
                .then_some(Executed { same: true, ctas: u64::MAX, bytes: 0 })
                .into_iter()
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_2_past_reads_with_its_assumptions() {
        let traces = vec![TraceOf2 { line: 0x1000, read: 3, written: 4 }];
        let past: Past = PastOf2 { traces, pages: vec![0x20_0000], has_code: true }.into();
        let trace = Trace { line: 0x1000, read: 3, written: 4, bytes: 0xffff_ffff << 64, ..Trace::default() };
        assert_eq!(past.traces, [trace]);
        assert_eq!(past.pages, [UsedPage { address: 0x20_0000, ctas: 0 }]);
        assert_eq!(past.code, [Executed { same: true, ctas: u64::MAX, bytes: 0 }]);
    }
}
