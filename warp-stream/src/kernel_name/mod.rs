//! Conversion of mangled names of kernels, functions and variables into the names of the source.
//!
//! Files use the mangled name as a key. All text for people uses the names of this module.

mod west_const;

use std::borrow::Cow;

use cpp_demangle::{DemangleOptions, Symbol};

/// Prefix that nvcc puts before the digest in names local to a file, instead of a namespace.
const INTERNAL: &str = "_INTERNAL_";

/// Source name with namespaces and template arguments, without parameter types. An unmangled name is
/// returned unchanged.
pub fn demangled(name: &str) -> Cow<'_, str> {
    written(name, DemangleOptions::new().no_params().no_return_type())
}

/// Source name with parameter types: `reduce(const int*, int*, int)`. An unmangled name is returned
/// unchanged.
pub fn signature(name: &str) -> Cow<'_, str> {
    written(name, DemangleOptions::new().no_return_type())
}

/// All names by which a user may select a kernel: mangled, demangled with and without parameter types, and
/// bare.
pub fn all_names(name: &str) -> [Cow<'_, str>; 4] {
    [Cow::Borrowed(name), demangled(name), signature(name), Cow::Owned(base_name(name))]
}

/// Source name of a variable, without its function: `s` for `_ZZ6reducePKiPiiE1s`.
pub fn variable(name: &str) -> Cow<'_, str> {
    // nvcc prefixes a local variable with its function's name: `_Z6reducePKiPii$_ZZ6reducePKiPiiE1s`.
    let name = match name.split_once('$') {
        Some((function, local)) if function.starts_with("_Z") && !local.is_empty() => local,
        _ => name,
    };
    let whole = signature(name);
    if let Cow::Owned(whole) = &whole
        && let Some(local) = behind_function(whole)
    {
        return Cow::Owned(local.to_owned());
    }
    // Older compilers name shared variables `__cuda_local_var_41038_33_non_const_s`.
    match name.strip_prefix("__cuda_local_var_") {
        Some(rest) => rest.split_once("_const_").map_or(whole, |(_, name)| Cow::Borrowed(name)),
        None => whole,
    }
}

/// Demangles every mangled name in `text`, except parts of file paths.
pub fn readable(text: &str) -> Cow<'_, str> {
    if !text.contains("_Z") {
        return Cow::Borrowed(text);
    }
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_$".contains(letter);
    let mut readable = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("_Z") {
        let (before, word) = rest.split_at(start);
        readable.push_str(before);
        let end = word.find(|letter| !is_part(letter)).unwrap_or(word.len());
        let (word, behind) = word.split_at(end);
        let is_inside = before.ends_with(|letter: char| is_part(letter) || "/-".contains(letter));
        match is_inside || behind.starts_with('/') {
            true => readable.push_str(word),
            false => readable.push_str(&variable(word)),
        }
        rest = behind;
    }
    readable.push_str(rest);
    Cow::Owned(readable)
}

/// Bare name, mangled or not, without namespaces, template arguments and parameter types.
pub fn base_name(name: &str) -> String {
    let demangled = demangled(name);
    let plain = demangled.replace("(anonymous namespace)", "");
    let before = plain.split(['(', '<']).next().unwrap_or(&plain).trim();
    let last = before.rsplit(' ').next().unwrap_or(before);
    last.rsplit("::").next().unwrap_or(last).to_owned()
}

fn written(name: &str, options: DemangleOptions) -> Cow<'_, str> {
    let symbol = name.starts_with("_Z").then(|| Symbol::new(name).ok()).flatten();
    match symbol.and_then(|symbol| symbol.demangle_with_options(&options).ok()) {
        Some(text) => Cow::Owned(west_const::west_const(&without_digests(text))),
        None => Cow::Borrowed(name),
    }
}

/// Removes the namespaces with which nvcc identifies the file.
fn without_digests(mut text: String) -> String {
    while let Some(start) = text.find(INTERNAL) {
        let Some(length) = text[start..].find("::") else { break };
        text.replace_range(start..start + length + 2, "");
    }
    text
}

/// Part of a name after its last function: `s` of `reduce(int)::s`.
fn behind_function(name: &str) -> Option<&str> {
    let mut depth = 0_i32;
    let mut behind = None;
    for (at, letter) in name.char_indices() {
        match letter {
            '(' | '<' | '{' => depth += 1,
            ')' | '>' | '}' => {
                depth -= 1;
                let rest = &name[at + letter.len_utf8()..];
                let rest = rest.trim_start_matches(" const");
                let is_namespace = name[..at].ends_with("(anonymous namespace");
                if letter == ')' && depth == 0 && !is_namespace {
                    behind = rest.strip_prefix("::").or(behind);
                }
            }
            _ => {}
        }
    }
    behind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_and_plain_names_share_a_base_name() {
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
    fn demangled_names_keep_namespace_and_template_arguments() {
        assert_eq!(demangled("_ZN7library6kernelIfEEvPT_"), "library::kernel<float>");
        assert_eq!(demangled("saxpy"), "saxpy");
    }

    #[test]
    fn signatures_match_the_source() {
        for (name, expected) in [
            ("_Z6reducePKiPii", "reduce(const int*, int*, int)"),
            ("_Z4vaddPKfS0_Pfi", "vadd(const float*, const float*, float*, int)"),
            ("_Z6reduceIfLi256EEvPT_", "reduce<float, 256>(float*)"),
            ("_ZN7library6kernelEPf", "library::kernel(float*)"),
            ("_ZN12_GLOBAL__N_15innerIiEEvPT_", "(anonymous namespace)::inner<int>(int*)"),
            ("_ZN12_INTERNAL_ab5innerEPi", "inner(int*)"),
            ("_Z1kPVKi", "k(const volatile int*)"),
            ("_Z1kPKcPKS0_", "k(const char*, const char* const*)"),
            ("saxpy", "saxpy"),
            ("_Z", "_Z"),
        ] {
            assert_eq!(signature(name), expected, "{name}");
        }
    }

    #[test]
    fn readable_demangles_names_inside_text() {
        for (text, expected) in [
            ("ld.shared.u32 %r1, [_ZZ6reducePKiPiiE1s+4];", "ld.shared.u32 %r1, [s+4];"),
            ("call.uni _Z3addi, (%r1);", "call.uni add(int), (%r1);"),
            ("kernel `_Z3addi` of `x`", "kernel `add(int)` of `x`"),
            ("captured/3-_Z3addi/launch.toml", "captured/3-_Z3addi/launch.toml"),
            ("captured/_Z3addi", "captured/_Z3addi"),
            ("a_Z3addi", "a_Z3addi"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(readable(text), expected, "{text}");
        }
    }

    #[test]
    fn variable_names_omit_their_function() {
        for (name, expected) in [
            ("_ZZ6reducePKiPiiE1s", "s"),
            ("_ZZN7library6kernelIfEEvPT_E4tile", "tile"),
            ("_ZZ1kvE1s_0", "s"),
            ("_Z6reducePKiPii$_ZZ6reducePKiPiiE1s", "s"),
            ("_Z6reducePKiPii$buffer", "buffer"),
            ("$str", "$str"),
            ("__cuda_local_var_41038_33_non_const_s", "s"),
            ("__cuda_local_var_41038_33_const_table", "table"),
            ("_ZN7library5tableE", "library::table"),
            ("_ZN12_GLOBAL__N_15tableE", "(anonymous namespace)::table"),
            ("counter", "counter"),
        ] {
            assert_eq!(variable(name), expected, "{name}");
        }
    }
}
