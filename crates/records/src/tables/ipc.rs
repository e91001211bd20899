//! Tables as files of Apache Arrow (the IPC file format): typed columns, in record batches of a bounded number
//! of cells.
//!
//! Times are `Timestamp(Nanosecond, "UTC")`, durations and counts `UInt64`, ports `UInt16`, metrics `Float64`, words
//! `Utf8`; every column may hold nulls, and the names are those of the other forms. No other module uses the Arrow
//! libraries.
//!
//! The list of batches stands at the end of a file, so a file is readable only after it has been closed.

use super::table::{Cell, Column, Kind, Layout, Sheet};
use arrow_array::builder::{
    Float64Builder, StringBuilder, TimestampNanosecondBuilder, UInt16Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use meter::registry::NANOSECONDS;
use std::io::{self, Write};
use std::sync::Arc;
use wire::time::Instant;

/// Cells of a record batch, buffered in memory: about ten million octets.
const BATCH_CELLS: usize = 1 << 20;
/// Time zone of points in time.
const ZONE: &str = "UTC";

/// A file of Arrow.
pub struct Ipc<W: Write> {
    /// Destination of the file, until its columns are known.
    out: Option<W>,
    writer: Option<FileWriter<W>>,
    schema: SchemaRef,
    columns: Vec<Waiting>,
    rows: usize,
    batch_rows: usize,
}

/// Cells of a column that wait for their batch.
enum Waiting {
    Time(TimestampNanosecondBuilder),
    Whole(UInt64Builder),
    Small(UInt16Builder),
    Real(Float64Builder),
    Text(StringBuilder),
}

impl<W: Write> Ipc<W> {
    /// A table that is written to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out: Some(out),
            writer: None,
            schema: Arc::new(Schema::empty()),
            columns: Vec::new(),
            rows: 0,
            batch_rows: 1,
        }
    }

    /// Writes the buffered rows as a batch.
    fn flush(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.rows > 0) else {
            return Ok(());
        };
        let columns = self.columns.iter_mut().map(Waiting::take).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(cannot)?;
        writer.write(&batch).map_err(cannot)?;
        self.rows = 0;
        Ok(())
    }
}

impl Waiting {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Time => Self::Time(TimestampNanosecondBuilder::new().with_timezone(ZONE)),
            Kind::Span | Kind::Count => Self::Whole(UInt64Builder::new()),
            Kind::Port => Self::Small(UInt16Builder::new()),
            Kind::Real => Self::Real(Float64Builder::new()),
            Kind::Text => Self::Text(StringBuilder::new()),
        }
    }

    fn put(&mut self, cell: &Cell) {
        match (self, cell) {
            (Self::Time(to), Cell::Unset) => to.append_null(),
            (Self::Whole(to), Cell::Unset) => to.append_null(),
            (Self::Small(to), Cell::Unset) => to.append_null(),
            (Self::Real(to), Cell::Unset) => to.append_null(),
            (Self::Text(to), Cell::Unset) => to.append_null(),
            // No time before 2262 reaches the sign.
            (Self::Time(to), Cell::Time(at)) => to.append_value(at.as_nanos().cast_signed()),
            (Self::Whole(to), Cell::Nanos(count) | Cell::Count(count)) => to.append_value(*count),
            (Self::Small(to), Cell::Count(port)) => {
                to.append_value(u16::try_from(*port).expect("a port has 16 bits"));
            }
            (Self::Real(to), Cell::Real(value)) => to.append_value(*value),
            (Self::Text(to), Cell::Text(text)) => to.append_value(text),
            (_, cell) => unreachable!("{cell:?} does not match the kind of its column"),
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::Time(from) => Arc::new(from.finish()),
            Self::Whole(from) => Arc::new(from.finish()),
            Self::Small(from) => Arc::new(from.finish()),
            Self::Real(from) => Arc::new(from.finish()),
            Self::Text(from) => Arc::new(from.finish()),
        }
    }
}

/// Returns the system's I/O error where there is one, else the library's.
fn cannot(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}

/// Returns the Arrow type of a column; durations carry their unit in the column name.
fn typed(column: &Column) -> Field {
    let (kind, unit) = match column.kind {
        Kind::Time => (DataType::Timestamp(TimeUnit::Nanosecond, Some(ZONE.into())), ""),
        Kind::Span => (DataType::UInt64, NANOSECONDS),
        Kind::Count => (DataType::UInt64, ""),
        Kind::Port => (DataType::UInt16, ""),
        Kind::Real => (DataType::Float64, ""),
        Kind::Text => (DataType::Utf8, ""),
    };
    Field::new(format!("{}{unit}", column.name), kind, true)
}

impl<W: Write> Sheet for Ipc<W> {
    fn open(&mut self, layout: &Layout, _: Instant) -> io::Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let fields: Vec<Field> = layout.columns.iter().map(typed).collect();
        self.schema = Arc::new(Schema::new(fields));
        self.writer = Some(FileWriter::try_new(out, &self.schema).map_err(cannot)?);
        self.columns = layout.columns.iter().map(|column| Waiting::of(column.kind)).collect();
        self.batch_rows = (BATCH_CELLS / layout.columns.len().max(1)).max(1);
        Ok(())
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(row) {
            column.put(cell);
        }
        self.rows += 1;
        if self.rows == self.batch_rows { self.flush() } else { Ok(()) }
    }

    fn close(&mut self, _: Instant) -> io::Result<()> {
        self.flush()?;
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        writer.finish().map_err(cannot)
    }
}

#[cfg(test)]
mod tests {
    use super::super::each_kind;
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, TimestampNanosecondType, UInt16Type, UInt64Type};
    use arrow_ipc::reader::FileReader;
    use std::io::Cursor;

    /// Returns the batches of a file with these columns and rows.
    fn written(columns: &[(&'static str, Kind)], rows: &[Vec<Cell>]) -> Vec<RecordBatch> {
        let mut file = Vec::new();
        let mut sheet = Ipc::new(&mut file);
        sheet.open(&Layout::new("t", columns), Instant::ZERO).unwrap();
        rows.iter().for_each(|row| sheet.row(row).unwrap());
        sheet.close(Instant::ZERO).unwrap();
        drop(sheet);
        FileReader::try_new(Cursor::new(file), None).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn cells_are_read_back_by_kind_and_unset_ones_as_null() {
        let batches = written(&each_kind::COLUMNS, &[each_kind::row(), vec![Cell::Unset; 6]]);
        assert_eq!(batches.len(), 1);
        let batch = &batches[0];
        let schema = batch.schema();
        let names: Vec<&str> = schema.fields().iter().map(|it| it.name().as_str()).collect();
        assert_eq!(names, ["at", "took_ns", "count", "port", "x", "who"]);
        let column = |place: usize| batch.column(place);
        assert_eq!(column(0).as_primitive::<TimestampNanosecondType>().value(0), 1_500_000_001);
        assert_eq!(column(1).as_primitive::<UInt64Type>().value(0), 7);
        assert_eq!(column(2).as_primitive::<UInt64Type>().value(0), u64::MAX);
        assert_eq!(column(3).as_primitive::<UInt16Type>().value(0), 65_535);
        assert_eq!(column(4).as_primitive::<Float64Type>().value(0), 0.25);
        assert_eq!(column(5).as_string::<i32>().value(0), "é");
        assert!(batch.columns().iter().all(|it| it.is_null(1) && !it.is_null(0)));
    }

    #[test]
    fn rows_go_to_the_file_by_batches_of_a_million_cells() {
        // Two columns: 2^19 rows to a batch.
        let columns = [("a", Kind::Count), ("b", Kind::Count)];
        let row = |number: u64| vec![Cell::Count(number), Cell::Unset];
        let rows: Vec<_> = (0..(1 << 19) + 3).map(row).collect();
        let batches = written(&columns, &rows);
        let sizes: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(sizes, [1 << 19, 3]);
        assert_eq!(batches[1].column(0).as_primitive::<UInt64Type>().value(2), (1 << 19) + 2);
    }
}
