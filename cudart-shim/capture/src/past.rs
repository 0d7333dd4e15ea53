//! What came before a launch, as streams of version 2 have it.

use serde::{Deserialize, Serialize};
use warp_stream::{Executed, Past, Trace, UsedPage};

/// As it was encoded.
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
    /// What was not told is taken as it was then: bytes of written sectors count as written, nothing was taken out of a cache, no
    /// SM's TLB has a page, and all have the code, if one has.
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
    fn what_version_2_did_not_tell_is_taken_as_it_was_then() {
        let traces = vec![TraceOf2 { line: 0x1000, read: 3, written: 4 }];
        let past: Past = PastOf2 { traces, pages: vec![0x20_0000], has_code: true }.into();
        let trace = Trace { line: 0x1000, read: 3, written: 4, bytes: 0xffff_ffff << 64, ..Trace::default() };
        assert_eq!(past.traces, [trace]);
        assert_eq!(past.pages, [UsedPage { address: 0x20_0000, ctas: 0 }]);
        assert_eq!(past.code, [Executed { same: true, ctas: u64::MAX, bytes: 0 }]);
    }
}
