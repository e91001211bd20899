//! Frame of the pages that are written as HTML.

use maud::{DOCTYPE, Markup, html};

/// Page with this title; `head` is what it has in its head besides.
pub(crate) fn document(title: &str, head: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { (title) " – tidewire" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/app.css";
                (head)
            }
            body { (body) }
        }
    };
    page.into_string()
}
