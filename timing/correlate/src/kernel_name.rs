//! Equality of kernels by name: mangled on one side, demangled on the other.

use warp_stream::kernel_name::base_name;

/// True if the names are of one kernel; `there` may list alternatives.
pub(super) fn same_kernel(here: &str, there: &str) -> bool {
    let here = base_name(here);
    there.split(" / ").any(|there| base_name(there) == here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_matching_alternative_is_enough() {
        assert!(same_kernel("_Z20Convolution2D_kernelPfS_", "convolution2D_kernel / Convolution2D_kernel"));
        assert!(!same_kernel("_Z3sumPf", "vadd"));
    }
}
