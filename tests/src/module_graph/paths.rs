//! Paths that a source names: those of its imports, and those inside of its code.

use super::tokens::Token;

/// An import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// True if other modules may import the name from here.
    pub(super) is_public: bool,
    /// The segments of the path.
    pub(super) path: Vec<String>,
    /// The name that it has here; `*` for all names of a module.
    pub(super) name: String,
}

/// Imports, and the other paths that start at the crate or at a parent module.
pub(super) fn paths(tokens: &[Token]) -> (Vec<Import>, Vec<Vec<String>>) {
    let (mut imports, mut inline) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.word() {
            Some("use") => {
                let is_public = is_public(tokens, at);
                let mut found = Vec::new();
                at = tree(tokens, at + 1, &[], &mut found);
                imports.extend(found.into_iter().map(|(path, name)| Import { is_public, path, name }));
            }
            Some("crate" | "super") if tokens.get(at + 1) == Some(&Token::PathSeparator) => {
                let mut path = Vec::new();
                while let Some(Token::Word(word)) = tokens.get(at) {
                    path.push(word.clone());
                    at += 1;
                    if tokens.get(at) != Some(&Token::PathSeparator) {
                        break;
                    }
                    at += 1;
                }
                if !is_macro(&tokens[at.min(tokens.len())..]) {
                    inline.push(path);
                }
            }
            _ => at += 1,
        }
    }
    (imports, inline)
}

/// The path before these tokens is that of a macro, which is the crate's and no module's.
fn is_macro(after: &[Token]) -> bool {
    matches!(after, [Token::Sign('!'), Token::Sign('{' | '(' | '['), ..])
}

/// The word `pub`, with or without a scope, stands before the token at `at`.
fn is_public(tokens: &[Token], at: usize) -> bool {
    let before = |distance: usize| at.checked_sub(distance).and_then(|place| tokens.get(place));
    if before(1).and_then(Token::word) == Some("pub") {
        return true;
    }
    before(1) == Some(&Token::Sign(')')) && before(4).and_then(Token::word) == Some("pub")
}

/// Reads a tree of imports from `at` on; returns the place after it.
fn tree(tokens: &[Token], mut at: usize, prefix: &[String], found: &mut Vec<(Vec<String>, String)>) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens.get(at) {
            Some(Token::Word(word)) if word == "as" => {
                if let Some((last, name)) = found.last_mut().zip(tokens.get(at + 1).and_then(Token::word)) {
                    name.clone_into(&mut last.1);
                }
                at += 2;
            }
            Some(Token::Word(word)) => {
                if word != "self" || path.is_empty() {
                    path.push(word.clone());
                }
                at += 1;
                if tokens.get(at) != Some(&Token::PathSeparator) {
                    let name = path.last().cloned().unwrap_or_default();
                    found.push((std::mem::replace(&mut path, prefix.to_vec()), name));
                }
            }
            Some(Token::Sign('*')) => {
                found.push((std::mem::replace(&mut path, prefix.to_vec()), "*".to_owned()));
                at += 1;
            }
            Some(Token::Sign('{')) => {
                at = tree(tokens, at + 1, &path, found);
                path = prefix.to_vec();
            }
            Some(Token::PathSeparator | Token::Sign(',')) => at += 1,
            Some(Token::Sign(_)) => return at + 1,
            None => return at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn a_macro_of_the_crate_is_no_module() {
        let (_, inline) = paths(&tokens("crate::a! { b } crate::c::d!(e); f(crate::g::H != i)"));
        assert_eq!(inline, [["crate", "g", "H"]]);
    }

    #[test]
    fn trees_of_imports_become_paths() {
        let (imports, inline) =
            paths(&tokens("pub(crate) use crate::{a::{self, B as C}, d::*}; fn f() { super::e::g() }"));
        let found: Vec<_> = imports
            .iter()
            .map(|import| (import.is_public, import.path.join("::"), import.name.as_str()))
            .collect();
        let expected = [(true, "crate::a", "a"), (true, "crate::a::B", "C"), (true, "crate::d", "*")];
        assert_eq!(found, expected.map(|(public, path, name)| (public, path.to_owned(), name)));
        assert_eq!(inline, [["super", "e", "g"]]);
    }
}
