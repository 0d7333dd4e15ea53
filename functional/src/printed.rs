//! Buffer of kernel output with the size of CUDA's FIFO.
//!
//! CUDA overwrites the oldest text of a full FIFO. Here a full buffer is passed to
//! [`Settings::print`](crate::device::Settings) at once, which loses no text and keeps the order. Without
//! that function the buffer grows.

use parking_lot::Mutex;

/// Default size of the buffer in bytes (`cudaLimitPrintfFifoSize`).
pub const USUAL_FIFO: u64 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Printed {
    state: Mutex<Buffer>,
    /// Receives text that overflows the buffer.
    print: Option<fn(&[u8])>,
}

#[derive(Debug)]
struct Buffer {
    text: Vec<u8>,
    /// Capacity in bytes.
    most: u64,
}

impl Printed {
    /// Creates an empty buffer.
    pub(crate) fn new(print: Option<fn(&[u8])>) -> Printed {
        Printed { state: Mutex::new(Buffer { text: Vec::new(), most: USUAL_FIFO }), print }
    }

    /// Appends text.
    pub(crate) fn add(&self, text: &[u8]) {
        let mut state = self.state.lock();
        if let Some(print) = self.print
            && (state.text.len() + text.len()) as u64 > state.most
        {
            // The lock is held: output keeps the order of the calls.
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

    /// Sets the capacity in bytes.
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
            // Every hundredth text is larger than the buffer.
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
