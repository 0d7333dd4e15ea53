//! Fast scan of a module into its top-level items, without parsing functions.
//!
//! The scan is one pass over the bytes, so a module of megabytes with thousands of kernels opens in
//! milliseconds. The scanner knows comments, strings and nested braces, and ends each item according to the
//! manual's module-scope syntax (PTX manual 4.3 and 11).

use crate::ir::Linkage;
use crate::source::Span;

/// A function at module scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionItem {
    /// `.entry` or `.func`.
    pub kind: FunctionKind,
    /// Linkage.
    pub linkage: Linkage,
    /// Name.
    pub name: Span,
    /// Header, from the first directive up to the body or the closing semicolon.
    pub header: Span,
    /// Body between the braces, without them; `None` for a declaration.
    pub body: Option<Span>,
}

/// Kernel or device function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `.entry`.
    Kernel,
    /// `.func`.
    Device,
}

/// Top-level items of a module, in text order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// `.version`: major and minor.
    pub version: Option<(u32, u32)>,
    /// List after `.target`, such as `sm_70, debug`.
    pub target: Option<Span>,
    /// `.address_size`.
    pub address_size: Option<u32>,
    /// Declared and defined functions.
    pub functions: Vec<FunctionItem>,
    /// Variable declarations, without the closing semicolon.
    pub variables: Vec<Span>,
    /// `.file` directives.
    pub files: Vec<Span>,
    /// `.alias a, b` directives, without the semicolon.
    pub aliases: Vec<Span>,
    /// `.pragma` directives, without the semicolon.
    pub pragmas: Vec<Span>,
}

/// Reason for which a text cannot be split into top-level items.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutlineError {
    /// Unclosed comment, string, parenthesis or brace.
    #[error("{what} is not closed")]
    NotClosed {
        /// Position of the opening.
        at: u32,
        /// Kind of the construct.
        what: &'static str,
    },
    /// Text that cannot begin a directive.
    #[error("expected a directive (`.version`, `.entry`, `.global` …), found `{text}`")]
    NotADirective {
        /// Position.
        at: u32,
        /// Word found.
        text: String,
    },
    /// Function header without a name.
    #[error("the function has no name")]
    NoName {
        /// Position of the header.
        at: u32,
    },
    /// Kernel with results.
    #[error("a kernel (`.entry`) has no results, and its name stands before its parameters")]
    KernelResults {
        /// Position of the results.
        at: u32,
    },
    /// `.version` without a number.
    #[error("`.version` requires a number such as 7.0")]
    BadVersion {
        /// Position.
        at: u32,
    },
}

impl OutlineError {
    /// Byte offset of the error.
    pub fn at(&self) -> u32 {
        match self {
            OutlineError::NotClosed { at, .. }
            | OutlineError::NotADirective { at, .. }
            | OutlineError::NoName { at }
            | OutlineError::KernelResults { at }
            | OutlineError::BadVersion { at } => *at,
        }
    }
}

impl Outline {
    /// Scans the text of a module.
    pub fn of(text: &str) -> Result<Outline, OutlineError> {
        let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
        let mut outline = Outline::default();
        loop {
            scanner.skip_blank()?;
            // Fat binaries pad their text with NULs.
            if matches!(scanner.peek(), None | Some(0)) {
                return Ok(outline);
            }
            scanner.item(text, &mut outline)?;
        }
    }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

/// Directives that begin an item. Compilers of CUDA 2 to 4 write no semicolon after a function's prototype.
const BEGINS_ITEM: [&[u8]; 18] = [
    b".version",
    b".target",
    b".address_size",
    b".file",
    b".section",
    b".loc",
    b".alias",
    b".visible",
    b".extern",
    b".weak",
    b".common",
    b".entry",
    b".func",
    b".global",
    b".const",
    b".shared",
    b".local",
    b".tex",
];

/// Bytes at which the scan of a body or initialiser must look closer.
const NOTABLE: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    let notable = b"{}\"/();";
    while i < notable.len() {
        table[notable[i] as usize] = true;
        i += 1;
    }
    table
};

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn peek_second(&self) -> Option<u8> {
        self.bytes.get(self.at + 1).copied()
    }

    fn not_closed(&self, at: usize, what: &'static str) -> OutlineError {
        OutlineError::NotClosed { at: Span::new(at, at).start, what }
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Result<(), OutlineError> {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | 0x0B | 0x0C => self.at += 1,
                b'/' if matches!(self.peek_second(), Some(b'/' | b'*')) => self.skip_comment()?,
                _ => break,
            }
        }
        Ok(())
    }

    /// Skips a comment, or a slash that begins none.
    fn skip_comment(&mut self) -> Result<(), OutlineError> {
        let start = self.at;
        match self.peek_second() {
            Some(b'/') => self.skip_line(),
            Some(b'*') => {
                self.at += 2;
                loop {
                    match (self.peek(), self.peek_second()) {
                        (Some(b'*'), Some(b'/')) => break,
                        (None, _) => return Err(self.not_closed(start, "a comment")),
                        _ => self.at += 1,
                    }
                }
                self.at += 2;
            }
            _ => self.at += 1,
        }
        Ok(())
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    fn skip_string(&mut self) -> Result<(), OutlineError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => return Err(self.not_closed(start, "a string")),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Skips from `{` past the matching `}`.
    fn skip_braces(&mut self) -> Result<(), OutlineError> {
        let start = self.at;
        let mut depth = 0usize;
        while let Some(byte) = self.next_notable() {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                b'/' => {
                    self.skip_comment()?;
                    continue;
                }
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        Err(self.not_closed(start, "`{`"))
    }

    /// Skips from `(` past the matching `)`.
    fn skip_parentheses(&mut self) -> Result<(), OutlineError> {
        let start = self.at;
        let mut depth = 0usize;
        while let Some(byte) = self.next_notable() {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b'/' => {
                    self.skip_comment()?;
                    continue;
                }
                b'{' | b'}' | b';' => break,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        Err(self.not_closed(start, "`(`"))
    }

    fn next_notable(&mut self) -> Option<u8> {
        let rest = self.bytes.get(self.at..)?;
        let ahead = rest.iter().position(|&byte| NOTABLE[byte as usize])?;
        self.at += ahead;
        self.peek()
    }

    /// Skips up to the `;` outside of braces, or to the end of the text.
    fn skip_to_semicolon(&mut self) -> Result<(), OutlineError> {
        while let Some(byte) = self.next_notable() {
            match byte {
                b';' => return Ok(()),
                b'{' => self.skip_braces()?,
                b'"' => self.skip_string()?,
                b'/' => self.skip_comment()?,
                _ => self.at += 1,
            }
        }
        self.at = self.bytes.len();
        Ok(())
    }

    fn word(&mut self) -> Span {
        let start = self.at;
        if matches!(self.peek(), Some(b'.' | b'@')) {
            self.at += 1;
        }
        while self.peek().is_some_and(is_word) {
            self.at += 1;
        }
        Span::new(start, self.at)
    }

    fn item(&mut self, text: &str, outline: &mut Outline) -> Result<(), OutlineError> {
        let start = self.at;
        let first = self.word();
        match first.of(text) {
            ".version" => outline.version = Some(self.version(text)?),
            ".target" => outline.target = Some(self.list()?),
            ".address_size" => {
                self.skip_blank()?;
                outline.address_size = self.word().of(text).parse().ok();
            }
            ".file" => {
                self.file()?;
                outline.files.push(Span::new(start, self.at));
            }
            ".section" => {
                while self.peek().is_some_and(|byte| byte != b'{') {
                    self.at += 1;
                }
                self.skip_braces_here(start)?;
            }
            "@" => self.skip_line(),
            ".loc" => self.skip_line(),
            ".pragma" => outline.pragmas.push(self.statement(start)?),
            ".alias" => outline.aliases.push(self.statement(start)?),
            "" if self.peek() == Some(b';') => self.at += 1,
            word if word.starts_with('.') && word.len() > 1 => {
                self.at = start;
                self.declaration(text, outline)?;
            }
            _ => {
                let line = text.get(start..).unwrap_or("").lines().next().unwrap_or("");
                let shown = line.split_whitespace().next().unwrap_or("").chars().take(40).collect();
                return Err(OutlineError::NotADirective { at: first.start, text: shown });
            }
        }
        Ok(())
    }

    fn skip_braces_here(&mut self, start: usize) -> Result<(), OutlineError> {
        match self.peek() {
            Some(b'{') => self.skip_braces(),
            _ => Err(self.not_closed(start, "`.section`")),
        }
    }

    /// Text from `start` up to the semicolon, which is skipped.
    fn statement(&mut self, start: usize) -> Result<Span, OutlineError> {
        self.skip_to_semicolon()?;
        let span = Span::new(start, self.at);
        self.at += 1;
        Ok(span)
    }

    fn version(&mut self, text: &str) -> Result<(u32, u32), OutlineError> {
        self.skip_blank()?;
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit() || byte == b'.') {
            self.at += 1;
        }
        let span = Span::new(start, self.at);
        let (major, minor) = span.of(text).split_once('.').unwrap_or((span.of(text), "0"));
        match (major.parse(), minor.parse()) {
            (Ok(major), Ok(minor)) => Ok((major, minor)),
            _ => Err(OutlineError::BadVersion { at: span.start }),
        }
    }

    /// Text of `a, b, c` without a closing mark.
    fn list(&mut self) -> Result<Span, OutlineError> {
        self.skip_blank()?;
        let start = self.at;
        loop {
            self.word();
            let end = self.at;
            self.skip_blank()?;
            if self.peek() != Some(b',') {
                return Ok(Span::new(start, end));
            }
            self.at += 1;
            self.skip_blank()?;
        }
    }

    /// Skips the rest of `.file`: a number, a string, optionally `, number, number`.
    fn file(&mut self) -> Result<(), OutlineError> {
        self.skip_blank()?;
        self.word();
        self.skip_blank()?;
        if self.peek() == Some(b'"') {
            self.skip_string()?;
        }
        let mut end = self.at;
        self.skip_blank()?;
        while self.peek() == Some(b',') {
            self.at += 1;
            self.skip_blank()?;
            self.word();
            end = self.at;
            self.skip_blank()?;
        }
        self.at = end;
        Ok(())
    }

    /// Scans a function or variable, after its linkage.
    fn declaration(&mut self, text: &str, outline: &mut Outline) -> Result<(), OutlineError> {
        let start = self.at;
        let mut linkage = Linkage::Internal;
        loop {
            self.skip_blank()?;
            match self.word().of(text) {
                ".visible" => linkage = Linkage::Visible,
                ".extern" => linkage = Linkage::Extern,
                ".weak" => linkage = Linkage::Weak,
                ".common" => linkage = Linkage::Common,
                ".entry" => {
                    let function = self.function(start, FunctionKind::Kernel, linkage)?;
                    outline.functions.push(function);
                    return Ok(());
                }
                ".func" => {
                    let function = self.function(start, FunctionKind::Device, linkage)?;
                    outline.functions.push(function);
                    return Ok(());
                }
                _ => {
                    let span = self.statement(start)?;
                    outline.variables.push(span);
                    return Ok(());
                }
            }
        }
    }

    /// Scans the rest of `.entry` or `.func`: attributes, results, name, parameters, performance
    /// directives, body.
    fn function(
        &mut self,
        start: usize,
        kind: FunctionKind,
        linkage: Linkage,
    ) -> Result<FunctionItem, OutlineError> {
        let mut name: Option<Span> = None;
        loop {
            self.skip_blank()?;
            match self.peek() {
                None => break,
                Some(b';') => break,
                Some(b'{') => break,
                Some(b'(') if name.is_none() && kind == FunctionKind::Kernel => {
                    return Err(OutlineError::KernelResults { at: Span::new(self.at, self.at).start });
                }
                Some(b'(') => self.skip_parentheses()?,
                Some(b'"') => self.skip_string()?,
                Some(b'@') if name.is_some() => break,
                Some(b'.') => {
                    let start = self.at;
                    let word = self.word();
                    let text = self.bytes.get(word.start as usize..word.end as usize).unwrap_or_default();
                    if name.is_some() && kind == FunctionKind::Device && BEGINS_ITEM.contains(&text) {
                        self.at = start;
                        break;
                    }
                    if text == b".pragma" {
                        self.skip_to_semicolon()?;
                        self.at += 1;
                    }
                }
                Some(byte) if is_word(byte) => {
                    let word = self.word();
                    name.get_or_insert(word);
                }
                Some(_) => self.at += 1,
            }
        }
        let header = Span::new(start, self.at.min(self.bytes.len()));
        let Some(name) = name else { return Err(OutlineError::NoName { at: header.start }) };
        let mut body = None;
        if self.peek() == Some(b'{') {
            let open = self.at;
            self.skip_braces()?;
            body = Some(Span::new(open + 1, self.at - 1));
        } else if self.peek() == Some(b';') {
            self.at += 1;
        }
        Ok(FunctionItem { kind, linkage, name, header, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"
// A comment with { and "
.version 7.8
.target sm_70, debug
.address_size 64
.file 1 "a { b.cu", 12, 34
.visible .global .align 4 .b8 table[4] = {1, {2}, 3}; /* } */
.extern .func (.param .b32 r) vprintf (.param .b64 a) .noreturn ;
.weak .func f (.param .b32 a) { { ret; } }
.visible .entry k (.param .u64 p) .maxntid 16, 1, 1 .pragma "x;{"; { .pragma "}"; // }
  ret; }
.alias g, f;
.section .debug_info { .b8 1 }
"#;

    #[test]
    fn items_are_found_with_their_spans() {
        let outline = Outline::of(MODULE).unwrap();
        assert_eq!((outline.version, outline.address_size), (Some((7, 8)), Some(64)));
        assert_eq!(outline.target.unwrap().of(MODULE), "sm_70, debug");
        let text = |spans: &[Span]| spans.iter().map(|span| span.of(MODULE)).collect::<Vec<_>>();
        assert_eq!(text(&outline.variables), [".visible .global .align 4 .b8 table[4] = {1, {2}, 3}"]);
        assert_eq!(text(&outline.files), [".file 1 \"a { b.cu\", 12, 34"]);
        assert_eq!(text(&outline.aliases), [".alias g, f"]);
    }

    #[test]
    fn functions_have_kind_linkage_name_and_body() {
        let outline = Outline::of(MODULE).unwrap();
        let shape = |item: &FunctionItem| {
            (item.kind, item.linkage, item.name.of(MODULE), item.body.map(|body| body.of(MODULE).trim()))
        };
        let shapes: Vec<_> = outline.functions.iter().map(shape).collect();
        let body = ".pragma \"}\"; // }\n  ret;";
        assert_eq!(
            shapes,
            [
                (FunctionKind::Device, Linkage::Extern, "vprintf", None),
                (FunctionKind::Device, Linkage::Weak, "f", Some("{ ret; }")),
                (FunctionKind::Kernel, Linkage::Visible, "k", Some(body)),
            ]
        );
        assert!(outline.functions[2].header.of(MODULE).ends_with(".pragma \"x;{\"; "));
    }

    #[test]
    fn empty_text_is_an_empty_module() {
        assert_eq!(Outline::of(" \n// only a comment"), Ok(Outline::default()));
        assert_eq!(Outline::of(".version 7.0\n\0\0\0").unwrap().version, Some((7, 0)));
    }
}
