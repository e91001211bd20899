//! Tables as Apache Parquet: typed columns, in row groups of a bounded number of cells.
//!
//! Times are `TIMESTAMP(NANOS, UTC)`, durations whole nanoseconds with the unit in the column name,
//! counts `UINT_64`, ports `UINT_16`, metrics `DOUBLE`, words `STRING`; every column may hold
//! nulls. Columns are dictionary-encoded and not compressed. No other module uses the Parquet
//! library.
//!
//! The list of row groups stands at the end of a file, so a file is readable only after it has been
//! closed. Until then the metadata of the groups takes about a hundredth of the file's size in
//! memory.

use super::table::{Cell, Column, Kind, Layout, Sheet};
use meter::registry::NANOSECONDS;
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;
use wire::time::Instant;

/// Cells of a row group, buffered in memory: about ten million octets.
const GROUP_CELLS: usize = 1 << 20;

/// A Parquet file.
pub struct Columnar<W: Write + Send> {
    /// Destination of the file, until its columns are known.
    out: Option<W>,
    writer: Option<SerializedFileWriter<W>>,
    columns: Vec<Waiting>,
    rows: usize,
    group_rows: usize,
}

/// Cells of a column that wait for their row group.
struct Waiting {
    /// Definition level of each row: 1 with a value, 0 without.
    levels: Vec<i16>,
    values: Values,
}

enum Values {
    Whole(Vec<i64>),
    Small(Vec<i32>),
    Real(Vec<f64>),
    Text(Vec<ByteArray>),
}

impl<W: Write + Send> Columnar<W> {
    /// A table that is written to `out`.
    pub const fn new(out: W) -> Self {
        Self { out: Some(out), writer: None, columns: Vec::new(), rows: 0, group_rows: 1 }
    }

    /// Writes the buffered rows as a row group.
    fn flush(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.rows > 0) else {
            return Ok(());
        };
        let mut group = writer.next_row_group().map_err(cannot)?;
        for column in &mut self.columns {
            let to = group.next_column().map_err(cannot)?;
            column.flush(to.expect("the file has a column for each of its layout"))?;
        }
        group.close().map_err(cannot)?;
        self.rows = 0;
        Ok(())
    }
}

impl Waiting {
    const fn of(kind: Kind) -> Self {
        let values = match kind {
            Kind::Time | Kind::Span | Kind::Count => Values::Whole(Vec::new()),
            Kind::Port => Values::Small(Vec::new()),
            Kind::Real => Values::Real(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        };
        Self { levels: Vec::new(), values }
    }

    fn put(&mut self, cell: &Cell) {
        // UINT_64 has the bits of INT64; no time before 2262 reaches its sign.
        let whole = match cell {
            Cell::Unset | Cell::Real(_) | Cell::Text(_) => None,
            Cell::Time(at) => Some(at.as_nanos()),
            Cell::Nanos(count) | Cell::Count(count) => Some(*count),
        };
        self.levels.push(i16::from(*cell != Cell::Unset));
        match (&mut self.values, cell, whole) {
            (_, Cell::Unset, _) => (),
            (Values::Whole(values), _, Some(count)) => values.push(count.cast_signed()),
            (Values::Small(values), _, Some(count)) => {
                values.push(i32::try_from(count).expect("a port has 16 bits"));
            }
            (Values::Real(values), Cell::Real(value), _) => values.push(*value),
            (Values::Text(values), Cell::Text(text), _) => {
                values.push(ByteArray::from(text.as_str()));
            }
            (_, cell, _) => unreachable!("{cell:?} does not match the kind of its column"),
        }
    }

    fn flush(&mut self, mut to: SerializedColumnWriter<'_>) -> io::Result<()> {
        let levels = Some(self.levels.as_slice());
        let written = match &mut self.values {
            Values::Whole(values) => {
                to.typed::<Int64Type>().write_batch(&take(values), levels, None)
            }
            Values::Small(values) => {
                to.typed::<Int32Type>().write_batch(&take(values), levels, None)
            }
            Values::Real(values) => {
                to.typed::<DoubleType>().write_batch(&take(values), levels, None)
            }
            Values::Text(values) => {
                to.typed::<ByteArrayType>().write_batch(&take(values), levels, None)
            }
        };
        written.map_err(cannot)?;
        self.levels.clear();
        to.close().map_err(cannot)
    }
}

fn take<T>(values: &mut Vec<T>) -> Vec<T> {
    core::mem::take(values)
}

/// Returns the system's I/O error where there is one, else the library's.
fn cannot(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
    }
}

/// Returns the Parquet type of a column; durations carry their unit in the column name.
fn typed(column: &Column) -> Result<Type, ParquetError> {
    let unsigned = |bit_width| LogicalType::integer(bit_width, false);
    let nanos = LogicalType::timestamp(true, TimeUnit::NANOS);
    let (physical, logical, unit) = match column.kind {
        Kind::Time => (Physical::INT64, Some(nanos), ""),
        Kind::Span => (Physical::INT64, Some(unsigned(64)), NANOSECONDS),
        Kind::Count => (Physical::INT64, Some(unsigned(64)), ""),
        Kind::Port => (Physical::INT32, Some(unsigned(16)), ""),
        Kind::Real => (Physical::DOUBLE, None, ""),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String), ""),
    };
    let name = format!("{}{unit}", column.name);
    let column = Type::primitive_type_builder(&name, physical).with_logical_type(logical);
    column.with_repetition(Repetition::OPTIONAL).build()
}

impl<W: Write + Send> Sheet for Columnar<W> {
    fn open(&mut self, layout: &Layout, _: Instant) -> io::Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let columns = layout.columns.iter().map(|column| typed(column).map(Arc::new));
        let columns: Result<Vec<_>, _> = columns.collect();
        let schema = Type::group_type_builder(layout.name)
            .with_fields(columns.map_err(cannot)?)
            .build()
            .map_err(cannot)?;
        let maker = concat!("tidewire ", env!("CARGO_PKG_VERSION")).to_owned();
        let properties = WriterProperties::builder().set_created_by(maker).build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties));
        self.writer = Some(writer.map_err(cannot)?);
        self.columns = layout.columns.iter().map(|column| Waiting::of(column.kind)).collect();
        self.group_rows = (GROUP_CELLS / layout.columns.len().max(1)).max(1);
        Ok(())
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(row) {
            column.put(cell);
        }
        self.rows += 1;
        if self.rows == self.group_rows { self.flush() } else { Ok(()) }
    }

    fn close(&mut self, _: Instant) -> io::Result<()> {
        self.flush()?;
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        writer.finish().map_err(cannot)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::each_kind;
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use std::fs::File;

    /// Returns a reader of a file with these columns and rows.
    fn written(columns: &[(&'static str, Kind)], rows: &[Vec<Cell>]) -> SerializedFileReader<File> {
        let mut file = tempfile::tempfile().unwrap();
        let mut sheet = Columnar::new(&mut file);
        sheet.open(&Layout::new("t", columns), Instant::ZERO).unwrap();
        rows.iter().for_each(|row| sheet.row(row).unwrap());
        sheet.close(Instant::ZERO).unwrap();
        drop(sheet);
        SerializedFileReader::new(file).unwrap()
    }

    #[test]
    fn cells_are_read_back_by_kind_and_unset_ones_as_null() {
        let reader = written(&each_kind::COLUMNS, &[each_kind::row(), vec![Cell::Unset; 6]]);
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let named = |row: usize| -> Vec<(String, Field)> {
            let columns = rows[row].get_column_iter();
            columns.map(|(name, field)| (name.clone(), field.clone())).collect()
        };
        let of = |name: &str, field| (name.to_owned(), field);
        assert_eq!(
            named(0),
            [
                of("at", Field::Long(1_500_000_001)),
                of("took_ns", Field::ULong(7)),
                of("count", Field::ULong(u64::MAX)),
                of("port", Field::UShort(65_535)),
                of("x", Field::Double(0.25)),
                of("who", Field::Str("é".into())),
            ]
        );
        assert!(named(1).iter().all(|(_, field)| *field == Field::Null));
    }

    #[test]
    fn rows_go_to_the_file_by_groups_of_a_million_cells() {
        // Two columns: 2^19 rows to a group.
        let columns = [("a", Kind::Count), ("b", Kind::Count)];
        let row = |number: u64| vec![Cell::Count(number), Cell::Unset];
        let rows: Vec<_> = (0..(1 << 19) + 3).map(row).collect();
        let reader = written(&columns, &rows);
        let groups = reader.metadata().row_groups();
        let sizes: Vec<i64> = groups.iter().map(|group| group.num_rows()).collect();
        assert_eq!(sizes, [1 << 19, 3]);
    }

    #[test]
    fn a_table_without_rows_is_a_file_that_names_its_columns() {
        let reader = written(&[("a", Kind::Count)], &[]);
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
        assert_eq!(reader.metadata().file_metadata().schema_descr().column(0).name(), "a");
    }
}
