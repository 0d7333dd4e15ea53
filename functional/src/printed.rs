//! Text that kernels print: a buffer of the size of CUDA's FIFO, which flows out when it is full.
//!
//! CUDA overwrites the oldest text of a full FIFO. Here the full buffer goes to [`Settings::print`](crate::device::Settings)
//! at once, so no text is lost, its order stays, and the buffer never holds more than its size. Without such a function the
//! buffer keeps all text.

use parking_lot::Mutex;

/// Bytes of the buffer unless the program says something else (`cudaLimitPrintfFifoSize`).
pub const USUAL_FIFO: u64 = 1 << 20;

/// The buffer.
#[derive(Debug)]
pub(crate) struct Printed {
    state: Mutex<State>,
    /// Takes text that has no room.
    print: Option<fn(&[u8])>,
}

#[derive(Debug)]
struct State {
    text: Vec<u8>,
    /// Bytes that the buffer keeps at most.
    most: u64,
}

impl Printed {
    /// An empty buffer.
    pub(crate) fn new(print: Option<fn(&[u8])>) -> Printed {
        Printed { state: Mutex::new(State { text: Vec::new(), most: USUAL_FIFO }), print }
    }

    /// Adds text behind all other.
    pub(crate) fn add(&self, text: &[u8]) {
        let mut state = self.state.lock();
        if let Some(print) = self.print
            && (state.text.len() + text.len()) as u64 > state.most
        {
            // Under the lock: the order of the texts is that of the calls.
            print(&state.text);
            state.text.clear();
            if text.len() as u64 > state.most {
                return print(text);
            }
        }
        state.text.extend_from_slice(text);
    }

    /// Takes all text.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.state.lock().text)
    }

    /// Sets the bytes that the buffer keeps at most.
    pub(crate) fn set_most(&self, bytes: u64) {
        let mut state = self.state.lock();
        state.most = bytes;
        if let Some(print) = self.print
            && state.text.len() as u64 > bytes
        {
            print(&state.text);
            state.text.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static OUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

    #[test]
    fn full_buffer_flows_in_order_and_keeps_its_size() {
        let printed = Printed::new(Some(|text| OUT.lock().extend_from_slice(text)));
        printed.set_most(100);
        let mut expected = Vec::new();
        for number in 0..1000 {
            // One text in a hundred is larger than the buffer.
            let text = vec![number as u8; if number % 100 == 0 { 250 } else { 1 + number % 40 }];
            expected.extend_from_slice(&text);
            printed.add(&text);
            assert!(printed.state.lock().text.len() <= 100);
        }
        assert!(OUT.lock().len() > expected.len() - 100, "only the last texts are kept");
        let last = printed.take();
        OUT.lock().extend_from_slice(&last);
        assert_eq!(*OUT.lock(), expected);
    }

    #[test]
    fn buffer_without_outlet_keeps_all_text() {
        let printed = Printed::new(None);
        printed.set_most(10);
        (0..10).for_each(|_| printed.add(b"twenty bytes of text"));
        assert_eq!(printed.take().len(), 200);
    }
}
