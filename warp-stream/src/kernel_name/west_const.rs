//! Moves type qualifiers before their type: the demangler's `int const*` becomes `const int*`.

/// Qualifiers that the demangler writes behind a type's name.
const QUALIFIERS: [&str; 2] = [" const", " volatile"];

/// The unnamed namespace, whose parentheses enclose no types.
const ANONYMOUS: &str = "(anonymous namespace)";

/// A nested type in the output.
#[derive(Clone, Copy)]
struct Level {
    /// Byte at which the type's name begins, after qualifiers that were moved before the name.
    name: usize,
    /// A pointer, reference or function has followed the name.
    is_over: bool,
}

impl Level {
    fn at(name: usize) -> Level {
        Level { name, is_over: false }
    }
}

/// Rewrites a demangled name with qualifiers before the names of types.
pub(super) fn west_const(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut levels = vec![Level::at(0)];
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some(length) = verbatim(rest, &out) {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        if let Some(qualifier) = qualifier(rest) {
            rest = &rest[qualifier.len()..];
            match levels.last_mut() {
                Some(level) if !level.is_over && out.len() > level.name => {
                    out.insert_str(level.name, &format!("{} ", &qualifier[1..]));
                    level.name += qualifier.len();
                }
                _ => out.push_str(qualifier),
            }
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        out.push(letter);
        match letter {
            '(' | '<' | '{' | '[' => {
                if let Some(level) = levels.last_mut() {
                    level.is_over |= letter == '(' || letter == '[';
                }
                levels.push(Level::at(out.len()));
            }
            ')' | '>' | '}' | ']' if levels.len() > 1 => {
                levels.pop();
            }
            ',' => {
                if let Some(spaced) = rest.strip_prefix(' ') {
                    out.push(' ');
                    rest = spaced;
                }
                if let Some(level) = levels.last_mut() {
                    *level = Level::at(out.len());
                }
            }
            '*' | '&' => {
                if let Some(level) = levels.last_mut() {
                    level.is_over = true;
                }
            }
            _ => {}
        }
    }
    out
}

/// Length of a prefix of `rest` that belongs to a name although its characters look like type syntax.
fn verbatim(rest: &str, before: &str) -> Option<usize> {
    if rest.starts_with(ANONYMOUS) {
        return Some(ANONYMOUS.len());
    }
    let is_symbol = |letter: char| "<>=!+-*/%&|^~()[],".contains(letter);
    let name = rest.strip_prefix("operator").filter(|name| name.starts_with(is_symbol))?;
    if before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_') {
        return None;
    }
    let symbols = match name {
        _ if name.starts_with("()") || name.starts_with("[]") => 2,
        // Parameters or template arguments follow the operator's symbol.
        _ => name.find(|letter: char| !"<>=!+-*/%&|^~,".contains(letter)).unwrap_or(name.len()),
    };
    Some("operator".len() + symbols)
}

/// Qualifier at the start of `rest` that is a whole word.
fn qualifier(rest: &str) -> Option<&'static str> {
    QUALIFIERS.into_iter().find(|qualifier| {
        rest.strip_prefix(qualifier).is_some_and(|behind| {
            !behind.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualifiers_of_names_move_and_of_pointers_stay() {
        for (text, expected) in [
            ("f(int const*, int)", "f(const int*, int)"),
            ("f(int const* const)", "f(const int* const)"),
            ("f(char const* const*)", "f(const char* const*)"),
            ("f(unsigned long const&)", "f(const unsigned long&)"),
            ("f(float const (*) [4])", "f(const float (*) [4])"),
            ("f(A<int const*> const&)", "f(const A<const int*>&)"),
            ("A<int const>::f(B::C const&)", "A<const int>::f(const B::C&)"),
            ("A::f(int) const", "A::f(int) const"),
            ("f(void (*)(int const*))", "f(void (*)(const int*))"),
            ("f((anonymous namespace)::T const*)", "f(const (anonymous namespace)::T*)"),
            ("A::operator()(int const&)", "A::operator()(const int&)"),
            ("A::operator<(A const&)", "A::operator<(const A&)"),
            ("f(int const volatile*)", "f(const volatile int*)"),
            ("f(constant const*)", "f(const constant*)"),
            ("f(int*)::s", "f(int*)::s"),
            ("f", "f"),
            (")>, const", ")>, const"),
        ] {
            assert_eq!(west_const(text), expected, "{text}");
        }
    }
}
