//! Figures of a sweep, as SVG.

use crate::table::escaped;
use pyo3::prelude::*;
use reports::figure::{Picture, Place};

/// A figure: a notebook draws it, and `svg` is its text.
#[pyclass(frozen, module = "tidewire")]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) picture: Picture,
}

#[pymethods]
impl Figure {
    /// Name of the figure, such as `delay-mean`.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The figure as an SVG document.
    #[getter]
    fn svg(&self) -> String {
        self.picture.svg(Place::File)
    }

    /// Counts, seed and meaning of the intervals.
    #[getter]
    fn caption(&self) -> String {
        self.picture.caption()
    }

    /// The numbers of the figure, as CSV.
    #[getter]
    fn csv(&self) -> String {
        self.picture.csv()
    }

    fn _repr_svg_(&self) -> String {
        self.svg()
    }

    fn __repr__(&self) -> String {
        format!("<tidewire.Figure {}>", escaped(&self.name))
    }
}
