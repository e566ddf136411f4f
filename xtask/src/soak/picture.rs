//! The picture of a soak: one panel for each curve, as SVG that follows the reader's light or dark scheme.

use std::fmt::Write;

use super::sample::Sample;

/// Title of a curve, and its value in a sample.
type Curve = (&'static str, fn(&Sample) -> f64);

pub(super) const CURVES: [Curve; 3] = [
    ("memory, MB", |sample| sample.memory_mb),
    ("data folder, MB", |sample| sample.disk_mb),
    ("open files and sockets", |sample| sample.descriptors),
];

/// Draws the samples.
pub(super) fn draw(samples: &[Sample]) -> String {
    let height = PANEL * CURVES.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\"><style>rect{{fill:#fff}}text{{fill:#333}}.axis{{stroke:#999}}\
         .curve{{fill:none;stroke:#2563c9;stroke-width:1.5}}@media(prefers-color-scheme:dark){{rect{{fill:#161b22}}\
         text{{fill:#ddd}}.axis{{stroke:#666}}.curve{{stroke:#6ea8ff}}}}</style>\
         <rect width=\"{WIDTH}\" height=\"{height}\"/>\n"
    );
    for (index, (title, of)) in CURVES.iter().enumerate() {
        panel(&mut svg, PANEL * index as f64, title, samples, *of);
    }
    svg.push_str("</svg>\n");
    svg
}

/// From zero to the next round number above the largest value.
fn panel(svg: &mut String, top: f64, title: &str, samples: &[Sample], of: fn(&Sample) -> f64) {
    let most = round_up(samples.iter().map(of).fold(0.0, f64::max));
    let minutes = samples.last().map_or(1.0, |sample| sample.minutes).max(0.1);
    let (base, right) = (top + PANEL - 28.0, WIDTH - 20.0);
    let curve = samples.iter().map(|sample| {
        let x = LEFT + (right - LEFT) * sample.minutes / minutes;
        let y = base - (base - top - 30.0) * of(sample) / most;
        format!("{x:.1},{y:.1} ")
    });
    let curve: String = curve.collect();
    let (ceiling, below) = (top + 30.0, base + 16.0);
    // Writing to a string cannot fail.
    _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\" font-weight=\"bold\">{title}</text>\
         <line class=\"axis\" x1=\"{LEFT}\" y1=\"{base}\" x2=\"{right}\" y2=\"{base}\"/>\
         <line class=\"axis\" x1=\"{LEFT}\" y1=\"{ceiling}\" x2=\"{right}\" y2=\"{ceiling}\" stroke-dasharray=\"2 4\"/>\
         <g text-anchor=\"end\"><text x=\"{}\" y=\"{}\">{most}</text><text x=\"{}\" y=\"{base}\">0</text>\
         <text x=\"{right}\" y=\"{below}\">{minutes:.0} minutes</text></g>\
         <polyline class=\"curve\" points=\"{}\"/>",
        top + 18.0,
        LEFT - 6.0,
        ceiling + 4.0,
        LEFT - 6.0,
        curve.trim_end(),
    );
}

/// 1, 2 or 5 times a power of ten, and at least `value`.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.max(1.0).log10().floor());
    [1.0, 2.0, 5.0]
        .map(|step| step * power)
        .into_iter()
        .find(|&rounded| rounded >= value)
        .unwrap_or(10.0 * power)
}

const WIDTH: f64 = 720.0;

const PANEL: f64 = 150.0;

const LEFT: f64 = 56.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number() {
        assert_eq!([0.0, 1.0, 7.0, 21.0, 50.0, 51.0].map(round_up), [1.0, 1.0, 10.0, 50.0, 50.0, 100.0]);
    }

    #[test]
    fn each_curve_lies_inside_its_panel() {
        let sample =
            |minutes, value| Sample { minutes, memory_mb: value, disk_mb: value, descriptors: value };
        let svg = draw(&[sample(0.0, 3.0), sample(1.0, 10.0)]);
        // The second point of each.
        let tops = svg.split("points=\"").skip(1).map(|points| points.split([' ', ',', '"']).nth(3).unwrap());
        assert_eq!(tops.collect::<Vec<_>>(), ["30.0", "180.0", "330.0"]);
    }
}
