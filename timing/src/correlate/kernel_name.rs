//! Names of kernels: mangled here, demangled there.

/// The name alone: without types of parameters, template arguments and namespaces.
pub(super) fn base_name(name: &str) -> &str {
    match name.strip_prefix("_Z") {
        Some(mangled) => last_identifier(mangled).unwrap_or(name),
        None => {
            let name = name.split(['(', '<']).next().unwrap_or(name).trim();
            let name = name.rsplit(' ').next().unwrap_or(name);
            name.rsplit("::").next().unwrap_or(name)
        }
    }
}

/// The last of the identifiers that a mangled name begins with, each behind its length.
fn last_identifier(mangled: &str) -> Option<&str> {
    let mut rest = mangled.trim_start_matches(['N', 'L', 'K', 'V']);
    let mut last = None;
    loop {
        rest = rest.strip_prefix('L').unwrap_or(rest);
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let Ok(length) = rest[..digits].parse::<usize>() else { return last };
        let identifier = rest.get(digits..)?.get(..length)?;
        last = Some(identifier);
        rest = &rest[digits + length..];
        // Without `N` there is one identifier; the digits behind it are of its parameters' types.
        if !mangled.starts_with('N') {
            return last;
        }
    }
}

/// Whether names are of the same kernel; `there` may list several possible ones.
pub(super) fn same_kernel(here: &str, there: &str) -> bool {
    let here = base_name(here);
    there.split(" / ").any(|there| base_name(there) == here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_name_is_the_same_mangled_and_not() {
        for (name, base) in [
            ("_Z4vaddPKfS0_Pfi", "vadd"),
            ("vadd(const float *, const float *, float *, int)", "vadd"),
            ("void reduce<float, (int)256>(float *)", "reduce"),
            ("_Z6reduceIfLi256EEvPT_", "reduce"),
            ("_ZN7library6kernelEPf", "kernel"),
            ("library::kernel(float *)", "kernel"),
            ("_ZN12_GLOBAL__N_15innerIiEEvPT_", "inner"),
            ("findK", "findK"),
            ("_Z", "_Z"),
        ] {
            assert_eq!(base_name(name), base, "{name}");
        }
    }

    #[test]
    fn one_of_several_names_is_enough() {
        assert!(same_kernel("_Z20Convolution2D_kernelPfS_", "convolution2D_kernel / Convolution2D_kernel"));
        assert!(!same_kernel("_Z3sumPf", "vadd"));
    }
}
