//! A table as a Parquet file, row group by row group.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use serde_json::Value;

use crate::ColumnsError;
use crate::launches::About;
use crate::table::{Column, Kind, Table, Values};

/// Rows of a row group, which stays in memory until it is whole.
const GROUP: usize = 2048;

/// A file under construction.
pub(crate) struct ParquetFile<W: Write + Send> {
    table: Table,
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> ParquetFile<W> {
    /// A file with the columns of a table.
    pub(crate) fn new(table: Table, out: W) -> Result<Self, ColumnsError> {
        let columns = table.columns().iter().map(schema).collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder(table.name()).with_fields(columns).build()?;
        // The name of the program that writes is the same in each build: so are the bytes.
        let properties = WriterProperties::builder().set_created_by("voltsim".to_owned()).build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(ParquetFile { table, writer })
    }

    /// Adds a row of a launch.
    pub(crate) fn add<'a>(
        &mut self,
        launch: u64,
        row: impl IntoIterator<Item = (String, &'a Value)>,
    ) -> Result<(), ColumnsError> {
        self.table.add(launch, row)?;
        if self.table.rows() == GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<(), ColumnsError> {
        let mut group = self.writer.next_row_group()?;
        for column in self.table.columns() {
            let Some(mut writer) = group.next_column()? else { break };
            write_column(column, writer.untyped())?;
            writer.close()?;
        }
        group.close()?;
        self.table.clear();
        Ok(())
    }

    /// Completes the file, with what holds for the whole run.
    pub(crate) fn finish(mut self, about: &About) -> Result<W, ColumnsError> {
        if self.table.rows() > 0 {
            self.write_group()?;
        }
        for (key, value) in about {
            self.writer.append_key_value_metadata(KeyValue::new(key.clone(), value.clone()));
        }
        Ok(self.writer.into_inner()?)
    }
}

fn schema(column: &Column) -> Result<TypePtr, ColumnsError> {
    let (physical, logical) = match column.kind() {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Whole => (Physical::INT64, None),
        Kind::Real => (Physical::DOUBLE, None),
        Kind::Flag => (Physical::BOOLEAN, None),
    };
    let builder = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    Ok(Arc::new(builder.build()?))
}

fn write_column(column: &Column, writer: &mut ColumnWriter<'_>) -> Result<(), ColumnsError> {
    match (&column.values, writer) {
        (Values::Text(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
            let (values, levels) = parts(values, |text| ByteArray::from(text.as_str()));
            writer.write_batch(&values, Some(&levels), None)?;
        }
        (Values::Whole(values), ColumnWriter::Int64ColumnWriter(writer)) => {
            let (values, levels) = parts(values, |number| *number);
            writer.write_batch(&values, Some(&levels), None)?;
        }
        (Values::Real(values), ColumnWriter::DoubleColumnWriter(writer)) => {
            let (values, levels) = parts(values, |number| *number);
            writer.write_batch(&values, Some(&levels), None)?;
        }
        (Values::Flag(values), ColumnWriter::BoolColumnWriter(writer)) => {
            let (values, levels) = parts(values, |flag| *flag);
            writer.write_batch(&values, Some(&levels), None)?;
        }
        (_, _) => {
            let what = format!("column {} has another type than its schema", column.name);
            return Err(ParquetError::General(what).into());
        }
    }
    Ok(())
}

/// The values that are there, and the definition level of each row: 1 for a value, 0 for a null.
fn parts<T, V>(values: &[Option<T>], form: impl Fn(&T) -> V) -> (Vec<V>, Vec<i16>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (values.iter().flatten().map(form).collect(), levels)
}
