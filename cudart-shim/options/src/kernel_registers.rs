//! Registers that the user gives to kernels: `--set kernel.registers=NAME:N`.

use crate::values::{Changes, Wrong};
use warp_stream::kernel_name::all_names;

/// Key of the changes that concern a kernel and no GPU.
const KEY: &str = "kernel.registers";
/// Most registers per thread (CUDA programming guide, technical specifications).
const MOST: u32 = 255;

/// Registers per thread of the kernels with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRegisters {
    /// Name of the kernel: mangled, as its signature, or bare.
    pub kernel: String,
    /// 32-bit registers per thread.
    pub registers: u32,
}

impl KernelRegisters {
    /// Reads a change. `None` for a change of another key.
    ///
    /// # Errors
    /// The change names no kernel, or no possible number of registers.
    fn of(change: &str) -> Option<Result<Self, Wrong>> {
        let (key, value) = change.split_once('=')?;
        (key.trim() == KEY).then(|| {
            let wrong = || {
                Wrong::new(format!(
                    "`{change}`: must be {KEY}=NAME:N with N registers per thread, 1 to {MOST}"
                ))
            };
            let (kernel, registers) = value.trim().rsplit_once(':').ok_or_else(wrong)?;
            let registers = registers.trim().parse().ok().filter(|count| (1..=MOST).contains(count));
            match (kernel.trim(), registers) {
                ("", _) | (_, None) => Err(wrong()),
                (kernel, Some(registers)) => Ok(Self { kernel: kernel.to_owned(), registers }),
            }
        })
    }

    /// True if the kernel with this mangled name is meant.
    pub fn is_of(&self, kernel: &str) -> bool {
        all_names(kernel).iter().any(|name| *name == self.kernel)
    }
}

impl Changes {
    /// Changes of the GPU's values.
    pub fn of_gpu(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str).filter(|change| KernelRegisters::of(change).is_none())
    }

    /// Registers of kernels. The last change of a kernel counts.
    pub fn of_kernels(&self) -> impl DoubleEndedIterator<Item = KernelRegisters> {
        self.0.iter().filter_map(|change| KernelRegisters::of(change)?.ok())
    }

    /// Tests the changes of kernels.
    ///
    /// # Errors
    /// A change of a kernel is malformed.
    pub(crate) fn check(&self) -> Result<(), Wrong> {
        self.0.iter().filter_map(|change| KernelRegisters::of(change)).try_for_each(|read| read.map(|_| ()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn changes(all: &[&str]) -> Changes {
        Changes(all.iter().map(|change| (*change).to_owned()).collect())
    }

    #[test]
    fn changes_of_kernels_and_of_the_gpu_are_told_apart() {
        let all = changes(&["l1.size=32KiB", "kernel.registers=void a::b<int>(float):32"]);
        assert_eq!(all.of_gpu().collect::<Vec<_>>(), ["l1.size=32KiB"]);
        let found = KernelRegisters { kernel: "void a::b<int>(float)".to_owned(), registers: 32 };
        assert_eq!(all.of_kernels().collect::<Vec<_>>(), [found]);
    }

    #[test]
    fn kernel_is_named_mangled_or_as_in_the_source() {
        for name in ["_Z5saxpyifPKfPf", "saxpy", "saxpy(int, float, const float*, float*)"] {
            assert!(
                KernelRegisters { kernel: name.to_owned(), registers: 1 }.is_of("_Z5saxpyifPKfPf"),
                "{name}"
            );
        }
        assert!(!KernelRegisters { kernel: "sax".to_owned(), registers: 1 }.is_of("_Z5saxpyifPKfPf"));
    }

    #[test]
    fn impossible_numbers_of_registers_are_refused() {
        for change in ["a:0", "a:256", "a", ":3", "a:many"] {
            let wrong = changes(&[&format!("kernel.registers={change}")]).check().unwrap_err();
            assert!(wrong.rule.contains("kernel.registers=NAME:N"), "{}", wrong.rule);
        }
        assert_eq!(changes(&["kernel.registers=a:1", "l1.size=1"]).check(), Ok(()));
    }
}
