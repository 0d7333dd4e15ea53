//! Untimed requests: their effect on tags and sectors.

use super::{L2Spec, MemoryRequest, RequestKind, Slice, Tags};

impl Slice {
    /// Serves a request at once in an idle slice. Counters stay untouched, and evicted dirty lines
    /// are dropped.
    pub fn warm(&mut self, spec: &L2Spec, line: u64, request: &MemoryRequest) {
        let set = Tags::set(spec, line);
        let found = self.tags.find(spec, set, line);
        let Some(slot) = found.or_else(|| self.tags.victim(spec, set)) else { return };
        let writes = request.kind != RequestKind::Read && request.sectors & 0xf != 0;
        if writes && let Some(cleaned) = self.cleaned(spec, set, slot) {
            self.tags.clean(spec, cleaned);
        }
        match found {
            Some(_) => self.tags.touch(spec, slot),
            None => self.tags.allocate(spec, slot, line),
        }
        let (_, fetched) = spec.missing_and_fetched(self.tags.line(slot), request);
        if writes {
            self.write(spec, slot, request.sectors & 0xf, request);
        }
        self.tags.make_readable(slot, fetched);
    }
}
