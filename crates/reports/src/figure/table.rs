//! The numbers of a figure as CSV (RFC 4180), for those who cannot see it and for other programs.

use super::{Figure, Point};

/// A line for each point of each series, under a heading with the units.
pub(super) fn of(figure: &Figure) -> Vec<Vec<String>> {
    let Figure { x, y, .. } = figure;
    let heading = vec![
        "series".to_owned(),
        format!("{} ({})", x.name, x.unit),
        format!("{} ({})", y.name, y.unit),
        "low".to_owned(),
        "high".to_owned(),
        "n".to_owned(),
    ];
    let mut lines = vec![heading];
    for series in &figure.series {
        for Point { x, y, interval, count } in &series.points {
            let (low, high) = match interval {
                Some((low, high)) => (low.to_string(), high.to_string()),
                None => Default::default(),
            };
            let count = count.map_or_else(String::new, |count| count.to_string());
            lines.push(vec![series.name.clone(), x.to_string(), y.to_string(), low, high, count]);
        }
    }
    lines
}

/// Lines of fields as CSV.
pub(super) fn of_lines(lines: &[Vec<String>]) -> String {
    lines.iter().map(|fields| line(fields)).collect()
}

pub(super) fn line(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    fields.join(",") + "\r\n"
}

/// RFC 4180: fields with a comma, a quote or a line break stand in quotes, and quotes are doubled.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::tests::example;

    #[test]
    fn every_point_is_a_line_with_its_interval_and_count() {
        let text = of_lines(&of(&example()));
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "series,size (octets),time (ms),low,high,n",
                "\"fit, $1 + x/500\",64,1.1280000000000001,,,",
                "\"fit, $1 + x/500\",1500,4,,,",
                "MAC transmit,64,1.125,1.025,1.425,50",
                "MAC transmit,1500,4,3.9,4.3,50",
                "PHY,64,0.0512,,,",
                "PHY,1500,1.2,,,",
            ]
        );
    }

    #[test]
    fn a_quote_in_a_name_is_doubled() {
        assert_eq!(quoted("the \"plain\" one"), "\"the \"\"plain\"\" one\"");
    }
}
