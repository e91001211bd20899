//! Answers that the live page and the pages of stored runs have in common.

use axum::http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// Style sheet of all pages but reports.
pub(crate) const STYLE: &str = include_str!("../dist/app.css");

/// Sends a browser to the same path without the token in its address.
pub(crate) fn welcome(path: &str, cookie: &str) -> Response {
    // Two slashes would begin the name of another host.
    let path = format!("/{}", path.trim_start_matches('/'));
    let values = [HeaderValue::from_str(&path), HeaderValue::from_str(cookie)];
    let [Ok(path), Ok(cookie)] = values else { return StatusCode::BAD_REQUEST.into_response() };
    (StatusCode::SEE_OTHER, [(LOCATION, path), (SET_COOKIE, cookie)]).into_response()
}

pub(crate) fn of_kind(kind: &'static str, body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, kind)], body).into_response()
}
