//! Hang report of the memory side.

use super::{MemorySide, Reply, State};
use crate::hang_report::{Located, Place};

impl MemorySide {
    /// A line per busy unit.
    pub fn waiting(&self) -> Vec<String> {
        let State { page_walks, requests, replies, .. } = &self.state;
        let mut lines = Vec::new();
        if let Some(ready) = page_walks.next_event() {
            let waiting = page_walks.requests().count();
            lines.push(format!("{waiting} requests wait for page walks, the first until core cycle {ready}"));
        }
        for (name, packets) in [("requests", requests.waiting()), ("replies", replies.waiting())] {
            if packets > 0 {
                lines.push(format!("crossbar: inputs with {name} for {packets} outputs"));
            }
        }
        for (channel, cell) in (0..).zip(self.partitions.each()) {
            lines.extend(cell.partition.waiting(&self.gpu, channel));
        }
        lines
    }

    /// Location of each outstanding request.
    pub fn locate(&self) -> Vec<Located> {
        let State { page_walks, requests, replies, .. } = &self.state;
        let walked = page_walks
            .requests()
            .map(|request| Located { reply: request.message.reply(), place: Place::PageWalk });
        let sent = requests.packets().map(|packet| Located {
            reply: packet.message.message.reply(),
            place: Place::ToSlice {
                port: packet.input,
                slice: packet.output,
                room: requests.room(packet.output),
            },
        });
        let mut located: Vec<Located> = walked.chain(sent).collect();
        for (channel, cell) in (0..).zip(self.partitions.each()) {
            let slices = 0..cell.partition.slices().len();
            located.extend(slices.flat_map(|slice| cell.partition.locate(&self.gpu, channel, slice)));
        }
        located.extend(replies.packets().map(|packet| {
            let Reply { message, .. } = packet.message;
            let room = replies.room(packet.output);
            Located { reply: message, place: Place::ToSm { slice: packet.input, port: packet.output, room } }
        }));
        located
    }
}
