//! Names of kernels: mangled in modules, as they stand in sources in what people write and profilers print.

use std::borrow::Cow;

use cpp_demangle::{DemangleOptions, Symbol};

/// The name as in the source: with namespaces and template arguments, without types of parameters. A name that is not
/// mangled stays as it is.
pub fn demangled(name: &str) -> Cow<'_, str> {
    let options = DemangleOptions::new().no_params().no_return_type();
    let symbol = name.starts_with("_Z").then(|| Symbol::new(name).ok()).flatten();
    let written = symbol.and_then(|symbol| symbol.demangle_with_options(&options).ok());
    written.map_or(Cow::Borrowed(name), Cow::Owned)
}

/// The name alone: without types of parameters, template arguments and namespaces, of a mangled name and of a demangled one.
pub fn base_name(name: &str) -> String {
    let demangled = demangled(name);
    let plain = demangled.replace("(anonymous namespace)", "");
    let before = plain.split(['(', '<']).next().unwrap_or(&plain).trim();
    let last = before.rsplit(' ').next().unwrap_or(before);
    last.rsplit("::").next().unwrap_or(last).to_owned()
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
    fn a_demangled_name_has_what_tells_instances_apart() {
        assert_eq!(demangled("_ZN7library6kernelIfEEvPT_"), "library::kernel<float>");
        assert_eq!(demangled("saxpy"), "saxpy");
    }
}
