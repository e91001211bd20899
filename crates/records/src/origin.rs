//! Source of the frames of a stream: a port, or files in order.

use std::path::Path;

/// Source of the frames of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Name of the source in messages.
    pub source: String,
    /// Names of the files; none for a port.
    pub files: Option<Vec<String>>,
}

/// File name of the capture that is part of the program, as commands name it.
pub const DEMO: &str = "--demo";

impl Origin {
    /// Origin of the capture that is part of the program.
    #[must_use]
    pub fn demo() -> Self {
        let (source, files) = ("the built-in capture".to_owned(), Some(vec![DEMO.to_owned()]));
        Self { source, files }
    }

    /// Origin of an interface.
    pub fn port(name: &str) -> Self {
        Self { source: name.to_owned(), files: None }
    }

    /// Origin of files, with the names that `named` returns.
    pub fn files<P: AsRef<Path>>(paths: &[P], named: impl Fn(&Path) -> String) -> Self {
        let paths = paths.iter().map(AsRef::as_ref);
        let source = paths.clone().map(named).collect::<Vec<_>>().join(", ");
        let files = paths.map(|path| path.display().to_string()).collect();
        Self { source, files: Some(files) }
    }
}
