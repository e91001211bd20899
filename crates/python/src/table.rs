//! Tables as Arrow columns, which data frames take without a copy.
//!
//! Units are in the names of columns, as in Parquet files: durations are whole nanoseconds, points in time nanoseconds
//! since 1970 in UTC.

use arrow_array::builder::{
    Float64Builder, StringBuilder, TimestampNanosecondBuilder, UInt64Builder,
};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use meter::registry::NANOSECONDS;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use records::tables::{Cell, Column, Kind, Layout};
use std::sync::Arc;

/// Rows that a notebook shows.
const SHOWN: usize = 20;

/// Rows of a table in the making.
pub(crate) struct Rows {
    columns: Vec<(Column, Values)>,
}

enum Values {
    Time(TimestampNanosecondBuilder),
    Whole(UInt64Builder),
    Real(Float64Builder),
    Text(StringBuilder),
}

impl Rows {
    pub(crate) fn new(layout: Layout) -> Self {
        let values = |column: Column| {
            let values = match column.kind {
                Kind::Time => Values::Time(TimestampNanosecondBuilder::new().with_timezone("UTC")),
                Kind::Span | Kind::Count | Kind::Port => Values::Whole(UInt64Builder::new()),
                Kind::Real => Values::Real(Float64Builder::new()),
                Kind::Text => Values::Text(StringBuilder::new()),
            };
            (column, values)
        };
        Self { columns: layout.columns.into_iter().map(values).collect() }
    }

    /// Adds a row, which has a cell of the kind of each column.
    pub(crate) fn push(&mut self, row: &[Cell]) {
        for ((_, values), cell) in self.columns.iter_mut().zip(row) {
            values.push(cell);
        }
    }

    pub(crate) fn finish(self) -> PyResult<Table> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) =
            self.columns.into_iter().map(|(column, values)| finished(column, values)).unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        Ok(Table { batch: batch.map_err(|error| PyValueError::new_err(error.to_string()))? })
    }
}

impl Values {
    fn push(&mut self, cell: &Cell) {
        match self {
            Self::Time(values) => values.append_option(match cell {
                Cell::Time(at) => Some(at.as_nanos().cast_signed()),
                _ => None,
            }),
            Self::Whole(values) => values.append_option(match cell {
                Cell::Nanos(whole) | Cell::Count(whole) => Some(*whole),
                _ => None,
            }),
            Self::Real(values) => values.append_option(match cell {
                Cell::Real(real) => Some(*real),
                _ => None,
            }),
            Self::Text(values) => values.append_option(match cell {
                Cell::Text(text) => Some(text),
                _ => None,
            }),
        }
    }
}

fn finished(column: Column, values: Values) -> (Field, ArrayRef) {
    let unit = if column.kind == Kind::Span { NANOSECONDS } else { "" };
    let name = format!("{}{unit}", column.name);
    let (kind, array): (DataType, ArrayRef) = match values {
        Values::Time(mut values) => {
            let kind = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
            (kind, Arc::new(values.finish()))
        }
        Values::Whole(mut values) => (DataType::UInt64, Arc::new(values.finish())),
        Values::Real(mut values) => (DataType::Float64, Arc::new(values.finish())),
        Values::Text(mut values) => (DataType::Utf8, Arc::new(values.finish())),
    };
    (Field::new(name, kind, true), array)
}

/// A table: `polars.DataFrame(table)`, `pandas.DataFrame.from_arrow(table)` and DuckDB take it without a copy.
#[pyclass(frozen, module = "tidewire")]
pub(crate) struct Table {
    batch: RecordBatch,
}

#[pymethods]
impl Table {
    /// The columns as a stream of the Arrow C interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may offer its own types instead of those that are asked for.
        let _ = requested_schema;
        let batches: [Result<RecordBatch, ArrowError>; 1] = [Ok(self.batch.clone())];
        let reader = RecordBatchIterator::new(batches, self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// True for the name of a column.
    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        let name = name.extract::<String>();
        name.is_ok_and(|name| self.batch.column_by_name(&name).is_some())
    }

    /// A column as a list, in which a missing value is None; of times, nanoseconds since 1970.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let array = self.batch.column_by_name(name);
        let array = array.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        values(py, array)
    }

    /// All columns as lists, by name.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for name in self.columns() {
            let list = self.__getitem__(py, &name)?;
            columns.set_item(name, list)?;
        }
        Ok(columns)
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = (self.batch.num_rows(), self.columns());
        format!("<tidewire.Table: {rows} rows of {}>", columns.join(", "))
    }

    /// The first rows, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let (names, rows) = (self.columns(), self.batch.num_rows());
        let head: String = names.iter().map(|name| format!("<th>{}</th>", escaped(name))).collect();
        let shown = self.batch.slice(0, rows.min(SHOWN));
        let columns: Vec<Bound<'_, PyList>> =
            shown.columns().iter().map(|array| values(py, array)).collect::<PyResult<_>>()?;
        let mut body = String::new();
        for row in 0..shown.num_rows() {
            body += "<tr>";
            for column in &columns {
                let value = column.get_item(row)?;
                let text = if value.is_none() { String::new() } else { value.str()?.to_string() };
                body += &format!("<td>{}</td>", escaped(&text));
            }
            body += "</tr>";
        }
        let more =
            if rows > SHOWN { format!("<p>{SHOWN} of {rows} rows</p>") } else { String::new() };
        Ok(format!("<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"))
    }
}

/// Values of a column as Python has them.
fn values<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::{Float64Type, TimestampNanosecondType, UInt64Type};
    match array.data_type() {
        DataType::UInt64 => {
            PyList::new(py, array.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>())
        }
        DataType::Float64 => {
            PyList::new(py, array.as_primitive::<Float64Type>().iter().collect::<Vec<_>>())
        }
        DataType::Timestamp(_, _) => PyList::new(
            py,
            array.as_primitive::<TimestampNanosecondType>().iter().collect::<Vec<_>>(),
        ),
        _ => PyList::new(py, array.as_string::<i32>().iter().collect::<Vec<_>>()),
    }
}

/// Text for HTML; what comes from a capture or a file is never markup.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c => escaped.push(c),
        }
    }
    escaped
}
