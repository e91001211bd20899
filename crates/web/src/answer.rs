//! Answers that the live page and the pages of stored runs have in common.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

/// Style sheet of all pages but reports.
pub(crate) const STYLE: &str = include_str!("../dist/app.css");

pub(crate) fn of_kind(kind: &'static str, body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, kind)], body).into_response()
}
