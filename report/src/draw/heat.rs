//! Maps of a value by unit and time: an image of eight bits a pixel within the file.

use std::fmt::Write as _;

use super::axis;
use super::scale::Scale;
use super::{Anchor, RIGHT, Svg, WIDTH};
use crate::format::{escape, number, time};

/// Coordinates of a map's left end.
const LEFT: f64 = 84.0;

/// Values by unit and interval.
pub(crate) struct Heat<'a> {
    pub(crate) label: &'a str,
    /// Name of a unit: `SM`.
    pub(crate) unit: &'a str,
    /// Unit of the values.
    pub(crate) measure: &'a str,
    /// Duration in nanoseconds.
    pub(crate) nanoseconds: f64,
    /// Values by unit, then by column of equal length.
    pub(crate) rows: Vec<Vec<f64>>,
    /// Value of the strongest colour.
    pub(crate) most: f64,
}

impl Heat<'_> {
    /// The picture.
    pub(crate) fn draw(&self) -> String {
        let rows = self.rows.len();
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let height = (rows as f64 * 5.0).clamp(80.0, 320.0);
        let (top, bottom) = (8.0, 8.0 + height);
        let x = Scale::linear((0.0, self.nanoseconds), (LEFT, WIDTH - RIGHT));
        let mut svg = Svg::new(WIDTH, bottom + 24.0, self.label);
        svg.zoomable(x.coordinates, x.values(), "ns");
        axis::below(&mut svg, &x, (bottom, bottom), time);
        let step = rows.div_ceil(8).max(1);
        for row in (0..rows).step_by(step) {
            let y = top + height * (row as f64 + 0.5) / rows as f64;
            svg.text((LEFT - 8.0, y + 4.0), Anchor::End, "tick", &format!("{} {row}", self.unit));
        }
        let width = WIDTH - RIGHT - LEFT;
        let _ = write!(
            svg.text,
            "<svg class=\"clip\" x=\"{LEFT}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"{LEFT} 0 {width} {height}\"><g class=\"zoom\"><image class=\"heat\" x=\"{LEFT}\" y=\"0\" \
             width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\" data-r=\"{rows}\" data-c=\"{columns}\" \
             data-m=\"{}\" data-n=\"{}\" data-u=\"{}\" href=\"data:image/bmp;base64,{}\"/></g></svg>",
            self.most,
            escape(self.unit),
            escape(self.measure),
            base64(&self.image(rows, columns))
        );
        let mut text = svg.finish();
        let _ = write!(
            text,
            "<p class=\"ramp\"><span>0</span><i></i><span>{} {}</span></p>",
            number(self.most),
            escape(self.measure)
        );
        text
    }

    /// A bitmap with a palette of 256 colours, the last row first.
    fn image(&self, rows: usize, columns: usize) -> Vec<u8> {
        const HEADER: u32 = 14 + 40 + 4 * 256;
        let stride = columns.div_ceil(4) * 4;
        let size = HEADER + (stride * rows) as u32;
        let mut bytes = b"BM".to_vec();
        for value in [size, 0, HEADER, 40, columns as u32, rows as u32, 1 | 8 << 16, 0, 0, 2835, 2835, 256, 0]
        {
            bytes.extend(value.to_le_bytes());
        }
        (0..=255).for_each(|level| bytes.extend(colour(level)));
        for row in self.rows.iter().rev() {
            let level = |value: &f64| (255.0 * value / self.most).round().clamp(0.0, 255.0) as u8;
            bytes.extend(row.iter().map(level));
            bytes.resize(bytes.len() + stride - row.len(), 0);
        }
        bytes
    }
}

/// Colour of a level as blue, green, red, 0: dark blue over green to yellow, even in lightness
/// (anchors of the map viridis).
fn colour(level: u8) -> [u8; 4] {
    const ANCHORS: [[f64; 3]; 6] = [
        [68.0, 1.0, 84.0],
        [65.0, 68.0, 135.0],
        [42.0, 120.0, 142.0],
        [34.0, 168.0, 132.0],
        [122.0, 209.0, 81.0],
        [253.0, 231.0, 37.0],
    ];
    let place = f64::from(level) / 255.0 * 5.0;
    let first = (place as usize).min(4);
    let part = place - first as f64;
    let mix = |channel: usize| {
        let ends = ANCHORS.get(first).zip(ANCHORS.get(first + 1));
        let ends = ends.and_then(|(low, high)| Some((low.get(channel)?, high.get(channel)?)));
        ends.map_or(0, |(low, high)| (low + part * (high - low)).round() as u8)
    };
    [mix(2), mix(1), mix(0), 0]
}

/// Bytes in base 64.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = (word >> (18 - 6 * digit)) as usize & 63;
            match digit as usize > group.len() {
                true => text.push('='),
                false => text.push(DIGITS.get(value).copied().map_or('=', char::from)),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_pads_to_groups_of_four() {
        assert_eq!([base64(b"Man"), base64(b"Ma"), base64(b"M"), base64(b"")], ["TWFu", "TWE=", "TQ==", ""]);
    }

    #[test]
    fn image_has_a_byte_for_each_cell() {
        let heat = Heat {
            label: "",
            unit: "",
            measure: "",
            nanoseconds: 1.0,
            rows: vec![vec![0.0, 1.0, 2.0, 1.0], vec![2.0, 0.0, 1.0, 4.0]],
            most: 2.0,
        };
        let image = heat.image(2, 4);
        assert_eq!(image.len(), 14 + 40 + 1024 + 8);
        assert_eq!(image[14 + 40 + 1024..], [255, 0, 128, 255, 0, 128, 255, 128]);
        assert_eq!(u32::from_le_bytes([image[2], image[3], image[4], image[5]]) as usize, image.len());
    }
}
