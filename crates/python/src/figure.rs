//! Figures of a sweep, as SVG.

use crate::table::escaped;
use pyo3::prelude::*;
use reports::figure::{Picture, Place};

/// A figure: a notebook draws it, and `svg` is its text.
#[pyclass(frozen, module = "tidewire")]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) picture: Picture,
    /// Program and scenario, which the metadata of the document name.
    pub(crate) source: String,
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
    pub(crate) fn svg(&self) -> String {
        self.picture.svg(Place::File(&self.source))
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

    /// Draws the numbers on axes of matplotlib, which is imported only then; returns the axes.
    #[pyo3(signature = (ax = None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        ax: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tidewire._plot")?.call_method1("plot", (slf, ax))
    }

    fn _repr_svg_(&self) -> String {
        self.svg()
    }

    fn __repr__(&self) -> String {
        format!("<tidewire.Figure {}>", escaped(&self.name))
    }
}
