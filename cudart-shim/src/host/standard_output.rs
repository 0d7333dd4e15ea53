//! The program's standard output, which also shows the text of its kernels.

/// Writes kernel output to the program's standard output through C's buffer, to keep its order with
/// the program's own output.
pub(crate) fn print(text: &[u8]) {
    unsafe extern "C" {
        static mut stdout: *mut libc::FILE;
    }
    if !text.is_empty() {
        // SAFETY: a C stream and a buffer of the given length.
        unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
    }
}
