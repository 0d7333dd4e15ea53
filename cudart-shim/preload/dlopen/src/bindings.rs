//! The static runtime inside cuda-bindings.
//!
//! The package's runtime API is an extension module with the vendor's static runtime, stripped, so
//! its functions cannot be located. Other modules of the package use a table of function pointers:
//! Cython's `__pyx_capi__`, a dictionary of capsules filled when the module executes. The module's
//! definition is known before. A function replaces the execution slot: the function executes the
//! module and then sets the capsules to Voltsim's functions. Functions that Voltsim lacks stay the
//! package's.

use crate::{kept, open, own_folder, symbol};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// `Py_mod_exec`: kind of the execution slot.
const EXECUTE: c_int = 2;
/// Offset in bytes of the slots' pointer in `PyModuleDef`, for an interpreter with a lock.
const SLOTS: usize = 72;

/// `PyModuleDef_Slot`.
#[repr(C)]
struct Slot {
    kind: c_int,
    value: *mut c_void,
}

type Execute = unsafe extern "C" fn(*mut c_void) -> c_int;

/// An extension module that contains the runtime.
pub(crate) struct Module {
    initialise: &'static CStr,
    /// Executes the module and redirects it.
    execute: Execute,
    /// Original value of the module's slot.
    original: &'static AtomicPtr<c_void>,
    /// Suffixes of Voltsim's function names, tried in order before the plain name.
    suffixes: &'static [&'static str],
}

static ORIGINAL: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];

static MODULES: [Module; 2] = [
    Module { initialise: c"PyInit_cyruntime", execute: execute::<0>, original: &ORIGINAL[0], suffixes: &[] },
    Module {
        initialise: c"PyInit_cyruntime_ptds",
        execute: execute::<1>,
        original: &ORIGINAL[1],
        suffixes: &["_ptds", "_ptsz"],
    },
];

impl Module {
    /// Module of a file name. An interpreter without a lock (`cpython-314t`) has other structures.
    pub(crate) fn named(file: &str) -> Option<&'static Self> {
        let (module, rest) = file.split_once(".cpython-")?;
        if rest.split('-').next()?.ends_with('t') {
            return None;
        }
        match module {
            "cyruntime" => MODULES.first(),
            "cyruntime_ptds" => MODULES.last(),
            _ => None,
        }
    }

    /// Replaces the execution slot of the module in `file`, which the program is about to open.
    pub(crate) fn redirect(&self, file: &CStr) {
        // A module of this name without Cython's symbols is another module.
        let Some(initialise) = open(file).and_then(|library| symbol(library, self.initialise)) else {
            return;
        };
        // SAFETY: the initialisation function of an extension module takes nothing and returns an
        // object.
        let initialise: extern "C" fn() -> *mut u8 = unsafe { std::mem::transmute(initialise) };
        let definition = initialise();
        if definition.is_null() {
            return;
        }
        // SAFETY: Cython's modules are initialised in phases, so this is the module's definition,
        // which is static.
        let mut slot = unsafe { definition.add(SLOTS).cast::<*mut Slot>().read() };
        // SAFETY: the slots end with one of kind 0.
        while let Some(present) = unsafe { slot.as_mut() }.filter(|slot| slot.kind != 0) {
            if present.kind == EXECUTE && present.value != self.execute as *mut c_void {
                self.original.store(present.value, Ordering::Release);
                present.value = self.execute as *mut c_void;
            }
            // SAFETY: not the last, as its kind is not 0.
            slot = unsafe { slot.add(1) };
        }
    }
}

/// Replaces the execution of the module of this number.
unsafe extern "C" fn execute<const NUMBER: usize>(module: *mut c_void) -> c_int {
    let Some(this) = MODULES.get(NUMBER) else { return -1 };
    let original = this.original.load(Ordering::Acquire);
    // SAFETY: the function that the module's definition had, which is of this type.
    let original: Execute = unsafe { std::mem::transmute::<*mut c_void, Execute>(original) };
    // SAFETY: passed on from the interpreter.
    let result = unsafe { original(module) };
    if result == 0 {
        // SAFETY: the module has been executed, and the interpreter's lock is held.
        let _ = std::panic::catch_unwind(|| unsafe { fill(module, this.suffixes) });
    }
    result
}

type Attribute = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type Next = unsafe extern "C" fn(*mut c_void, *mut isize, *mut *mut c_void, *mut *mut c_void) -> c_int;
type Text = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type SetPointer = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type ClearError = unsafe extern "C" fn();

/// Functions of the interpreter used here.
struct Interpreter {
    attribute: Attribute,
    next: Next,
    text: Text,
    set_pointer: SetPointer,
    clear_error: ClearError,
}

impl Interpreter {
    fn find() -> Option<Self> {
        let find = |name| symbol(libc::RTLD_DEFAULT, name);
        // SAFETY: the interpreter's functions of these names have these types.
        unsafe {
            Some(Self {
                attribute: std::mem::transmute::<*mut c_void, Attribute>(find(c"PyObject_GetAttrString")?),
                next: std::mem::transmute::<*mut c_void, Next>(find(c"PyDict_Next")?),
                text: std::mem::transmute::<*mut c_void, Text>(find(c"PyUnicode_AsUTF8")?),
                set_pointer: std::mem::transmute::<*mut c_void, SetPointer>(find(c"PyCapsule_SetPointer")?),
                clear_error: std::mem::transmute::<*mut c_void, ClearError>(find(c"PyErr_Clear")?),
            })
        }
    }

    /// Entries of a dictionary as key text and value.
    ///
    /// # Safety
    /// `dictionary` is a dictionary whose keys are texts.
    unsafe fn entries(&self, dictionary: *mut c_void) -> Vec<(&CStr, *mut c_void)> {
        let (mut place, mut key, mut value) = (0, ptr::null_mut(), ptr::null_mut());
        let mut entries = Vec::new();
        // SAFETY: a dictionary, as promised, and room for what is returned.
        while unsafe { (self.next)(dictionary, &mut place, &mut key, &mut value) } != 0 {
            // SAFETY: a text, as promised, which the dictionary keeps.
            let text = unsafe { (self.text)(key) };
            if !text.is_null() {
                // SAFETY: not null, so a C string.
                entries.push((unsafe { CStr::from_ptr(text) }, value));
            }
        }
        entries
    }
}

/// Sets the module's capsules to Voltsim's functions.
///
/// # Safety
/// `module` is an executed module of Cython's, and the interpreter's lock is held.
unsafe fn fill(module: *mut c_void, suffixes: &[&str]) -> Option<()> {
    let interpreter = Interpreter::find()?;
    // SAFETY: a module and a C string. The reference is kept, as is the module.
    let table = unsafe { (interpreter.attribute)(module, c"__pyx_capi__".as_ptr()) };
    if table.is_null() {
        // SAFETY: takes nothing.
        unsafe { (interpreter.clear_error)() };
        return None;
    }
    // SAFETY: Cython's table is a dictionary with texts as keys.
    let entries = unsafe { interpreter.entries(table) };
    let has = |name: &CStr| entries.iter().any(|(found, _)| *found == name);
    // CUDA 12 has both structures of device properties, under different names.
    let soname = if has(c"_cudaGetDeviceProperties_v2") { "libcudart.so.12" } else { "libcudart.so.13" };
    let runtime = open(kept(own_folder()?.join(soname))?)?;
    for (name, capsule) in entries {
        let Some(name) = name.to_str().ok().and_then(|name| name.strip_prefix('_')) else { continue };
        if !name.starts_with("cuda") {
            continue;
        }
        let names =
            suffixes.iter().chain(&[""]).filter_map(|suffix| CString::new(format!("{name}{suffix}")).ok());
        if let Some(ours) = names.into_iter().find_map(|name| symbol(runtime, &name)) {
            // SAFETY: a capsule of a function of the same type, since both are the runtime's.
            unsafe { (interpreter.set_pointer)(capsule, ours) };
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runtime_modules_are_redirected() {
        assert!(Module::named("cyruntime.cpython-311-x86_64-linux-gnu.so").is_some());
        assert!(Module::named("cyruntime_ptds.cpython-312-x86_64-linux-gnu.so").is_some());
        assert!(Module::named("cyruntime.cpython-314t-x86_64-linux-gnu.so").is_none());
        assert!(Module::named("cydriver.cpython-311-x86_64-linux-gnu.so").is_none());
        assert!(Module::named("cyruntime.so").is_none());
    }
}
