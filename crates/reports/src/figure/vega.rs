//! A figure as a Vega-Lite specification (version 5) with its numbers, for other programs to draw.
//!
//! The data have fixed names of fields; axes have the names and units of the figure. Left out: the
//! order of colours and the texts below a time axis, which the program that draws it chooses.

use super::chart;
use super::scene::{is_logarithmic, label};
use super::{Axis, EventChart, Figure, Mark, Matrix, Picture, Span, Stack, TimeDiagram};
use serde_json::{Value, json};

/// Schema that the specifications follow.
const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v5.json";

/// The specification as text, with its end of line.
pub(super) fn specification(picture: &Picture) -> String {
    let (title, values, view) = match picture {
        Picture::Curves(figure) => (&figure.title, points(figure), curves(figure)),
        Picture::Matrix(matrix) => (&matrix.title, counts(matrix), cells(matrix)),
        Picture::Times(diagram) => (&diagram.title, spans(diagram), lanes()),
        Picture::Events(chart) => (&chart.title, events(chart), event_lanes(&chart.unit)),
        Picture::Stack(stack) => (&stack.title, parts(stack), bars(stack)),
    };
    let mut specification = json!({
        "$schema": SCHEMA,
        "title": title,
        "description": picture.caption(),
        "width": 640,
        "height": 400,
        "data": { "values": values },
    });
    if let (Some(all), Value::Object(view)) = (specification.as_object_mut(), view) {
        all.extend(view);
    }
    format!("{specification:#}\n")
}

/// Name of a mark in the data.
const fn style(mark: Mark) -> &'static str {
    match mark {
        Mark::Points => "points",
        Mark::Line => "line",
        Mark::LineInBand => "line-in-band",
        Mark::PointsOnLine => "points-on-line",
        Mark::Crosses => "crosses",
        Mark::ThinLine => "thin-line",
        Mark::Across => "across",
        Mark::Bars => "bars",
    }
}

fn points(figure: &Figure) -> Vec<Value> {
    let series = figure.series.iter();
    let all = series.flat_map(|series| series.points.iter().map(move |point| (series, point)));
    all.map(|(series, point)| {
        json!({
            "series": series.name,
            "style": style(series.mark),
            "x": point.x,
            "y": point.y,
            "low": point.interval.map(|(low, _)| low),
            "high": point.interval.map(|(_, high)| high),
            "n": point.count,
        })
    })
    .collect()
}

/// A layer for each kind of mark, and one for intervals.
fn curves(figure: &Figure) -> Value {
    let of = |style: &str| json!([{ "filter": format!("datum.style == '{style}'") }]);
    let with_interval = |style: &str| json!([{ "filter": format!("datum.style {style} 'line-in-band' && isValid(datum.low)") }]);
    let ends = json!({ "y": { "field": "low" }, "y2": { "field": "high" } });
    let mut layers = vec![
        json!({
            "transform": with_interval("=="),
            "mark": { "type": "area", "opacity": 0.25 },
            "encoding": ends,
        }),
        json!({ "transform": with_interval("!="), "mark": "rule", "encoding": ends }),
    ];
    let mut marks: Vec<Mark> = Vec::new();
    for series in &figure.series {
        if !marks.contains(&series.mark) {
            marks.push(series.mark);
        }
    }
    for mark in marks {
        let drawn = match mark {
            Mark::Points => json!({ "type": "point", "filled": true }),
            Mark::Line | Mark::LineInBand => json!("line"),
            Mark::PointsOnLine => json!({ "type": "line", "point": true }),
            Mark::Crosses => json!({ "type": "point", "shape": "cross", "size": 90 }),
            Mark::ThinLine => json!({ "type": "line", "strokeWidth": 0.8 }),
            Mark::Across => json!("rule"),
            Mark::Bars => json!({ "type": "bar", "width": 3 }),
        };
        let mut layer = json!({ "transform": of(style(mark)), "mark": drawn });
        if mark == Mark::Across {
            // Over the whole height, where its points only have their own.
            layer["encoding"] = json!({ "y": null });
        }
        layers.push(layer);
    }
    let scale = if is_logarithmic(figure) { "log" } else { "linear" };
    json!({
        "encoding": {
            "x": {
                "field": "x", "type": "quantitative", "title": label(&figure.x),
                "scale": { "zero": false },
            },
            "y": {
                "field": "y", "type": "quantitative", "title": label(&figure.y),
                "scale": { "type": scale },
            },
            "color": { "field": "series", "type": "nominal", "title": null },
        },
        "layer": layers,
    })
}

fn counts(matrix: &Matrix) -> Vec<Value> {
    let rows = matrix.names.iter().zip(&matrix.counts);
    let all = rows.flat_map(|(from, counts)| {
        matrix.names.iter().zip(counts).map(move |(to, count)| (from, to, count))
    });
    all.map(|(from, to, count)| json!({ "row": from, "column": to, "count": count })).collect()
}

fn cells(matrix: &Matrix) -> Value {
    let names = |field: &str, title: &str| json!({ "field": field, "type": "nominal", "title": title, "sort": matrix.names });
    let count = json!({ "field": "count", "type": "quantitative", "title": matrix.counted });
    json!({
        "encoding": { "y": names("row", &matrix.row), "x": names("column", &matrix.column) },
        "layer": [
            { "mark": "rect", "encoding": { "color": count } },
            { "mark": "text", "encoding": { "text": count } },
        ],
    })
}

fn spans(diagram: &TimeDiagram) -> Vec<Value> {
    let value = |kind: &str, lane: &str, span: &Span| {
        let Span { name, begin, end, .. } = span;
        json!({ "kind": kind, "lane": lane, "name": name, "begin": begin, "end": end })
    };
    let lane = |span: &Span| diagram.lanes.get(span.lane).map_or("", String::as_str);
    let tasks = diagram.spans.iter().map(|span| value("task", lane(span), span));
    let events = diagram.moments.iter().map(|span| value("event", lane(span), span));
    let intervals = diagram.intervals.iter().map(|span| value("interval", &span.name, span));
    tasks.chain(events).chain(intervals).collect()
}

fn lanes() -> Value {
    let of = |test: &str| json!([{ "filter": format!("datum.kind {test} 'event'") }]);
    json!({
        "encoding": {
            "y": { "field": "lane", "type": "nominal", "title": null, "sort": null },
            "x": { "field": "begin", "type": "quantitative", "title": "time (ms)" },
            "color": { "field": "name", "type": "nominal", "title": null },
        },
        "layer": [
            { "transform": of("!="), "mark": "bar", "encoding": { "x2": { "field": "end" } } },
            { "transform": of("=="), "mark": { "type": "point", "shape": "triangle-right" } },
        ],
    })
}

fn events(chart: &EventChart) -> Vec<Value> {
    let lane = |bar: &chart::EventBar| chart.lanes.get(bar.lane).cloned().unwrap_or_default();
    let bars = chart.bars.iter().map(|bar| {
        let (style, label) = (chart::name(bar.style), &bar.label);
        json!({ "lane": lane(bar), "style": style, "name": label, "begin": bar.begin, "end": bar.end })
    });
    bars.collect()
}

fn event_lanes(unit: &str) -> Value {
    let of = |test: &str| json!([{ "filter": format!("datum.style {test} 'moment'") }]);
    json!({
        "encoding": {
            "y": { "field": "lane", "type": "nominal", "title": null, "sort": null },
            "x": {
                "field": "begin", "type": "quantitative", "title": format!("time ({unit})"),
                "scale": { "zero": false },
            },
            "color": { "field": "style", "type": "nominal", "title": null },
        },
        "layer": [
            { "transform": of("!="), "mark": "bar", "encoding": { "x2": { "field": "end" } } },
            { "transform": of("=="), "mark": { "type": "point", "shape": "cross" } },
        ],
    })
}

fn parts(stack: &Stack) -> Vec<Value> {
    let all = stack.bars.iter().flat_map(|bar| bar.parts.iter().map(move |part| (bar, part)));
    all.map(|(bar, (layer, part))| {
        let name = stack.layers.get(*layer).map_or("", |layer| layer.name.as_str());
        let end = |sign: f64| part.half_width.map(|half| part.value + sign * half);
        json!({
            "layer": name,
            "place": layer,
            "bar": format!("{} {}", bar.name, bar.of).trim_end(),
            "value": part.value,
            "low": end(-1.0),
            "high": end(1.0),
        })
    })
    .collect()
}

fn bars(stack: &Stack) -> Value {
    let upwards = Axis { name: stack.upwards.clone(), unit: stack.unit.clone() };
    json!({
        "mark": "bar",
        "encoding": {
            "x": { "field": "bar", "type": "nominal", "title": stack.across, "sort": null },
            "y": { "field": "value", "type": "quantitative", "title": label(&upwards) },
            "color": { "field": "layer", "type": "nominal", "title": null },
            "order": { "field": "place", "type": "quantitative" },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::tests::example;

    fn read(picture: &Picture) -> Value {
        let text = specification(picture);
        assert!(text.ends_with("}\n"));
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_figure_has_its_numbers_axes_and_marks() {
        let figure = example();
        let made = read(&Picture::Curves(figure.clone()));
        assert_eq!(made["$schema"], SCHEMA);
        assert_eq!(made["title"], "MAC transmit <of> this & that");
        assert!(made["description"].as_str().unwrap().ends_with("Compare: TR-88-08, Figure 6."));
        let values = made["data"]["values"].as_array().unwrap();
        assert_eq!(values.len(), figure.series.iter().map(|it| it.points.len()).sum::<usize>());
        let measured = json!({
            "series": "MAC transmit", "style": "points", "x": 64.0, "y": 1.125, "low": 1.025,
            "high": 1.425, "n": 50
        });
        assert_eq!(values[2], measured);
        assert_eq!(values[0]["low"], Value::Null);
        let encoding = &made["encoding"];
        assert_eq!(encoding["x"]["title"], "size (octets)");
        assert_eq!(encoding["y"]["scale"]["type"], "linear");
        // Bands and intervals, and one for each kind of mark.
        let marks: Vec<&Value> =
            made["layer"].as_array().unwrap().iter().map(|layer| &layer["mark"]).collect();
        let points = json!({ "type": "point", "filled": true });
        let joined = json!({ "type": "line", "point": true });
        assert_eq!(marks[1..], [&json!("rule"), &json!("line"), &points, &joined]);
    }

    #[test]
    fn an_axis_is_logarithmic_where_that_of_the_figure_is() {
        let figure = Figure { scale: Some(crate::figure::Scale::Logarithmic), ..example() };
        let made = read(&Picture::Curves(figure));
        assert_eq!(made["encoding"]["y"]["scale"]["type"], "log");
    }

    #[test]
    fn a_matrix_and_a_diagram_have_a_value_for_each_cell_and_span() {
        let made = read(&Picture::Matrix(crate::figure::matrix::tests::example()));
        let expected = json!({ "row": "A", "column": "B", "count": 12 });
        assert_eq!(made["data"]["values"][1], expected);
        let span = |name: &str, begin, end| Span { lane: 0, name: name.to_owned(), begin, end };
        let made = read(&Picture::Times(TimeDiagram {
            title: "A message".to_owned(),
            caption: "Seed 1.".to_owned(),
            reference: "Figure 3".to_owned(),
            lanes: vec!["sender".to_owned()],
            spans: vec![span("frame", 0.0, 1.5)],
            moments: vec![span("request", 0.0, 0.0)],
            intervals: vec![span("request to confirm", 0.0, 2.0)],
        }));
        let kinds: Vec<&Value> =
            made["data"]["values"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
        assert_eq!(kinds, ["task", "event", "interval"]);
        assert_eq!(made["data"]["values"][0]["lane"], "sender");
    }
}
