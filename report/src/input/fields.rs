//! Fields of JSON with their places, for errors.

use serde_json::Value;

use crate::ReportError;

/// A JSON value with its file and path.
pub(super) struct Fields<'a> {
    file: &'a str,
    path: String,
    value: &'a Value,
}

impl<'a> Fields<'a> {
    pub(super) fn new(file: &'a str, value: &'a Value) -> Fields<'a> {
        Fields { file, path: String::new(), value }
    }

    fn wrong(&self, what: &'static str) -> ReportError {
        let place = if self.path.is_empty() { "the file".to_owned() } else { self.path.clone() };
        ReportError::Field { file: self.file.to_owned(), place, what }
    }

    /// A field; `null` if it is missing.
    pub(super) fn get(&self, name: &str) -> Fields<'a> {
        const NOTHING: &Value = &Value::Null;
        let dot = if self.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{name}", self.path);
        Fields { file: self.file, path, value: self.value.get(name).unwrap_or(NOTHING) }
    }

    /// True if the object has the field, `null` included.
    pub(super) fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some()
    }

    pub(super) fn is_missing(&self) -> bool {
        self.value.is_null()
    }

    /// Elements of a list; none if the list is missing.
    pub(super) fn list(&self) -> Result<Vec<Fields<'a>>, ReportError> {
        match self.value {
            Value::Null => Ok(Vec::new()),
            Value::Array(values) => Ok(values
                .iter()
                .enumerate()
                .map(|(place, value)| Fields {
                    file: self.file,
                    path: format!("{}[{place}]", self.path),
                    value,
                })
                .collect()),
            _ => Err(self.wrong("must be a list")),
        }
    }

    /// Fields of an object, by name; none if the object is missing.
    pub(super) fn entries(&self) -> Result<Vec<(&'a str, Fields<'a>)>, ReportError> {
        match self.value {
            Value::Null => Ok(Vec::new()),
            Value::Object(values) => {
                Ok(values.iter().map(|(name, _)| (name.as_str(), self.get(name))).collect())
            }
            _ => Err(self.wrong("must be an object")),
        }
    }

    pub(super) fn text(&self) -> Result<&'a str, ReportError> {
        self.value.as_str().ok_or_else(|| self.wrong("must be text"))
    }

    /// Text; empty if it is missing.
    pub(super) fn text_or_empty(&self) -> Result<String, ReportError> {
        if self.is_missing() { Ok(String::new()) } else { self.text().map(str::to_owned) }
    }

    /// A number of at least 0.
    pub(super) fn number(&self) -> Result<f64, ReportError> {
        let value = self.value.as_f64().filter(|value| value.is_finite() && *value >= 0.0);
        value.ok_or_else(|| self.wrong("must be a number of at least 0"))
    }

    /// A number; 0 if it is missing.
    pub(super) fn number_or_zero(&self) -> Result<f64, ReportError> {
        if self.is_missing() { Ok(0.0) } else { self.number() }
    }

    pub(super) fn is_true(&self) -> bool {
        self.value.as_bool().unwrap_or(false)
    }

    /// Numbers of a list; none if the list is missing.
    pub(super) fn numbers(&self) -> Result<Vec<f64>, ReportError> {
        self.list()?.iter().map(Fields::number).collect()
    }

    /// Three sizes.
    pub(super) fn sizes(&self) -> Result<[u32; 3], ReportError> {
        let numbers = self.numbers()?;
        let size = |size: &f64| (0.0..=f64::from(u32::MAX)).contains(size).then_some(*size as u32);
        let sizes = numbers.iter().map(size).collect::<Option<Vec<u32>>>();
        let sizes = sizes.and_then(|sizes| sizes.try_into().ok());
        sizes.ok_or_else(|| self.wrong("must be a list of three sizes below 2^32"))
    }
}
