//! Requests that are answered: from this machine or as the operator permits, by name, with the token.
//!
//! A page of another origin that a browser on this machine shows must learn nothing. Without the token
//! nothing is answered. `Host` must name this machine by its address, so that a name that an attacker
//! points to it (DNS rebinding) does not help. `Origin`, if present, must be our own.

use axum::extract::{Request, State};
use axum::http::header::{COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

/// Name of the parameter with the token.
const PARAMETER: &str = "token=";

/// Conditions under which a request is answered.
pub(crate) struct Guard {
    token: String,
    /// Name of the cookie with the token: of one port, because cookies are of all ports.
    cookie: String,
    /// True if other machines may ask, which may call this one by any name.
    is_open: bool,
}

/// Decision on a request.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Decision {
    /// It is answered.
    Pass,
    /// Its URL has the token: the browser gets it as a cookie and asks again without.
    Welcome(String),
    /// It is refused.
    Refuse(StatusCode, &'static str),
}

impl Guard {
    /// Requires this token at this port.
    pub(crate) fn new(token: String, port: u16, is_open: bool) -> Self {
        Self { token, cookie: format!("tidewire_{port}="), is_open }
    }

    /// Parameter that makes a URL complete.
    pub(crate) fn parameter(&self) -> String {
        format!("{PARAMETER}{}", self.token)
    }

    /// Decides on a request.
    fn decide(&self, uri: &Uri, headers: &HeaderMap) -> Decision {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let Some(host) = text(HOST) else {
            return Decision::Refuse(StatusCode::BAD_REQUEST, "no host is named\n");
        };
        if !self.is_open && !is_this_machine(host) {
            let why = "the host must be named by its address\n";
            return Decision::Refuse(StatusCode::MISDIRECTED_REQUEST, why);
        }
        if headers.contains_key(ORIGIN) && text(ORIGIN) != Some(&format!("http://{host}")) {
            return Decision::Refuse(StatusCode::FORBIDDEN, "pages of other origins may not ask\n");
        }
        let mut parameters = uri.query().unwrap_or_default().split('&');
        if parameters.any(|it| it.strip_prefix(PARAMETER).is_some_and(|token| self.knows(token))) {
            let cookie =
                format!("{}{}; Path=/; HttpOnly; SameSite=Strict", self.cookie, self.token);
            return Decision::Welcome(cookie);
        }
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|value| value.split(';')).map(str::trim);
        if cookies.any(|it| it.strip_prefix(&self.cookie).is_some_and(|token| self.knows(token))) {
            return Decision::Pass;
        }
        Decision::Refuse(StatusCode::UNAUTHORIZED, "open the URL that the command printed\n")
    }

    /// Compares all octets, so that the time tells nothing about the first one that differs.
    fn knows(&self, token: &str) -> bool {
        let (ours, theirs) = (self.token.as_bytes(), token.as_bytes());
        let differs = ours.iter().zip(theirs).fold(0, |all, (a, b)| all | (a ^ b));
        ours.len() == theirs.len() && differs == 0
    }
}

/// True if `Host` names a loopback address, or `localhost`.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|octet| octet.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A token that cannot be guessed.
///
/// # Errors
/// The system has no randomness.
pub(crate) fn token() -> io::Result<String> {
    let number = live::entropy::unpredictable().map_err(io::Error::other)?;
    Ok(format!("{number:032x}"))
}

/// Headers of every answer: nothing from elsewhere, no frame of another page, nothing kept.
const HEADERS: [(&str, &str); 5] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Policy of a document with its own styles and without scripts, in place of that of [`HEADERS`].
pub(crate) const OF_DOCUMENT: (&str, &str) = (
    "content-security-policy",
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);

/// Adds the headers of every answer; a policy that an answer has of its own stays.
fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// Sends a browser to the same path without the token in its address.
fn welcome(path: &str, cookie: &str) -> Response {
    // Two slashes would begin the name of another host.
    let path = format!("/{}", path.trim_start_matches('/'));
    let values = [HeaderValue::from_str(&path), HeaderValue::from_str(cookie)];
    let [Ok(path), Ok(cookie)] = values else { return StatusCode::BAD_REQUEST.into_response() };
    (StatusCode::SEE_OTHER, [(LOCATION, path), (SET_COOKIE, cookie)]).into_response()
}

/// Refuses requests without the right to an answer, and adds the headers of every answer.
pub(crate) async fn protected(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match guard.decide(request.uri(), request.headers()) {
        Decision::Pass => next.run(request).await,
        Decision::Welcome(cookie) => welcome(request.uri().path(), &cookie),
        Decision::Refuse(status, why) => (status, why).into_response(),
    };
    protect(response.headers_mut());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(uri: &str, headers: &[(HeaderName, &str)]) -> Decision {
        let guard = Guard::new("5ec4e7".to_owned(), 8080, false);
        let all = headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()));
        guard.decide(&uri.parse().unwrap(), &all.collect())
    }

    #[test]
    fn a_request_needs_the_token_once() {
        let host = (HOST, "127.0.0.1:8080");
        let Decision::Welcome(cookie) = decide("/?token=5ec4e7", std::slice::from_ref(&host))
        else {
            panic!()
        };
        assert!(cookie.starts_with("tidewire_8080=5ec4e7; "), "{cookie}");
        let with = |cookie| decide("/", &[host.clone(), (COOKIE, cookie)]);
        assert_eq!(with("a=b; tidewire_8080=5ec4e7"), Decision::Pass);
        for cookie in ["tidewire_8080=5ec4e", "tidewire_8080=5ec4e70", "tidewire_80=5ec4e7", ""] {
            let Decision::Refuse(status, _) = with(cookie) else { panic!("{cookie}") };
            assert_eq!(status, StatusCode::UNAUTHORIZED);
        }
    }

    #[test]
    fn no_name_and_no_other_page_gets_an_answer() {
        let cookie = (COOKIE, "tidewire_8080=5ec4e7");
        for host in ["attacker.example:8080", "192.0.2.1:8080", "127.0.0.1.example", ""] {
            let decision = decide("/", &[(HOST, host), cookie.clone()]);
            let Decision::Refuse(status, _) = decision else { panic!("{host}") };
            assert_eq!(status, StatusCode::MISDIRECTED_REQUEST);
        }
        for host in ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "localhost"] {
            assert_eq!(decide("/", &[(HOST, host), cookie.clone()]), Decision::Pass, "{host}");
        }
        let host = (HOST, "127.0.0.1:8080");
        let of = |origin| decide("/", &[host.clone(), cookie.clone(), (ORIGIN, origin)]);
        assert_eq!(of("http://127.0.0.1:8080"), Decision::Pass);
        for origin in ["http://attacker.example", "null", "https://127.0.0.1:8080"] {
            let Decision::Refuse(status, _) = of(origin) else { panic!("{origin}") };
            assert_eq!(status, StatusCode::FORBIDDEN);
        }
    }
}
