//! Literals and constant expressions (PTX manual 4.5).

/// Value of a constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant {
    /// `.s64`.
    Signed(i64),
    /// `.u64`: written with `U`, or too large for `.s64`.
    Unsigned(u64),
    /// `.f64`.
    Double(f64),
    /// `0f…`: exact bits of a single, only outside of expressions.
    Single(u32),
}

impl Constant {
    /// 64 bits of an integer constant.
    pub fn integer_bits(self) -> Option<u64> {
        match self {
            Constant::Signed(value) => Some(value.cast_unsigned()),
            Constant::Unsigned(value) => Some(value),
            Constant::Double(_) | Constant::Single(_) => None,
        }
    }

    /// Value of a floating-point constant.
    pub fn float(self) -> Option<f64> {
        match self {
            Constant::Double(value) => Some(value),
            Constant::Single(bits) => Some(f64::from(f32::from_bits(bits))),
            Constant::Signed(_) | Constant::Unsigned(_) => None,
        }
    }

    /// True if the constant counts as true.
    fn holds(self) -> bool {
        match self {
            Constant::Double(value) => value != 0.0,
            Constant::Single(bits) => f32::from_bits(bits) != 0.0,
            _ => self.integer_bits() != Some(0),
        }
    }
}

/// Reason for which a constant has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConstantError {
    /// Malformed number.
    #[error("malformed number (integers: 12, 0x1F, 0b101, 017; floats: 1.5, 0f3F800000, 0d3FF0000000000000)")]
    BadLiteral,
    /// Integer beyond 64 bits.
    #[error("the number does not fit into 64 bits")]
    TooLarge,
    /// `/` or `%` by zero.
    #[error("division by zero in a constant expression")]
    DivisionByZero,
    /// Integer operator on a floating-point number.
    #[error("the operator does not apply to floating-point constants")]
    NotForFloats,
    /// Terms and operators that form no expression.
    #[error("malformed constant expression")]
    Malformed,
    /// Too deeply nested `?` operators.
    #[error("constant expression nested too deeply")]
    TooDeep,
}

/// Operator or term of an expression, in text order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Item<'a> {
    /// A prefix operator, as written.
    Unary(&'a str),
    /// An infix operator, as written.
    Operator(&'a str),
    /// Number, or value of a parenthesised part.
    Value(Constant),
}

/// Value of a literal.
pub fn literal(text: &str) -> Result<Constant, ConstantError> {
    let prefix = text.get(..2).unwrap_or("");
    let rest = text.get(2..).unwrap_or("");
    match prefix {
        "0f" | "0F" if rest.len() == 8 => {
            u32::from_str_radix(rest, 16).map(Constant::Single).map_err(|_| ConstantError::BadLiteral)
        }
        "0d" | "0D" if rest.len() == 16 => u64::from_str_radix(rest, 16)
            .map(|bits| Constant::Double(f64::from_bits(bits)))
            .map_err(|_| ConstantError::BadLiteral),
        "0x" | "0X" => integer(rest, 16),
        "0b" | "0B" => integer(rest, 2),
        _ if text.contains(['.', 'e', 'E']) => {
            text.parse().map(Constant::Double).map_err(|_| ConstantError::BadLiteral)
        }
        _ if text.len() > 1 && text.starts_with('0') && text != "0U" => integer(text, 8),
        _ => integer(text, 10),
    }
}

fn integer(digits: &str, radix: u32) -> Result<Constant, ConstantError> {
    let (digits, unsigned) = match digits.strip_suffix('U') {
        Some(digits) => (digits, true),
        None => (digits, false),
    };
    let value = u64::from_str_radix(digits, radix).map_err(|error| match error.kind() {
        std::num::IntErrorKind::PosOverflow => ConstantError::TooLarge,
        _ => ConstantError::BadLiteral,
    })?;
    Ok(match i64::try_from(value) {
        Ok(signed) if !unsigned => Constant::Signed(signed),
        _ => Constant::Unsigned(value),
    })
}

/// Value of an expression.
pub fn evaluate(items: &[Item<'_>]) -> Result<Constant, ConstantError> {
    let mut evaluation = Evaluation { items, at: 0, depth: 0 };
    let value = evaluation.expression(TERNARY)?;
    if evaluation.at < items.len() { Err(ConstantError::Malformed) } else { Ok(value) }
}

const TERNARY: u8 = 1;
const DEEPEST: u32 = 64;

/// Precedence of an infix operator.
fn precedence(operator: &str) -> Option<u8> {
    Some(match operator {
        "?" => TERNARY,
        "||" => 2,
        "&&" => 3,
        "|" => 4,
        "^" => 5,
        "&" => 6,
        "==" | "!=" => 7,
        "<" | "<=" | ">" | ">=" => 8,
        "<<" | ">>" => 9,
        "+" | "-" => 10,
        "*" | "/" | "%" => 11,
        _ => return None,
    })
}

struct Evaluation<'a> {
    items: &'a [Item<'a>],
    at: usize,
    depth: u32,
}

impl Evaluation<'_> {
    fn next(&mut self) -> Option<Item<'_>> {
        let item = self.items.get(self.at).copied();
        self.at += 1;
        item
    }

    fn expression(&mut self, weakest: u8) -> Result<Constant, ConstantError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ConstantError::TooDeep);
        }
        let mut left = self.unary()?;
        while let Some(Item::Operator(operator)) = self.items.get(self.at).copied() {
            let Some(strength) = precedence(operator).filter(|strength| *strength >= weakest) else { break };
            self.at += 1;
            if strength == TERNARY {
                let then = self.expression(TERNARY)?;
                if self.next() != Some(Item::Operator(":")) {
                    return Err(ConstantError::Malformed);
                }
                let otherwise = self.expression(TERNARY)?;
                left = if left.holds() { then } else { otherwise };
            } else {
                let right = self.expression(strength + 1)?;
                left = binary(operator, left, right)?;
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    fn unary(&mut self) -> Result<Constant, ConstantError> {
        let first = self.at;
        while matches!(self.items.get(self.at), Some(Item::Unary(_))) {
            self.at += 1;
        }
        let operators = self.items.get(first..self.at).unwrap_or(&[]);
        let Some(Item::Value(mut value)) = self.next() else { return Err(ConstantError::Malformed) };
        for operator in operators.iter().rev() {
            if let Item::Unary(operator) = operator {
                value = prefix(operator, value)?;
            }
        }
        Ok(value)
    }
}

fn prefix(operator: &str, value: Constant) -> Result<Constant, ConstantError> {
    Ok(match (operator.as_bytes().first(), value) {
        (Some(b'+'), _) => value,
        (Some(b'!'), _) => Constant::Signed(i64::from(!value.holds())),
        (Some(b'-'), Constant::Signed(value)) => Constant::Signed(value.wrapping_neg()),
        (Some(b'-'), Constant::Unsigned(value)) => Constant::Unsigned(value.wrapping_neg()),
        (Some(b'-'), Constant::Double(value)) => Constant::Double(-value),
        (Some(b'-'), Constant::Single(bits)) => Constant::Single(bits ^ (1 << 31)),
        (Some(b'~'), Constant::Signed(value)) => Constant::Signed(!value),
        (Some(b'~'), Constant::Unsigned(value)) => Constant::Unsigned(!value),
        (Some(b'('), Constant::Signed(value)) if operator.contains('u') => {
            Constant::Unsigned(value.cast_unsigned())
        }
        (Some(b'('), Constant::Unsigned(value)) if operator.contains('s') => {
            Constant::Signed(value.cast_signed())
        }
        (Some(b'('), Constant::Signed(_) | Constant::Unsigned(_)) => value,
        _ => return Err(ConstantError::NotForFloats),
    })
}

fn binary(operator: &str, left: Constant, right: Constant) -> Result<Constant, ConstantError> {
    match operator {
        "&&" => return Ok(Constant::Signed(i64::from(left.holds() && right.holds()))),
        "||" => return Ok(Constant::Signed(i64::from(left.holds() || right.holds()))),
        _ => {}
    }
    match (left, right) {
        (Constant::Signed(left), Constant::Signed(right)) => signed(operator, left, right),
        _ => match (left.integer_bits(), right.integer_bits()) {
            (Some(a), Some(b)) => unsigned(operator, a, b).map(|value| match left {
                // A shift has the type of its left side.
                Constant::Signed(a) if operator == ">>" => Constant::Signed(shift_right(a, b)),
                Constant::Signed(_) if operator == "<<" => Constant::Signed(value.cast_signed()),
                _ if precedence(operator).is_some_and(|strength| matches!(strength, 7 | 8)) => {
                    Constant::Signed(value.cast_signed())
                }
                _ => Constant::Unsigned(value),
            }),
            (None, None) => float(operator, left, right),
            _ => Err(ConstantError::NotForFloats),
        },
    }
}

fn shift_right(value: i64, by: u64) -> i64 {
    value >> by.min(63)
}

fn signed(operator: &str, left: i64, right: i64) -> Result<Constant, ConstantError> {
    let shift = right.cast_unsigned();
    Ok(Constant::Signed(match operator {
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" | "%" if right == 0 => return Err(ConstantError::DivisionByZero),
        "/" => left.wrapping_div(right),
        "%" => left.wrapping_rem(right),
        "<<" => left.checked_shl(u32::try_from(shift).unwrap_or(64)).unwrap_or(0),
        ">>" => shift_right(left, shift),
        "&" => left & right,
        "|" => left | right,
        "^" => left ^ right,
        _ => i64::from(compare(operator, &left, &right)?),
    }))
}

fn unsigned(operator: &str, left: u64, right: u64) -> Result<u64, ConstantError> {
    let shift = u32::try_from(right).unwrap_or(64);
    Ok(match operator {
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.checked_div(right).ok_or(ConstantError::DivisionByZero)?,
        "%" => left.checked_rem(right).ok_or(ConstantError::DivisionByZero)?,
        "<<" => left.checked_shl(shift).unwrap_or(0),
        ">>" => left.checked_shr(shift).unwrap_or(0),
        "&" => left & right,
        "|" => left | right,
        "^" => left ^ right,
        _ => u64::from(compare(operator, &left, &right)?),
    })
}

fn float(operator: &str, left: Constant, right: Constant) -> Result<Constant, ConstantError> {
    let (Some(left), Some(right)) = (left.float(), right.float()) else {
        return Err(ConstantError::NotForFloats);
    };
    Ok(match operator {
        "+" => Constant::Double(left + right),
        "-" => Constant::Double(left - right),
        "*" => Constant::Double(left * right),
        "/" => Constant::Double(left / right),
        "%" | "<<" | ">>" | "&" | "|" | "^" => return Err(ConstantError::NotForFloats),
        _ => Constant::Signed(i64::from(compare(operator, &left, &right)?)),
    })
}

fn compare<T: PartialOrd>(operator: &str, left: &T, right: &T) -> Result<bool, ConstantError> {
    Ok(match operator {
        "==" => left == right,
        "!=" => left != right,
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        ">=" => left >= right,
        _ => return Err(ConstantError::Malformed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Item<'_> {
        Item::Value(literal(text).unwrap())
    }

    #[test]
    fn literals_of_every_base_have_their_values() {
        assert_eq!(literal("12"), Ok(Constant::Signed(12)));
        assert_eq!(literal("0x1F"), Ok(Constant::Signed(31)));
        assert_eq!(literal("0b101U"), Ok(Constant::Unsigned(5)));
        assert_eq!(literal("017"), Ok(Constant::Signed(15)));
        assert_eq!(literal("0"), Ok(Constant::Signed(0)));
        assert_eq!(literal("0xFFFFFFFFFFFFFFFF"), Ok(Constant::Unsigned(u64::MAX)));
        assert_eq!(literal("0f3F800000"), Ok(Constant::Single(0x3F80_0000)));
        assert_eq!(literal("0d3FF0000000000000"), Ok(Constant::Double(1.0)));
        assert_eq!(literal("1.5e3"), Ok(Constant::Double(1500.0)));
    }

    #[test]
    fn malformed_literals_are_errors() {
        assert_eq!(literal("0f3F80"), Err(ConstantError::BadLiteral));
        assert_eq!(literal("018"), Err(ConstantError::BadLiteral));
        assert_eq!(literal("0x"), Err(ConstantError::BadLiteral));
        assert_eq!(literal("99999999999999999999999"), Err(ConstantError::TooLarge));
    }

    #[test]
    fn operators_bind_as_in_c() {
        let items = [number("1"), Item::Operator("+"), number("2"), Item::Operator("*"), number("3")];
        assert_eq!(evaluate(&items), Ok(Constant::Signed(7)));
        let choice = [
            number("0"),
            Item::Operator("?"),
            number("1"),
            Item::Operator(":"),
            number("0"),
            Item::Operator("?"),
            number("2"),
            Item::Operator(":"),
            number("3"),
        ];
        assert_eq!(evaluate(&choice), Ok(Constant::Signed(3)));
        let minus = [Item::Unary("-"), number("1"), Item::Operator(">>"), number("1")];
        assert_eq!(evaluate(&minus), Ok(Constant::Signed(-1)));
    }

    #[test]
    fn division_by_zero_and_deep_choices_are_errors() {
        assert_eq!(
            evaluate(&[number("1"), Item::Operator("%"), number("0")]),
            Err(ConstantError::DivisionByZero)
        );
        let nested: Vec<_> =
            (0..1000).flat_map(|_| [number("1"), Item::Operator("?")]).chain([number("1")]).collect();
        assert_eq!(evaluate(&nested), Err(ConstantError::TooDeep));
    }
}
