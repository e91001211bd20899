//! A report as JUnit XML: a test case for each requirement and for each check of validity.

use crate::document::{Document, Grade};
use crate::text::joined;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// A test case.
struct Case<'a> {
    class: &'a str,
    name: String,
    grade: Grade,
    /// Value found, interval and verdict.
    evidence: String,
}

/// The report as JUnit XML. A requirement that fails is a failure, an undecided one or a check that is not valid an
/// error; a check that limits the numbers passes, with its reason as output.
///
/// # Errors
/// None in practice: the document is written to memory.
pub fn junit(document: &Document) -> io::Result<String> {
    let cases = cases(document);
    let number = |grade| cases.iter().filter(|case| case.grade == grade).count();
    let [tests, failures, errors] =
        [cases.len(), number(Grade::Fail), number(Grade::Open)].map(|count| count.to_string());
    let counts =
        [("tests", tests.as_str()), ("failures", failures.as_str()), ("errors", errors.as_str())];
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer.create_element("testsuites").with_attributes(counts).write_inner_content(|writer| {
        writer
            .create_element("testsuite")
            .with_attribute(("name", document.title.as_str()))
            .with_attributes(counts)
            .write_inner_content(|writer| {
                properties(document, writer)?;
                cases.iter().try_for_each(|case| write(case, writer))
            })?;
        Ok(())
    })?;
    let mut text = String::from_utf8(writer.into_inner()).map_err(io::Error::other)?;
    text.push('\n');
    Ok(text)
}

/// Verdict, tester and time.
fn properties(document: &Document, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
    let acceptance = &document.acceptance;
    let all = [
        ("verdict", Some(&document.verdict.word)),
        ("reason", Some(&document.verdict.reason)),
        ("tester", acceptance.tester.as_ref()),
        ("tested-at", acceptance.tested_at.as_ref()),
    ];
    writer.create_element("properties").write_inner_content(|writer| {
        for (name, value) in all {
            let Some(value) = value else { continue };
            let value = ("value", value.as_str());
            writer
                .create_element("property")
                .with_attributes([("name", name), value])
                .write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

fn cases(document: &Document) -> Vec<Case<'_>> {
    let requirements = document.requirements.iter().map(|it| Case {
        class: "requirement",
        name: format!("{} [{}]", it.text, it.of),
        grade: it.grade,
        evidence: joined(&[&it.found, &it.interval, &it.verdict]),
    });
    let checks = document.checks.iter().map(|it| Case {
        class: "validity",
        name: it.name.to_owned(),
        // A run that is not valid is an error of the test, no failure of what is tested.
        grade: if it.grade == Grade::Fail { Grade::Open } else { Grade::Note },
        evidence: it.text.to_string(),
    });
    requirements.chain(checks).collect()
}

fn write(case: &Case<'_>, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
    let Case { class, name, grade, evidence } = case;
    let outcome = match grade {
        Grade::Fail => Some("failure"),
        Grade::Open => Some("error"),
        Grade::Pass | Grade::Note => None,
    };
    writer
        .create_element("testcase")
        .with_attributes([("classname", *class), ("name", name.as_str())])
        .write_inner_content(|writer| {
            match outcome {
                Some(outcome) => {
                    let message = ("message", evidence.as_str());
                    writer.create_element(outcome).with_attribute(message).write_empty()?;
                }
                None => {
                    let text = BytesText::new(evidence);
                    writer.create_element("system-out").write_text_content(text)?;
                }
            }
            Ok(())
        })?;
    Ok(())
}
