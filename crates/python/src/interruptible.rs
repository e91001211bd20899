//! Work without the interpreter's lock that ends soon after Ctrl-C.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Time from one look at the signals to the next.
const LOOK: Duration = Duration::from_millis(50);

/// Does `work` in a thread of its own while this one looks at signals and calls `each_look`. If Python raises, `stop` is
/// set, the work is awaited, and its result dropped.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl FnOnce() -> T + Send,
    each_look: impl Fn(Python<'_>) -> PyResult<()> + Sync,
) -> PyResult<T> {
    py.detach(|| {
        thread::scope(|scope| {
            let (sender, result) = mpsc::sync_channel(1);
            scope.spawn(move || sender.send(work()));
            loop {
                match result.recv_timeout(LOOK) {
                    Ok(result) => return Ok(result),
                    Err(RecvTimeoutError::Timeout) => {
                        let looked = Python::attach(|py| {
                            py.check_signals()?;
                            each_look(py)
                        });
                        if let Err(error) = looked {
                            stop.store(true, Ordering::Relaxed);
                            return Err(error);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        let message = "the work ended without a result";
                        return Err(pyo3::exceptions::PyRuntimeError::new_err(message));
                    }
                }
            }
        })
    })
}
