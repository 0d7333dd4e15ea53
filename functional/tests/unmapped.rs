//! Registered memory that the program unmaps or protects while a kernel runs.

#![allow(unsafe_code, clippy::unwrap_used, clippy::panic)]

use std::sync::{Arc, Mutex};

use functional::device::{Device, DeviceSpec, Settings, Tier};
use functional::engine::native;
use functional::fault::FaultKind;
use functional::launch::{LaunchConfig, LaunchError, launch};
use functional::module::Module;
use warp_stream::LaunchShape;

const SIZE: usize = 1 << 16;

/// Losses of registered memory count for the whole process, so one test loses memory at a time.
static LOSES: Mutex<()> = Mutex::new(());

fn map() -> u64 {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh anonymous mapping.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), SIZE, access, flags, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    at as u64
}

fn unmap(address: u64) {
    // SAFETY: nothing but the kernel uses the mapping of `map`.
    assert_eq!(unsafe { libc::munmap(address as *mut _, SIZE) }, 0);
}

fn protect(address: u64, rights: i32) {
    // SAFETY: nothing but the kernel uses the mapping of `map`.
    assert_eq!(unsafe { libc::mprotect(address as *mut _, SIZE, rights) }, 0);
}

/// Result of a kernel that executes `body`, and the number of registrations that have ended. `%a1`
/// holds the address of registered memory, which `take_away` has changed.
fn launched(body: &str, take_away: impl FnOnce(u64)) -> (Result<(), LaunchError>, usize) {
    launched_in(Tier::Interpreter, body, take_away)
}

/// [`launched`] in a tier.
fn launched_in(tier: Tier, body: &str, take_away: impl FnOnce(u64)) -> (Result<(), LaunchError>, usize) {
    let text = format!(
        ".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry test(.param .u64 p) {{
         .reg .b64 %a<4>; .reg .b32 %r<4>; .reg .pred %p<3>; ld.param.u64 %a1, [p]; {body} ret; }}"
    );
    let _loses = LOSES.lock();
    let device =
        Arc::new(Device::new(DeviceSpec::default(), Settings { tier, ..Settings::default() }).unwrap());
    let module =
        Module::load(&device, vec![Arc::new(ptx_frontend::Module::parse(text, "test.ptx").unwrap())]);
    let program = module.unwrap().kernel("test").unwrap();
    let address = map();
    device.memory.register_host(address, SIZE as u64).unwrap();
    take_away(address);
    let (grid, block) = ([1; 3], [64, 1, 1]);
    let parameters = address.to_le_bytes().to_vec();
    let launched = launch(
        &device,
        &program,
        LaunchConfig { shape: LaunchShape::new(grid, block), parameters, ..LaunchConfig::default() },
    );
    (launched.map(drop), device.memory.end_unmapped().len())
}

/// The fault of such a kernel, which ends the registration.
fn fault_of(body: &str, take_away: impl FnOnce(u64)) -> FaultKind {
    let (launched, ended) = launched(body, take_away);
    assert_eq!(ended, 1, "the registration ends, though something is mapped there");
    match launched {
        Err(LaunchError::Fault(fault)) => fault.kind,
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn access_to_memory_that_is_gone_is_a_fault_of_the_launch() {
    for body in [
        "ld.global.u32 %r1, [%a1+4096];",
        "st.global.u32 [%a1], 5;",
        "atom.global.add.u32 %r1, [%a1+8], 5;",
        "mov.u32 %r2, %tid.x; mul.wide.u32 %a2, %r2, 1000; add.u64 %a2, %a2, %a1; ld.global.u8 %r1, [%a2];",
        "L: ld.volatile.global.u32 %r1, [%a1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
    ] {
        assert!(matches!(fault_of(body, unmap), FaultKind::Unmapped { .. }), "{body}");
    }
}

#[test]
fn access_to_protected_memory_is_a_fault_of_the_launch() {
    for (body, rights) in [
        ("ld.global.u32 %r1, [%a1+4096];", libc::PROT_NONE),
        ("st.global.u32 [%a1], 5;", libc::PROT_READ),
        ("atom.global.add.u32 %r1, [%a1+8], 5;", libc::PROT_READ),
    ] {
        let fault = fault_of(body, |address| protect(address, rights));
        assert!(matches!(fault, FaultKind::Protected { .. }), "{body}: {fault}");
    }
}

#[test]
fn protected_memory_may_be_read_where_rights_allow() {
    let (launched, ended) =
        launched("ld.global.u32 %r1, [%a1+4096];", |address| protect(address, libc::PROT_READ));
    assert!(launched.is_ok() && ended == 0, "{launched:?}");
}

#[test]
fn compiled_access_to_lost_memory_is_a_fault_of_the_launch() {
    if !native::is_supported() {
        return;
    }
    // The first access fills the cache of allocations, so that compiled code makes the second.
    let body = "mov.u64 %a2, %a1; mov.u32 %r2, 0; L: ld.global.u32 %r1, [%a2]; add.u64 %a2, %a2, 32768;
                add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 2; @%p1 bra L;";
    let half = SIZE / 2;
    let (launched, ended) = launched_in(Tier::Native, body, |address| {
        // SAFETY: nothing but the kernel uses the mapping of `map`.
        assert_eq!(unsafe { libc::munmap((address as usize + half) as *mut _, half) }, 0);
    });
    let is_loss = |error: &LaunchError| matches!(error, LaunchError::Fault(fault) if matches!(fault.kind, FaultKind::Unmapped { .. }));
    assert!(launched.as_ref().is_err_and(is_loss) && ended == 1, "{launched:?}");
}
