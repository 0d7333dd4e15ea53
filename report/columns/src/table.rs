//! Rows of a table, column by column.

use std::collections::HashMap;

use serde_json::Value;

use crate::ColumnsError;

/// Type of a column. Each column may hold nulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text.
    Text,
    /// Whole numbers.
    Whole,
    /// Numbers.
    Real,
    /// True or false.
    Flag,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Text => "a text",
            Kind::Whole => "a whole number below 2^63",
            Kind::Real => "a number",
            Kind::Flag => "true or false",
        }
    }
}

/// Values of a column; a null is none.
#[derive(Debug)]
pub(crate) enum Values {
    Text(Vec<Option<String>>),
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
}

impl Values {
    fn new(kind: Kind) -> Values {
        match kind {
            Kind::Text => Values::Text(Vec::new()),
            Kind::Whole => Values::Whole(Vec::new()),
            Kind::Real => Values::Real(Vec::new()),
            Kind::Flag => Values::Flag(Vec::new()),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Values::Text(_) => Kind::Text,
            Values::Whole(_) => Kind::Whole,
            Values::Real(_) => Kind::Real,
            Values::Flag(_) => Kind::Flag,
        }
    }

    fn len(&self) -> usize {
        match self {
            Values::Text(values) => values.len(),
            Values::Whole(values) => values.len(),
            Values::Real(values) => values.len(),
            Values::Flag(values) => values.len(),
        }
    }

    /// Adds a value; false if the value is of another kind.
    fn push(&mut self, value: &Value) -> bool {
        if value.is_null() {
            self.resize(self.len() + 1);
            return true;
        }
        match self {
            Values::Text(values) => add(values, value.as_str().map(str::to_owned)),
            Values::Whole(values) => add(values, value.as_i64()),
            Values::Real(values) => add(values, value.as_f64()),
            Values::Flag(values) => add(values, value.as_bool()),
        }
    }

    /// Fills the column with nulls, or clears it.
    fn resize(&mut self, rows: usize) {
        match self {
            Values::Text(values) => values.resize(rows, None),
            Values::Whole(values) => values.resize(rows, None),
            Values::Real(values) => values.resize(rows, None),
            Values::Flag(values) => values.resize(rows, None),
        }
    }
}

/// Adds a value that is there; false for none.
fn add<T>(values: &mut Vec<Option<T>>, value: Option<T>) -> bool {
    let is_there = value.is_some();
    values.push(value);
    is_there
}

/// A column with its name.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) values: Values,
}

impl Column {
    pub(crate) fn kind(&self) -> Kind {
        self.values.kind()
    }
}

/// Rows with the same columns.
#[derive(Debug)]
pub(crate) struct Table {
    name: &'static str,
    columns: Vec<Column>,
    places: HashMap<String, usize>,
    rows: usize,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(name: &'static str, columns: impl IntoIterator<Item = (String, Kind)>) -> Table {
        let columns: Vec<Column> =
            columns.into_iter().map(|(name, kind)| Column { name, values: Values::new(kind) }).collect();
        let places = columns.iter().enumerate().map(|(place, column)| (column.name.clone(), place)).collect();
        Table { name, columns, places, rows: 0 }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row of a launch. Columns without a value get a null.
    pub(crate) fn add<'a>(
        &mut self,
        launch: u64,
        row: impl IntoIterator<Item = (String, &'a Value)>,
    ) -> Result<(), ColumnsError> {
        for (field, value) in row {
            let place = self.places.get(&field);
            let Some(column) = place.and_then(|place| self.columns.get_mut(*place)) else {
                return Err(ColumnsError::Column { launch, field });
            };
            let kind = column.kind().name();
            if !column.values.push(value) {
                return Err(ColumnsError::Value { launch, field, kind });
            }
        }
        self.rows += 1;
        for column in &mut self.columns {
            column.values.resize(self.rows);
        }
        Ok(())
    }

    /// Removes all rows.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        for column in &mut self.columns {
            column.values.resize(0);
        }
    }
}
