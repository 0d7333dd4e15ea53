//! Initial values of variables: nested braces, numbers, addresses (PTX manual 5.4.4).
//!
//! Tables of megabytes occur. The list is therefore scanned by hand, and plain numbers bypass the grammar;
//! other values use it.

use super::error::ResolveError;
use super::immediate::convert;
use crate::ir::Initial;
use crate::isa::ScalarType;
use crate::parse::constant::{Constant, literal};
use crate::parse::grammar::{self, Initial as Value};
use crate::parse::tree::Word;
use crate::source::narrow;

/// Layout of the initialised variable.
pub(super) struct Layout<'a> {
    pub(super) name: &'a str,
    pub(super) ty: ScalarType,
    pub(super) lanes: u32,
    /// Dimensions, outermost first; the outermost may be open.
    pub(super) dimensions: &'a [Option<u64>],
}

/// Maximum bytes of an initialised variable, as written in the text, not as declared.
const LARGEST: u64 = 1 << 32;

struct Filler<'a> {
    layout: &'a Layout<'a>,
    /// Bytes of an item within `n` braces: of the whole variable (0 if open), of a row, … of a number.
    strides: Vec<u64>,
    /// Offset of the next value.
    offset: u64,
    /// End of the bytes written or skipped.
    end: u64,
    values: Vec<Initial>,
}

/// Values in `text`, and the number of items of the outermost dimension.
pub(super) fn parse(layout: &Layout<'_>, text: Word<'_>) -> Result<(Vec<Initial>, u64), ResolveError> {
    let element = u64::from(layout.ty.bytes());
    let mut strides = vec![element];
    if layout.dimensions.iter().skip(1).any(Option::is_none) {
        let missing = "size for each inner dimension";
        return Err(ResolveError::Incomplete { name: layout.name.to_owned(), missing });
    }
    if layout.lanes > 1 {
        strides.push(element * u64::from(layout.lanes));
    }
    for size in layout.dimensions.iter().rev() {
        let inner = strides.last().copied().unwrap_or(element);
        let stride = inner.checked_mul(size.unwrap_or(0));
        strides.push(stride.ok_or_else(|| ResolveError::TooLarge { name: layout.name.to_owned() })?);
    }
    strides.reverse();
    let mut filler = Filler { layout, strides, offset: 0, end: 0, values: Vec::new() };
    filler.fill(text)?;
    let row = filler.strides.get(1).copied().unwrap_or(element).max(1);
    Ok((filler.values, filler.end.div_ceil(row)))
}

impl Filler<'_> {
    fn fail(&self, reason: impl Into<String>) -> ResolveError {
        ResolveError::Initialiser { name: self.layout.name.to_owned(), reason: reason.into() }
    }

    fn fill(&mut self, text: Word<'_>) -> Result<(), ResolveError> {
        let bytes = text.text.as_bytes();
        let mut at = 0;
        // Offset of the item of each open brace.
        let mut open: Vec<u64> = Vec::new();
        let mut after_value = false;
        loop {
            at = skip_blank(bytes, at);
            match bytes.get(at) {
                None => break,
                Some(b'{') => {
                    if open.len() + 1 >= self.strides.len() || after_value {
                        return Err(self.fail("more braces than the variable has dimensions"));
                    }
                    open.push(self.offset);
                    at += 1;
                }
                Some(b'}') => {
                    let Some(began) = open.pop() else { return Err(self.fail("`}` without `{`")) };
                    let stride = self.strides.get(open.len()).copied().unwrap_or(0);
                    if stride > 0 {
                        if self.offset > began.saturating_add(stride) {
                            return Err(self.fail("more values than the variable has elements"));
                        }
                        self.offset = began.saturating_add(stride);
                    }
                    self.end = self.end.max(self.offset);
                    after_value = true;
                    at += 1;
                }
                Some(b',') if !after_value => return Err(self.fail("`,` without a value before it")),
                Some(b',') => {
                    after_value = false;
                    at += 1;
                }
                Some(_) => {
                    let end = value_end(bytes, at);
                    let value = Word {
                        text: text.text.get(at..end).unwrap_or("").trim_end(),
                        at: text.at.saturating_add(narrow(at)),
                    };
                    self.value(value)?;
                    after_value = true;
                    at = end;
                }
            }
        }
        if open.is_empty() { Ok(()) } else { Err(self.fail("`{` without `}`")) }
    }

    fn value(&mut self, text: Word<'_>) -> Result<(), ResolveError> {
        let whole = self.strides.first().copied().unwrap_or(0);
        let width = u64::from(self.layout.ty.bytes());
        let next = self.offset.saturating_add(width);
        if whole > 0 && next > whole || next > LARGEST {
            return Err(self.fail("more values than the variable has elements"));
        }
        if text.text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && let Ok(constant) = literal(text.text)
        {
            return self.constant(constant, next);
        }
        match grammar::initial(text.text, text.at) {
            Ok(Value::Constant(constant)) => self.constant(constant, next),
            Ok(Value::Address { mask, name, generic, offset }) => {
                let (shift, width) = self.mask(mask)?;
                self.values.push(Initial::Address {
                    offset: self.offset,
                    symbol: name.text.to_owned(),
                    addend: offset,
                    width,
                    shift,
                    generic,
                });
                self.advance(next);
                Ok(())
            }
            Err(error) => Err(self.fail(format!("`{}`: {error}", text.text))),
        }
    }

    /// Shift and width of the bytes in `0xFF00(symbol)`.
    fn mask(&self, mask: Option<u64>) -> Result<(u32, u32), ResolveError> {
        let Some(mask) = mask else { return Ok((0, self.layout.ty.bytes())) };
        let shift = mask.trailing_zeros();
        match mask.checked_shr(shift) {
            Some(0xFF) if shift % 8 == 0 => Ok((shift, 1)),
            _ => Err(self.fail(format!("mask {mask:#X} must select one byte of the address"))),
        }
    }

    fn constant(&mut self, constant: Constant, next: u64) -> Result<(), ResolveError> {
        let bits = convert(constant, self.layout.ty)?;
        let width = self.layout.ty.bytes() as usize;
        let little_endian = u128::from(bits).to_le_bytes();
        let bytes = little_endian.get(..width).unwrap_or(&little_endian);
        match self.values.last_mut() {
            Some(Initial::Bytes { offset, bytes: last }) if *offset + last.len() as u64 == self.offset => {
                last.extend_from_slice(bytes);
            }
            _ => self.values.push(Initial::Bytes { offset: self.offset, bytes: bytes.to_vec() }),
        }
        self.advance(next);
        Ok(())
    }

    fn advance(&mut self, next: u64) {
        self.offset = next;
        self.end = self.end.max(next);
    }
}

fn skip_blank(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or(&[]);
    at + rest.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == 0x0B).count()
}

/// End of the value at `begin`: the next comma or brace outside of parentheses.
fn value_end(bytes: &[u8], at: usize) -> usize {
    let mut depth = 0u32;
    let mut end = at;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => break,
            b'{' | b'}' => break,
            _ => {}
        }
        end += 1;
    }
    end.max(at + 1)
}
