//! Destructors of thread-local values, registered without the loader's lock.
//!
//! The C library takes that lock for each registration, and `dlclose` holds it while library
//! destructors run. Such a destructor may wait for the device, whose threads may just register
//! their first values: a deadlock. This library therefore replaces the C library's function by one
//! based on `pthread` keys. The parts left out concern unloading, and this library is never
//! unloaded.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

type Destructor = unsafe extern "C" fn(*mut c_void);

/// Registrations of a thread, in order.
type List = Vec<(Destructor, *mut c_void)>;

// Hidden: private to this library.
core::arch::global_asm!(
    ".globl __cxa_thread_atexit_impl",
    ".hidden __cxa_thread_atexit_impl",
    ".type __cxa_thread_atexit_impl,@function",
    "__cxa_thread_atexit_impl:",
    "jmp {register}",
    register = sym register,
    options(att_syntax)
);

/// Key of a thread's list; `None` if the process has too many keys.
fn key() -> Option<libc::pthread_key_t> {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: room for a key, and a function that takes what is stored under it.
        (unsafe { libc::pthread_key_create(&raw mut key, Some(run)) } == 0).then_some(key)
    })
}

/// Registers `destructor` for `object` at the thread's end. A value that cannot be registered is
/// leaked.
extern "C" fn register(destructor: Destructor, object: *mut c_void, _library: *mut c_void) -> c_int {
    let Some(key) = key() else { return -1 };
    // SAFETY: the key exists.
    let mut list = unsafe { libc::pthread_getspecific(key) }.cast::<List>();
    if list.is_null() {
        list = Box::into_raw(Box::default());
        // SAFETY: as above.
        if unsafe { libc::pthread_setspecific(key, list.cast()) } != 0 {
            // SAFETY: made above, and nobody else has it.
            drop(unsafe { Box::from_raw(list) });
            return -1;
        }
    }
    // SAFETY: made here, and this thread's alone.
    unsafe { &mut *list }.push((destructor, object));
    0
}

/// Runs a thread's destructors, latest first. Registrations made meanwhile go to another list,
/// which runs next.
extern "C" fn run(list: *mut c_void) {
    // SAFETY: made in `register`; the thread has lost it with this call.
    let list = unsafe { Box::from_raw(list.cast::<List>()) };
    for (destructor, object) in list.into_iter().rev() {
        // SAFETY: registered for this object, which lives until the thread has ended.
        unsafe { destructor(object) };
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::mpsc::{Sender, channel};

    struct Tells(Sender<&'static str>, &'static str);

    impl Drop for Tells {
        fn drop(&mut self) {
            let _ = self.0.send(self.1);
        }
    }

    thread_local! {
        static FIRST: RefCell<Option<Tells>> = const { RefCell::new(None) };
        static SECOND: RefCell<Option<Tells>> = const { RefCell::new(None) };
    }

    #[test]
    fn thread_values_drop_at_its_end_latest_first() {
        let (sender, receiver) = channel();
        let (first, second) = (Tells(sender.clone(), "first"), Tells(sender, "second"));
        let thread = std::thread::spawn(move || {
            FIRST.with_borrow_mut(|value| *value = Some(first));
            SECOND.with_borrow_mut(|value| *value = Some(second));
        });
        thread.join().unwrap();
        assert_eq!(receiver.iter().collect::<Vec<_>>(), ["second", "first"]);
    }
}
