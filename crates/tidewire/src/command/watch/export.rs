//! Exports intervals, hosts, connections and services to files in addition to the printed output. A file that
//! cannot be written ends with its last complete line; a message reports that, and everything else
//! continues.

use super::line_file::WholeLines;
use crate::args::export::Export as Options;
use crate::exit::Failure;
use crate::output::Output;
use crate::output_file::{self, Created, Pending};
use crate::store::Target as Files;
use meter::{Connection, Host, Report};
use records::Subset;
#[cfg(feature = "parquet")]
use records::tables::Columnar;
use records::tables::{Cell, Comma, Layout, Log, Sheet, publishers, rows, streams, transactions};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use wire::time::Instant;

/// The tables, in the order of [`layouts`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Table {
    Intervals,
    Hosts,
    Connections,
    Services,
    ServiceIntervals,
    Streams,
    Transactions,
    Publishers,
}

/// Rejects Parquet, before any file is touched, if this build has no writer for it.
fn can_write_parquet() -> Result<(), Failure> {
    if cfg!(feature = "parquet") {
        return Ok(());
    }
    let fix = "build tidewire with its feature `parquet`, or --csv FOLDER";
    Err(Failure::usage("--parquet: this tidewire writes no Parquet").with_fix(fix))
}

fn layouts(bounds_octets: [u64; 9]) -> [(Table, Layout); 8] {
    [
        (Table::Intervals, rows::intervals(bounds_octets)),
        (Table::Hosts, rows::hosts(bounds_octets)),
        (Table::Connections, rows::connections(bounds_octets)),
        (Table::Services, rows::services()),
        (Table::ServiceIntervals, rows::service_intervals()),
        (Table::Streams, streams::layout()),
        (Table::Transactions, transactions::layout()),
        (Table::Publishers, publishers::layout()),
    ]
}

/// A file and its table.
struct Target {
    table: Table,
    layout: Layout,
    /// Selection of the columns of a row that are written.
    reported: Vec<bool>,
    path: PathBuf,
    sheet: Box<dyn Sheet>,
    /// True if writing has failed.
    is_over: bool,
    /// Renames the file at the end.
    _pending: Pending,
}

/// Files being written.
#[derive(Default)]
pub(in crate::command) struct Export {
    targets: Vec<Target>,
    /// Placement of files.
    files: Files,
    /// Measures that have columns.
    only: Subset,
    is_open: bool,
    /// Destination of messages about files that cannot be written.
    output: Option<Output>,
    /// Reason for the first write failure.
    failure: Option<Failure>,
}

impl Export {
    /// Creates the requested files, replacing older ones.
    ///
    /// # Errors
    /// Fails if a folder or file cannot be created.
    pub(in crate::command) fn new(
        only: Subset,
        bounds: [u64; 9],
        options: &Options,
        files: Files,
        output: &Output,
    ) -> Result<Self, Failure> {
        if options.parquet.is_some() {
            can_write_parquet()?;
        }
        let mut export = Self { files, only, output: Some(*output), ..Self::default() };
        if let Some(folder) = &options.csv {
            export.add(folder, "", "csv", bounds, |file| Box::new(Comma::new(lines(file))))?;
        }
        if let Some(folder) = &options.zeek {
            export
                .add(folder, "tidewire_", "log", bounds, |file| Box::new(Log::new(lines(file))))?;
        }
        if let Some(folder) = &options.parquet {
            export.add_columnar(folder, bounds)?;
        }
        Ok(export)
    }

    #[cfg(feature = "parquet")]
    fn add_columnar(&mut self, folder: &Path, bounds_octets: [u64; 9]) -> Result<(), Failure> {
        let sheet = |file| -> Box<dyn Sheet> { Box::new(Columnar::new(BufWriter::new(file))) };
        self.add(folder, "", "parquet", bounds_octets, sheet)
    }

    #[cfg(not(feature = "parquet"))]
    fn add_columnar(&mut self, _: &Path, _: [u64; 9]) -> Result<(), Failure> {
        can_write_parquet()
    }

    fn add(
        &mut self,
        folder: &Path,
        prefix: &str,
        suffix: &str,
        bounds_octets: [u64; 9],
        sheet: fn(File) -> Box<dyn Sheet>,
    ) -> Result<(), Failure> {
        fs::create_dir_all(folder).map_err(|error| Failure::no_folder(folder, &error))?;
        for (table, mut layout) in layouts(bounds_octets) {
            let reported = layout.reported(&self.only);
            let mut kept = reported.iter();
            layout.columns.retain(|_| kept.next() == Some(&true));
            let path = folder.join(format!("{prefix}{}.{suffix}", layout.name));
            self.files.inputs.refuse("a table", &path)?;
            let Created { file, pending } = output_file::create(&path, self.files.placing)
                .map_err(|error| Failure::cannot_write(&path, &error))?;
            let (sheet, is_over) = (sheet(file), false);
            let target =
                Target { table, layout, reported, path, sheet, is_over, _pending: pending };
            self.targets.push(target);
        }
        Ok(())
    }

    /// Applies `act` to the writable files of a table, or of all tables.
    fn each(&mut self, table: Option<Table>, mut act: impl FnMut(&mut Target) -> io::Result<()>) {
        for target in &mut self.targets {
            if target.is_over || table.is_some_and(|table| table != target.table) {
                continue;
            }
            if let Err(error) = act(target) {
                target.is_over = true;
                let failure = Failure::cannot_write(&target.path, &error);
                if let Some(output) = &self.output {
                    let still = "what passes is metered still";
                    output.remark(format_args!("warning: {failure}; {still}"));
                }
                self.failure.get_or_insert(failure);
            }
        }
    }

    /// Sets the start of the measurement; only the first call has an effect.
    pub(in crate::command) fn begin(&mut self, began: Instant) {
        if !core::mem::replace(&mut self.is_open, true) {
            self.each(None, |target| target.sheet.open(&target.layout, began));
        }
    }

    fn row(&mut self, table: Table, row: impl FnOnce() -> Vec<Cell>) {
        let mut targets = self.targets.iter().filter(|target| target.table == table);
        if let Some(target) = targets.next() {
            let (mut row, mut kept) = (row(), target.reported.iter());
            row.retain(|_| kept.next() == Some(&true));
            self.each(Some(table), |target| target.sheet.row(&row));
        }
    }

    /// Writes an interval.
    pub(in crate::command) fn interval(&mut self, report: &Report) {
        self.begin(report.start);
        self.row(Table::Intervals, || rows::interval(report));
    }

    /// Writes a host.
    pub(in crate::command) fn host(&mut self, host: &Host) {
        self.row(Table::Hosts, || rows::host(host));
    }

    /// Writes a connection and its services.
    pub(in crate::command) fn connection(&mut self, connection: &Connection) {
        self.row(Table::Connections, || rows::connection(connection));
        if self.targets.is_empty() {
            return;
        }
        for row in rows::service_rows(connection) {
            self.row(Table::Services, || row);
        }
    }

    /// Writes the services of a connection in an interval; `rows` makes them.
    pub(in crate::command) fn service_intervals(&mut self, rows: impl FnOnce() -> Vec<Vec<Cell>>) {
        if self.targets.is_empty() {
            return;
        }
        for row in rows() {
            self.row(Table::ServiceIntervals, || row);
        }
    }

    /// Writes a stream of cyclic data; `row` makes its row.
    pub(in crate::command) fn stream(&mut self, row: impl FnOnce() -> Vec<Cell>) {
        self.row(Table::Streams, row);
    }

    /// Writes the transactions of a function; `row` makes its row.
    pub(in crate::command) fn transactions(&mut self, row: impl FnOnce() -> Vec<Cell>) {
        self.row(Table::Transactions, row);
    }

    /// Writes a publisher; `row` makes its row.
    pub(in crate::command) fn publisher(&mut self, row: impl FnOnce() -> Vec<Cell>) {
        self.row(Table::Publishers, row);
    }

    /// Ends every file.
    pub(in crate::command) fn finish(&mut self, total: &Report) {
        self.begin(total.start);
        let ended = total.start + total.length;
        self.each(None, |target| target.sheet.close(ended));
    }

    /// Takes the reason why a file is incomplete, if one is.
    pub(in crate::command) const fn take_failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }
}

/// Writer of a file of whole lines.
pub(in crate::command) fn lines(file: File) -> BufWriter<WholeLines> {
    BufWriter::new(WholeLines::new(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use meter::{Meter, Settings};
    use wire::dissect::Link;

    #[test]
    fn every_row_has_a_cell_of_the_kind_of_each_column() {
        let settings = Settings::every(core::time::Duration::from_secs(1));
        let bounds = settings.bounds_octets;
        let mut meter = Meter::new(settings);
        // LLC UI from 2 to 1, the inactive network layer, DT 1 of 2 octets.
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, 11];
        frame.extend([0xFE, 0xFE, 3, 0, 4, 0xF0, 0, 1, 0x81, 7, 7]);
        meter.observe(Instant::ZERO, Link::Ethernet, &frame, 60);
        let report = meter.finish();
        let connection = meter.each_connection().next().unwrap();
        let host = meter.each_host().next().unwrap();
        let rows = [rows::interval(&report), rows::host(&host), rows::connection(&connection)];
        for ((_, layout), row) in layouts(bounds).iter().zip(rows) {
            assert_eq!(layout.columns.len(), row.len(), "{}", layout.name);
            for (column, cell) in layout.columns.iter().zip(row) {
                use records::tables::Kind;
                let fits = match cell {
                    Cell::Unset => true,
                    Cell::Time(_) => column.kind == Kind::Time,
                    Cell::Nanos(_) => column.kind == Kind::Span,
                    Cell::Count(_) => matches!(column.kind, Kind::Count | Kind::Port),
                    Cell::Real(_) => column.kind == Kind::Real,
                    Cell::Text(_) => column.kind == Kind::Text,
                };
                assert!(fits, "{}: {}", layout.name, column.name);
            }
            let mut names: Vec<_> = layout.columns.iter().map(|column| &column.name).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), layout.columns.len(), "{}: a name twice", layout.name);
        }
    }
}
