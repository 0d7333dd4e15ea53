//! Directives that the module's PTX version or target lacks (PTX manual 11 and 5.4; first versions and
//! targets are those of `ptxas` 13.5).

use crate::isa::{Architecture, Requirement, Target};

/// Error of a directive that its module must not use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DirectiveError {
    /// The version is too old.
    #[error("Feature '{name}' requires PTX ISA .version {}.{} or later", needed.0, needed.1)]
    Version {
        /// Directive.
        name: &'static str,
        /// First version with the directive.
        needed: (u8, u8),
    },
    /// The target is too old.
    #[error("Feature '{name}' requires .target {needed} or higher")]
    Target {
        /// Directive.
        name: &'static str,
        /// First target with the directive.
        needed: Target,
    },
    /// The version is too new.
    #[error("Deprecated feature: '{name}' is not supported as of PTX version {}.{}", ended.0, ended.1)]
    Ended {
        /// Directive.
        name: &'static str,
        /// First version without the directive.
        ended: (u32, u32),
    },
}

/// Directives with their first version and target.
const FIRST: [(&str, (u8, u8), u32); 14] = [
    (".alias", (6, 3), 30),
    (".noreturn", (6, 4), 30),
    (".reqntid", (2, 1), 20),
    (".reqnctapercluster", (7, 8), 90),
    (".explicitcluster", (7, 8), 90),
    (".maxclusterrank", (7, 8), 90),
    (".blocksareclusters", (9, 0), 90),
    (".attribute", (4, 0), 30),
    (".common", (5, 0), 20),
    (".weak", (3, 1), 20),
    (".ptr", (2, 2), 20),
    (".b128", (8, 3), 70),
    (".callprototype", (2, 1), 20),
    (".calltargets", (2, 1), 20),
];

/// `.maxnctapersm`, which `.minnctapersm` replaced.
const ENDED: (&str, (u32, u32)) = (".maxnctapersm", (2, 1));

/// Errors of all directives in a text without comments, with their offsets.
pub fn directives(text: &str, module: Architecture) -> Vec<(u32, DirectiveError)> {
    words(text).filter_map(|(at, word)| Some((u32::try_from(at).ok()?, judged(word, module)?))).collect()
}

fn judged(word: &str, module: Architecture) -> Option<DirectiveError> {
    if word == ENDED.0 {
        let has_ended = module.ptx.is_some_and(|ptx| ptx >= ENDED.1);
        return has_ended.then_some(DirectiveError::Ended { name: ENDED.0, ended: ENDED.1 });
    }
    let (name, ptx, number) = FIRST.iter().find(|(name, ..)| *name == word)?;
    let needed = Requirement { ptx: *ptx, target: Target { number: *number, specific: false } };
    if !module.has_version(needed) {
        Some(DirectiveError::Version { name, needed: *ptx })
    } else if !module.has_target(needed) {
        Some(DirectiveError::Target { name, needed: needed.target })
    } else {
        None
    }
}

/// Words that begin with a dot and do not follow a word, with their offsets. Directives do so, modifiers do
/// not; strings are skipped.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_string = false;
    let mut before = ' ';
    text.char_indices().filter_map(move |(at, character)| {
        let begins = character == '.' && !in_string && !(before.is_alphanumeric() || "_$%:".contains(before));
        in_string ^= character == '"';
        before = character;
        let rest = text.get(at..).filter(|_| begins)?;
        let end =
            rest[1..].find(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(rest.len(), |end| end + 1);
        Some((at, &rest[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &str, ptx: (u32, u32), target: &str) -> Vec<(u32, String)> {
        let module = Architecture { ptx: Some(ptx), target: Target::from_name(target) };
        directives(text, module).into_iter().map(|(at, error)| (at, error.to_string())).collect()
    }

    #[test]
    fn directives_need_their_version_and_target() {
        for (text, old, first, target, before) in [
            (".alias g, f;", (6, 2), (6, 3), "30", "20"),
            (".func f() .noreturn { exit; }", (6, 3), (6, 4), "30", "20"),
            (".entry k() .reqnctapercluster 2 { ret; }", (7, 7), (7, 8), "90", "80"),
            (".entry k() .explicitcluster { ret; }", (7, 7), (7, 8), "90", "89"),
            (".entry k() .maxclusterrank 8 { ret; }", (7, 7), (7, 8), "90", "80"),
            (".entry k() .blocksareclusters { ret; }", (8, 8), (9, 0), "90", "80"),
            (".global .attribute(.managed) .b32 m;", (3, 2), (4, 0), "30", "20"),
            (".entry k() { .reg .b128 %q; }", (8, 2), (8, 3), "70", "60"),
        ] {
            assert_eq!(errors(text, old, target).len(), 1, "{text}");
            assert_eq!(errors(text, first, target), [], "{text}");
            assert_eq!(errors(text, first, before).len(), 1, "{text}");
        }
        for (text, old, first) in [
            (".common .global .b32 m;", (4, 3), (5, 0)),
            (".weak .func f() { ret; }", (3, 0), (3, 1)),
            (".entry k(.param .u64 .ptr a) { ret; }", (2, 1), (2, 2)),
            (".entry k() .reqntid 32 { ret; }", (2, 0), (2, 1)),
        ] {
            assert_eq!(errors(text, old, "20").len(), 1, "{text}");
            assert_eq!(errors(text, first, "20"), [], "{text}");
        }
    }

    #[test]
    fn removed_directives_are_errors() {
        assert_eq!(errors(".entry k() .maxnctapersm 2 {}", (2, 0), "20"), []);
        let [(11, told)] = &errors(".entry k() .maxnctapersm 2 {}", (7, 0), "70")[..] else { panic!() };
        assert!(told.contains("2.1"), "{told}");
    }

    #[test]
    fn modifiers_and_strings_are_no_directives() {
        assert_eq!(errors("ld.weak.b32 %r1, [%d1]; mov.b128 %q, %p; .pragma \" .alias\";", (2, 0), "20"), []);
    }
}
