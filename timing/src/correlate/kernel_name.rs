//! Whether kernels are the same: their names are mangled here, demangled there.

use warp_stream::kernel_name::base_name;

/// Whether names are of the same kernel; `there` may list several possible ones.
pub(super) fn same_kernel(here: &str, there: &str) -> bool {
    let here = base_name(here);
    there.split(" / ").any(|there| base_name(there) == here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_names_is_enough() {
        assert!(same_kernel("_Z20Convolution2D_kernelPfS_", "convolution2D_kernel / Convolution2D_kernel"));
        assert!(!same_kernel("_Z3sumPf", "vadd"));
    }
}
