//! Pictures as SVG text. Colours are classes of the page's style, so that dark and light differ
//! there alone.

pub(crate) mod axis;
pub(crate) mod bars;
pub(crate) mod curves;
pub(crate) mod heat;
pub(crate) mod scale;
pub(crate) mod scatter;

use std::fmt::Write as _;

use crate::format::{escape, point};

/// Width of a full picture in units of its view box.
pub(crate) const WIDTH: f64 = 1080.0;
/// Room right of an axis, for half of its last text.
pub(crate) const RIGHT: f64 = 30.0;

/// A picture under way.
pub(crate) struct Svg {
    text: String,
    width: f64,
    height: f64,
    label: String,
    /// Further attributes of the root.
    attributes: String,
}

/// Alignment of a text at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// A picture with a text for readers who do not see it.
    pub(crate) fn new(width: f64, height: f64, label: &str) -> Svg {
        Svg { text: String::new(), width, height, label: escape(label), attributes: String::new() }
    }

    /// Lets the script zoom the group `.zoom` along x, between these coordinates and values.
    pub(crate) fn zoomable(&mut self, x: (f64, f64), values: (f64, f64), unit: &str) {
        let _ = write!(
            self.attributes,
            " class=\"zoomable\" tabindex=\"0\" data-x0=\"{}\" data-x1=\"{}\" data-v0=\"{}\" data-v1=\"{}\" data-unit=\"{}\"",
            point(x.0),
            point(x.1),
            values.0,
            values.1,
            escape(unit)
        );
    }

    /// The text, to which SVG is added.
    pub(crate) fn text_mut(&mut self) -> &mut String {
        &mut self.text
    }

    /// Adds SVG text.
    pub(crate) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A rectangle of a class; `tip` is shown under the pointer.
    pub(crate) fn rect(&mut self, [x, y, width, height]: [f64; 4], class: &str, tip: &str) {
        let _ = write!(
            self.text,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{class}\"{}/>",
            point(x),
            point(y),
            point(width.max(0.0)),
            point(height.max(0.0)),
            tip_attribute(tip)
        );
    }

    /// A line of a class.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.text,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{class}\"/>",
            point(from.0),
            point(from.1),
            point(to.0),
            point(to.1)
        );
    }

    /// A path of a class.
    pub(crate) fn path(&mut self, path: &str, class: &str) {
        let _ = write!(self.text, "<path d=\"{path}\" class=\"{class}\"/>");
    }

    /// A text of a class.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.text,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>",
            point(x),
            point(y),
            escape(text)
        );
    }

    /// The whole picture.
    pub(crate) fn finish(self) -> String {
        let Svg { text, width, height, label, attributes } = self;
        format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{label}\"{attributes}>{text}</svg>",
            point(width),
            point(height)
        )
    }
}

/// The attribute with a text for the pointer.
pub(crate) fn tip_attribute(tip: &str) -> String {
    if tip.is_empty() { String::new() } else { format!(" data-t=\"{}\"", escape(tip)) }
}

/// A legend of classes and texts as HTML.
pub(crate) fn legend<'a>(entries: impl IntoIterator<Item = (String, &'a str)>) -> String {
    let mut text = String::from("<ul class=\"legend\">");
    for (class, name) in entries {
        let _ = write!(text, "<li><i class=\"{class}\"></i>{}</li>", escape(name));
    }
    text.push_str("</ul>");
    text
}
