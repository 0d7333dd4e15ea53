//! Integer expressions over an element's index, with C's operators and precedence.

#[derive(Debug, thiserror::Error)]
pub(crate) enum ExpressionError {
    #[error("`{0}` is not understood")]
    Malformed(String),
    #[error("division by zero, or a shift by less than 0 or more than 127")]
    Undefined,
}

pub(crate) enum Expression {
    Number(i128),
    Index,
    Negated(Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
}

/// Binary operators by level, lowest precedence first.
const LEVELS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];

/// Parses an expression.
pub(crate) fn parse(text: &str) -> Result<Expression, ExpressionError> {
    let mut rest = text.trim();
    let expression = binary(&mut rest, 0)?;
    if rest.is_empty() { Ok(expression) } else { Err(ExpressionError::Malformed(rest.to_owned())) }
}

fn binary(rest: &mut &str, level: usize) -> Result<Expression, ExpressionError> {
    let Some(operators) = LEVELS.get(level) else { return unary(rest) };
    let mut left = binary(rest, level + 1)?;
    while let Some(operator) = operators.iter().find(|operator| rest.starts_with(**operator)) {
        *rest = rest[operator.len()..].trim_start();
        let right = binary(rest, level + 1)?;
        left = Expression::Binary(operator, Box::new(left), Box::new(right));
    }
    Ok(left)
}

fn unary(rest: &mut &str) -> Result<Expression, ExpressionError> {
    if let Some(after) = rest.strip_prefix('-') {
        *rest = after.trim_start();
        return Ok(Expression::Negated(Box::new(unary(rest)?)));
    }
    if let Some(after) = rest.strip_prefix('(') {
        *rest = after.trim_start();
        let inner = binary(rest, 0)?;
        let after = rest.strip_prefix(')').ok_or_else(|| ExpressionError::Malformed((*rest).to_owned()))?;
        *rest = after.trim_start();
        return Ok(inner);
    }
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let (word, after) = rest.split_at(length);
    *rest = after.trim_start();
    let number = match word.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16),
        None if word == "i" => return Ok(Expression::Index),
        None => word.parse(),
    };
    number.map(Expression::Number).map_err(|_| ExpressionError::Malformed(word.to_owned()))
}

impl Expression {
    /// Returns the value for the element at `index`, wrapping at 128 bits.
    pub(crate) fn value(&self, index: i128) -> Result<i128, ExpressionError> {
        Ok(match self {
            Expression::Number(number) => *number,
            Expression::Index => index,
            Expression::Negated(inner) => inner.value(index)?.wrapping_neg(),
            Expression::Binary(operator, left, right) => {
                let (left, right) = (left.value(index)?, right.value(index)?);
                let shift = || u32::try_from(right).ok().filter(|shift| *shift < 128);
                let value = match *operator {
                    "|" => Some(left | right),
                    "^" => Some(left ^ right),
                    "&" => Some(left & right),
                    "<<" => shift().map(|shift| left << shift),
                    ">>" => shift().map(|shift| left >> shift),
                    "+" => Some(left.wrapping_add(right)),
                    "-" => Some(left.wrapping_sub(right)),
                    "*" => Some(left.wrapping_mul(right)),
                    "/" => left.checked_div(right),
                    _ => left.checked_rem(right),
                };
                value.ok_or(ExpressionError::Undefined)?
            }
        })
    }
}
