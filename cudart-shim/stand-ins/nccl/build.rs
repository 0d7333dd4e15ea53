//! Link arguments: the soname of NCCL.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnccl.so.2");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
