//! Where the frames of a stream come from: a port, or files in their order.

use std::path::Path;

/// Where the frames of a stream come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    /// The name in messages.
    pub(super) source: String,
    /// Names of the files; none of a port.
    pub(super) files: Option<Vec<String>>,
}

impl Origin {
    /// An interface.
    pub(crate) fn port(name: &str) -> Self {
        Self { source: name.to_owned(), files: None }
    }

    /// Files, under the names that messages give them.
    pub(crate) fn files<P: AsRef<Path>>(paths: &[P], named: impl Fn(&Path) -> String) -> Self {
        let paths = paths.iter().map(AsRef::as_ref);
        let source = paths.clone().map(named).collect::<Vec<_>>().join(", ");
        let files = paths.map(|path| path.display().to_string()).collect();
        Self { source, files: Some(files) }
    }
}
