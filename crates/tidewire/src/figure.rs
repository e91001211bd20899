//! Files of figures: SVG, the numbers as CSV next to it, and on request a Vega-Lite specification.
//!
//! The same figure gives the same octets, on every machine: the files do not record when or where they
//! were made.

use crate::exit::Failure;
use crate::output_file;
use bench::PROGRAM;
use reports::figure::Place;
pub(crate) use reports::figure::{
    Axis, Figure, Mark, Matrix, Picture, Point, Series, Span, TimeDiagram, number,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Further form of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Emit {
    // No doc comment: it would give each option of the help a paragraph.
    VegaLite,
}

/// Path of the numbers of a figure: next to it, with the ending `.csv`.
pub(crate) fn table_path(path: &Path) -> PathBuf {
    path.with_extension("csv")
}

/// Writes a figure as SVG, its numbers as CSV next to it, and the form that is wanted too. The metadata of
/// the SVG name the program and the source, such as a scenario with its hash.
///
/// # Errors
/// A usage error where the name does not end in `.svg`, and a failure where a file cannot be written.
pub(crate) fn write(
    picture: &Picture,
    source: &str,
    path: &Path,
    emit: Option<Emit>,
) -> Result<(), Failure> {
    check(path)?;
    let save = |path: &Path, text: &str| {
        output_file::write(path, text.as_bytes())
            .map_err(|error| Failure::cannot_write(path, &error))
    };
    save(path, &picture.svg(Place::File(&format!("{PROGRAM}, {source}"))))?;
    save(&table_path(path), &picture.csv())?;
    match emit {
        Some(Emit::VegaLite) => save(&path.with_extension("vl.json"), &picture.vega_lite()),
        None => Ok(()),
    }
}

/// Makes the folder of figures, before a long run.
///
/// # Errors
/// A usage error where the name is that of a file, and a failure where it cannot be made.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    if folder.extension().is_some_and(|ending| ending == "svg") {
        let message = format!("--figure {}: it is a folder for several files", folder.display());
        return Err(Failure::usage(message).with_fix("--figure drawn"));
    }
    fs::create_dir_all(folder).map_err(|error| Failure::no_folder(folder, &error))
}

/// Checks that a figure can be written under this name.
///
/// # Errors
/// A usage error where the name does not end in `.svg`.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    if path.extension().is_none_or(|ending| ending != "svg") {
        let message = format!("{} does not end in .svg", path.display());
        return Err(Failure::usage(message).with_fix("figures are SVG"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Picture {
        let axis = |name: &str| Axis { name: name.to_owned(), unit: "ms".to_owned() };
        let points = vec![Point::exact(1.0, 2.0), Point::exact(2.0, 3.0)];
        let name = "MAC <transmit>".to_owned();
        Picture::Curves(Figure {
            title: "times".to_owned(),
            caption: "Medians.".to_owned(),
            reference: None,
            x: axis("due"),
            y: axis("time"),
            scale: None,
            series: vec![Series { name, style_group: 0, mark: Mark::Line, points }],
        })
    }

    #[test]
    fn a_figure_and_its_numbers_are_the_same_in_two_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("layers.svg");
        let both = || {
            write(&example(), "paper x", &path, None).unwrap();
            (fs::read(&path).unwrap(), fs::read(table_path(&path)).unwrap())
        };
        let first = both();
        assert!(first == both(), "the same figure gives other octets");
        let text = String::from_utf8(first.0).unwrap();
        let source = format!("<metadata>{PROGRAM}, paper x</metadata>");
        assert!(text.contains(&source), "{text}");
        assert!(!text.contains(folder.path().to_str().unwrap()), "a figure tells no path");
    }

    #[test]
    fn only_svg_files_are_written() {
        let failure = write(&example(), "paper x", Path::new("layers.png"), None).unwrap_err();
        let expected = "layers.png does not end in .svg\n  fix: figures are SVG";
        assert_eq!(failure.to_string(), expected);
    }
}
