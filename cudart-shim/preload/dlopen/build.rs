//! Link arguments.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libvoltsim_dlopen.so");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
