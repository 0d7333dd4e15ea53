//! Comments at the head of a file test.

use crate::textures::Declared;
use crate::values::{Kind, Tolerance, ValueError, Values, parse_values};
use functional::launch::LaunchShape;

/// File test as described by its comments.
pub(crate) struct FileTest {
    pub(crate) kernel: Option<String>,
    shape: Shape,
    pub(crate) shared: u32,
    pub(crate) cluster: Option<[u32; 3]>,
    /// Parameters in order.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) expectations: Vec<Expectation>,
}

enum Shape {
    Fixed(LaunchShape),
    /// Any shape with this many threads.
    Threads(u32),
}

/// Parameter of the kernel.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Elements of a buffer; `None` for scalars.
    pub(crate) count: Option<usize>,
    pub(crate) values: Values,
    /// Texture or surface, if the parameter is one. The values of such a parameter are those of the
    /// channels.
    pub(crate) texture: Option<Declared>,
    /// Indices of the earlier buffers that a multicast address stands for.
    pub(crate) multicast: Vec<usize>,
}

/// Required result.
pub(crate) enum Expectation {
    /// Contents of the buffer parameter.
    Buffer {
        parameter: usize,
        tolerance: Tolerance,
        values: Values,
    },
    Printed(String),
    Fault(String),
    Refused(String),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DirectiveError {
    #[error("line {0}: unknown directive; see tests/ptx/README.md")]
    Unknown(usize),
    #[error("line {line}: `{text}` is invalid")]
    Malformed { line: usize, text: String },
    #[error("line {line}: no buffer `{name}` stands above")]
    NoBuffer { line: usize, name: String },
    #[error("line {line}: {error}")]
    Value { line: usize, error: ValueError },
    #[error("the file expects nothing")]
    NothingExpected,
}

impl FileTest {
    /// Returns the grids and blocks to run with.
    pub(crate) fn shapes(&self) -> Vec<LaunchShape> {
        match self.shape {
            Shape::Fixed(shape) => vec![shape],
            Shape::Threads(threads) => [32, 8, 1]
                .into_iter()
                .filter(|block| threads % block == 0)
                .map(|block| LaunchShape::new([threads / block, 1, 1], [block, 1, 1]))
                .collect(),
        }
    }

    pub(crate) fn expects_refusal(&self) -> bool {
        self.expectations.iter().any(|expectation| matches!(expectation, Expectation::Refused(_)))
    }
}

/// Parses the comments before the first line of PTX.
pub(crate) fn parse(text: &str) -> Result<FileTest, DirectiveError> {
    let mut test = FileTest {
        kernel: None,
        shape: Shape::Fixed(LaunchShape::new([1; 3], [32, 1, 1])),
        shared: 0,
        cluster: None,
        parameters: Vec::new(),
        expectations: Vec::new(),
    };
    for (line, directive) in directives(text) {
        let (head, body) = directive.split_once(':').ok_or_else(|| malformed(line, &directive))?;
        let (word, subject) = head.split_once(' ').unwrap_or((head, ""));
        match word {
            "run" => test.read_run(line, body)?,
            "buffer" | "scalar" => test.parameters.push(parameter(line, word, subject, body)?),
            "multicast" => {
                let parameter = test.multicast(line, subject, body)?;
                test.parameters.push(parameter);
            }
            "texture" | "surface" => test.parameters.push(texture(line, word, subject, body)?),
            "expect" => {
                let expectation = test.expectation(line, subject, body.trim())?;
                test.expectations.push(expectation);
            }
            _ => return Err(DirectiveError::Unknown(line)),
        }
    }
    if test.expectations.is_empty() { Err(DirectiveError::NothingExpected) } else { Ok(test) }
}

/// Returns directives with their first lines. Continuation lines are joined.
fn directives(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        let Some(comment) = line.strip_prefix("//") else { break };
        if let (Some(more), true) = (comment.strip_prefix("   "), open) {
            if let Some((_, directive)) = found.last_mut() {
                directive.push(' ');
                directive.push_str(more);
            }
            continue;
        }
        let comment = comment.trim_start();
        let word = comment.split([' ', ':']).next().unwrap_or_default();
        open = matches!(word, "run" | "buffer" | "multicast" | "scalar" | "texture" | "surface" | "expect")
            && comment.contains(':');
        if open {
            found.push((number + 1, comment.to_owned()));
        }
    }
    found
}

fn malformed(line: usize, text: &str) -> DirectiveError {
    DirectiveError::Malformed { line, text: text.trim().to_owned() }
}

fn parameter(line: usize, word: &str, name: &str, body: &str) -> Result<Parameter, DirectiveError> {
    let (declaration, values) = body.split_once('=').unwrap_or((body, ""));
    let declaration = declaration.trim();
    let (kind, count) = match declaration.split_once('[') {
        Some((kind, count)) => {
            let count = count.strip_suffix(']').and_then(|count| count.trim().parse().ok());
            (kind, Some(count.ok_or_else(|| malformed(line, declaration))?))
        }
        None => (declaration, None),
    };
    let kind = Kind::from_name(kind).ok_or_else(|| malformed(line, declaration))?;
    if name.is_empty() || (word == "buffer") != count.is_some() {
        return Err(malformed(line, declaration));
    }
    let values = parse_values(values, kind, count.unwrap_or(1))
        .map_err(|error| DirectiveError::Value { line, error })?;
    Ok(Parameter { name: name.to_owned(), kind, count, values, texture: None, multicast: Vec::new() })
}

fn texture(line: usize, word: &str, name: &str, body: &str) -> Result<Parameter, DirectiveError> {
    // Properties also contain `=`. The one before the values has blanks around it.
    let (declaration, values) = body.split_once(" = ").unwrap_or((body, ""));
    let declared = Declared::parse(declaration.trim(), word == "surface");
    let (Some(declared), false) = (declared, name.is_empty()) else {
        return Err(malformed(line, declaration));
    };
    let count = declared.count().ok_or_else(|| malformed(line, declaration))?;
    let values =
        parse_values(values, declared.kind, count).map_err(|error| DirectiveError::Value { line, error })?;
    let (name, kind) = (name.to_owned(), declared.kind);
    Ok(Parameter { name, kind, count: Some(count), values, texture: Some(declared), multicast: Vec::new() })
}

impl FileTest {
    fn read_run(&mut self, line: usize, body: &str) -> Result<(), DirectiveError> {
        let (mut grid, mut block) = ([1; 3], [32, 1, 1]);
        for item in body.split_whitespace() {
            let wrong = || malformed(line, item);
            let (key, value) = item.split_once('=').ok_or_else(wrong)?;
            match key {
                "kernel" => self.kernel = Some(value.to_owned()),
                "cluster" => self.cluster = Some(extent(value).ok_or_else(wrong)?),
                "shared" => self.shared = value.parse().map_err(|_| wrong())?,
                "grid" => grid = extent(value).ok_or_else(wrong)?,
                "block" => block = extent(value).ok_or_else(wrong)?,
                "threads" => {
                    self.shape = Shape::Threads(value.parse().map_err(|_| wrong())?);
                }
                _ => return Err(wrong()),
            }
        }
        if !matches!(self.shape, Shape::Threads(_)) {
            self.shape = Shape::Fixed(LaunchShape::new(grid, block));
        }
        Ok(())
    }

    /// Parses an address that stands for several buffers.
    fn multicast(&self, line: usize, name: &str, body: &str) -> Result<Parameter, DirectiveError> {
        let number = |buffer: &str| {
            let found = self.parameters.iter().position(|it| it.name == buffer && it.count.is_some());
            found.ok_or_else(|| DirectiveError::NoBuffer { line, name: buffer.to_owned() })
        };
        let multicast = body.split_whitespace().map(number).collect::<Result<_, _>>()?;
        let kind = Kind::from_name("b64").ok_or_else(|| malformed(line, body))?;
        let values = parse_values("", kind, 1).map_err(|error| DirectiveError::Value { line, error })?;
        Ok(Parameter { name: name.to_owned(), kind, count: None, values, texture: None, multicast })
    }

    fn expectation(&self, line: usize, subject: &str, body: &str) -> Result<Expectation, DirectiveError> {
        match subject {
            "printed" => {
                let text = body.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                return text
                    .map(|text| Expectation::Printed(unescape(text)))
                    .ok_or_else(|| malformed(line, body));
            }
            "fault" => return Ok(Expectation::Fault(body.to_owned())),
            "refused" => return Ok(Expectation::Refused(body.to_owned())),
            _ => {}
        }
        let (name, tolerance) = subject.split_once(" within ").unwrap_or((subject, "0 ulp"));
        let tolerance = Tolerance::from_text(tolerance).ok_or_else(|| malformed(line, subject))?;
        let found = self.parameters.iter().enumerate().find_map(|(number, parameter)| {
            (parameter.name == name).then_some((number, parameter.kind, parameter.count?))
        });
        let Some((parameter, kind, count)) = found else {
            return Err(DirectiveError::NoBuffer { line, name: name.to_owned() });
        };
        let values =
            parse_values(body, kind, count).map_err(|error| DirectiveError::Value { line, error })?;
        Ok(Expectation::Buffer { parameter, tolerance, values })
    }
}

/// Parses `4x2x1` or `8`.
fn extent(text: &str) -> Option<[u32; 3]> {
    let mut extent = [1; 3];
    let parts: Vec<&str> = text.split('x').collect();
    for (part, axis) in parts.iter().zip(&mut extent) {
        *axis = part.parse().ok()?;
    }
    (parts.len() <= 3).then_some(extent)
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, false) => plain.push(character),
            (_, true) => plain.push(match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            }),
        }
    }
    plain
}
