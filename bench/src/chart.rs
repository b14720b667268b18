//! The picture of a run: a bar a contender, as long as its speed is on a logarithmic scale, with a dot for each text.
//!
//! Plain SVG with its own style for light and dark readers; no script, no font of its own.

use std::fmt::Write as _;

use crate::report::Report;
use crate::rows::Speed;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 240.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 64.0;
const ROW: f64 = 26.0;

/// A contender: its speeds by text, and their geometric mean.
struct Bar<'a> {
    name: &'a str,
    speeds: Vec<&'a Speed>,
    mean: f64,
}

/// Draws a report. Empty if it has no speeds.
pub fn svg(report: &Report) -> String {
    let mut bars: Vec<Bar<'_>> = Vec::new();
    for speed in report.rows.iter().filter_map(|r| r.speed.as_ref()).filter(|s| s.mb_per_s > 0.0) {
        match bars.iter_mut().find(|b| b.name == speed.contender) {
            Some(bar) => bar.speeds.push(speed),
            None => bars.push(Bar { name: &speed.contender, speeds: vec![speed], mean: 0.0 }),
        }
    }
    for bar in &mut bars {
        let logs: f64 = bar.speeds.iter().map(|s| s.mb_per_s.ln()).sum();
        bar.mean = (logs / bar.speeds.len() as f64).exp();
    }
    bars.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    let all = || bars.iter().flat_map(|b| b.speeds.iter().map(|s| s.mb_per_s));
    if bars.is_empty() {
        return String::new();
    }
    let low = all().fold(f64::INFINITY, f64::min).log10().floor();
    let high = all().fold(0.0, f64::max).log10().ceil();
    let x = |mb: f64| LEFT + (mb.log10() - low) / (high - low) * (WIDTH - LEFT - RIGHT);
    draw(report, &bars, low as i32, high as i32, x)
}

fn draw(report: &Report, bars: &[Bar<'_>], low: i32, high: i32, x: impl Fn(f64) -> f64) -> String {
    let bottom = TOP + ROW * bars.len() as f64;
    let height = bottom + 92.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-labelledby=\"t\">\n\
         <title id=\"t\">Speed of Forebay and of what it is compared with, in bytes a second</title>\n{STYLE}"
    );
    let _ = writeln!(out, "<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>");
    let _ = writeln!(
        out,
        "<text class=\"head\" x=\"16\" y=\"26\">Bytes a second on one core, {} rules</text>",
        report.rules
    );
    let _ = writeln!(
        out,
        "<text class=\"small\" x=\"16\" y=\"45\">Bar: geometric mean over the texts; dots: each text. Logarithmic: a line is ten times the line before.</text>"
    );
    for power in low..=high {
        let at = x(10f64.powi(power));
        let _ = writeln!(out, "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\"/>");
        let _ = writeln!(
            out,
            "<text class=\"small mid\" x=\"{at:.1}\" y=\"{}\">{}</text>",
            bottom + 16.0,
            unit(10f64.powi(power))
        );
    }
    for (i, bar) in bars.iter().enumerate() {
        let y = TOP + ROW * i as f64;
        let class = match bar.name {
            n if n.starts_with("Forebay") => "own",
            "memchr2" | "memcpy" => "limit",
            n if n.starts_with("candidate") => "stage",
            _ => "peer",
        };
        let _ =
            writeln!(out, "<text class=\"name end\" x=\"{}\" y=\"{:.1}\">{}</text>", LEFT - 10.0, y + 17.0, bar.name);
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{}\" rx=\"2\"/>",
            y + 5.0,
            (x(bar.mean) - LEFT).max(1.0),
            ROW - 10.0
        );
        for s in &bar.speeds {
            let _ = writeln!(
                out,
                "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\"><title>{}: {} MB/s</title></circle>",
                x(s.mb_per_s),
                y + ROW / 2.0,
                s.text,
                short(s.mb_per_s)
            );
        }
        let rightmost = bar.speeds.iter().map(|s| s.mb_per_s).fold(bar.mean, f64::max);
        let _ = writeln!(
            out,
            "<text class=\"small\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x(rightmost) + 8.0,
            y + 17.0,
            unit(bar.mean)
        );
    }
    let quick = if report.quick { " A quick run: not a record." } else { "" };
    let captions = [
        "Blue: Forebay, and lighter its candidate stage. Amber: peers; Hyperscan and regex with the same rules, the other two with their own. Grey: limits.".to_owned(),
        format!("{}, {} cores, load {} to {}, {}.", report.cpu, report.cores, report.load[0], report.load[1], report.rustc),
        format!("Commit {}, {}.{quick}", report.commit, report.date),
    ];
    for (i, caption) in captions.iter().enumerate() {
        let y = bottom + 44.0 + 17.0 * i as f64;
        let _ = writeln!(out, "<text class=\"small\" x=\"16\" y=\"{y}\">{caption}</text>");
    }
    out.push_str("</svg>\n");
    out
}

fn unit(mb: f64) -> String {
    match mb {
        m if m >= 1e3 => format!("{} GB/s", short(m / 1e3)),
        m if m >= 1.0 => format!("{} MB/s", short(m)),
        m => format!("{} kB/s", short(m * 1e3)),
    }
}

fn short(n: f64) -> String {
    if n >= 10.0 || n.fract() == 0.0 { format!("{n:.0}") } else { format!("{n:.1}") }
}

const STYLE: &str = "<style>\
text{font-family:system-ui,sans-serif;fill:#1f2328}.head{font-size:16px;font-weight:600}.name{font-size:13px}.small{font-size:11.5px;fill:#57606a}\
.mid{text-anchor:middle}.end{text-anchor:end}.ground{fill:#ffffff}.grid{stroke:#d8dee4;stroke-width:1}\
.own{fill:#0969da}.stage{fill:#8ab9ec}.limit{fill:#c9d1d9}.peer{fill:#bf8700}.dot{fill:#1f2328;fill-opacity:.75;stroke:#ffffff;stroke-width:.6}\
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.ground{fill:#0d1117}.grid{stroke:#30363d}\
.own{fill:#4493f8}.stage{fill:#1f4f8f}.limit{fill:#484f58}.peer{fill:#d29922}.dot{fill:#f0f6fc;stroke:#0d1117}}\
</style>\n";
