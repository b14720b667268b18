//! What two readings say: rates a second, and percentiles of what happened between them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::scrape::{Reading, label};

/// Numbers of a moment. Rates are per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Numbers {
    pub(super) version: String,
    pub(super) up_seconds: f64,
    pub(super) streams: f64,
    pub(super) opened: f64,
    pub(super) connections: Vec<(String, f64)>,
    pub(super) bytes_in: f64,
    pub(super) bytes_out: f64,
    pub(super) pushes: f64,
    /// Seconds that pushes took: half of them, 99 and 99.9 of a hundred took at most so long. `None` without pushes.
    pub(super) push: Option<[f64; 3]>,
    /// Bytes held after pushes: the same, and the mean.
    pub(super) held: Option<([f64; 3], f64)>,
    /// Family, action, a second, in all.
    pub(super) findings: Vec<(String, String, f64, f64)>,
    /// Kind, a second, in all.
    pub(super) errors: Vec<(String, f64, f64)>,
    pub(super) queued: f64,
    pub(super) queued_limit: f64,
    pub(super) generation: f64,
    pub(super) refused: bool,
    pub(super) resident: f64,
    pub(super) processors: f64,
    /// Records waiting and lost, and whether it fails; `None` without an audit log.
    pub(super) audit: Option<(f64, f64, bool)>,
}

const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

impl Numbers {
    pub(super) fn between(before: &Reading, now: &Reading) -> Numbers {
        let seconds = now.at.duration_since(before.at).as_secs_f64().max(1e-3);
        let value = |series: &str| now.get(series).unwrap_or(0.0);
        // A counter that went back is a daemon that was started anew: what it counted since is all that is known.
        let grown = |series: &str| {
            let (a, b) = (before.get(series).unwrap_or(0.0), value(series));
            if b >= a { b - a } else { b }
        };
        let rate = |series: &str| grown(series) / seconds;
        let mut errors: Vec<(String, f64, f64)> = Vec::new();
        for (labels, total) in now.of("forebay_errors_total") {
            let kind = label(labels, "kind");
            let a_second = rate(&format!("forebay_errors_total{{{labels}}}"));
            match errors.iter_mut().find(|e| e.0 == kind) {
                Some(e) => (e.1, e.2) = (e.1 + a_second, e.2 + total),
                None => errors.push((kind.to_owned(), a_second, total)),
            }
        }
        let findings = now.of("forebay_findings_total").map(|(labels, total)| {
            let a_second = rate(&format!("forebay_findings_total{{{labels}}}"));
            (label(labels, "family").to_owned(), label(labels, "action").to_owned(), a_second, total)
        });
        let start = value("process_start_time_seconds");
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let held_count = grown("forebay_held_bytes_count");
        let audit = now
            .get("forebay_audit_queue_records")
            .map(|queued| (queued, value("forebay_audit_lost_records_total"), value("forebay_audit_failing") > 0.0));
        Numbers {
            version: now
                .of("forebay_build_info")
                .next()
                .map(|(l, _)| label(l, "version").to_owned())
                .unwrap_or_default(),
            up_seconds: (clock.as_secs_f64() - start).max(0.0),
            streams: value("forebay_streams"),
            opened: rate("forebay_streams_opened_total"),
            connections: now.of("forebay_connections").map(|(l, n)| (label(l, "transport").to_owned(), n)).collect(),
            bytes_in: rate("forebay_stream_bytes_total{direction=\"in\"}"),
            bytes_out: rate("forebay_stream_bytes_total{direction=\"out\"}"),
            pushes: rate("forebay_push_duration_seconds_count"),
            push: quantiles(before, now, "forebay_push_duration_seconds_bucket"),
            held: quantiles(before, now, "forebay_held_bytes_bucket")
                .map(|q| (q, grown("forebay_held_bytes_sum") / held_count.max(1.0))),
            findings: findings.collect(),
            errors,
            queued: value("forebay_queued_bytes"),
            queued_limit: value("forebay_queued_limit_bytes"),
            generation: value("forebay_rules_generation"),
            refused: value("forebay_reload_refused") > 0.0,
            resident: value("process_resident_memory_bytes"),
            processors: rate("process_cpu_seconds_total"),
            audit,
        }
    }

    /// For people, without a terminal.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut all = vec![
            format!(
                "forebayd {}  up {}  rules generation {}{}",
                self.version,
                duration(self.up_seconds),
                self.generation,
                if self.refused { "  LAST RELOAD REFUSED (forebay status says why)" } else { "" }
            ),
            {
                let mut by = String::new();
                for (transport, n) in &self.connections {
                    let _ = write!(by, "  {transport} {n}");
                }
                format!("streams {:8}  opened {:8.1}/s  connections{by}", self.streams, self.opened)
            },
            format!(
                "in  {:>10}/s  out {:>10}/s  pushes {:.0}/s",
                size(self.bytes_in),
                size(self.bytes_out),
                self.pushes
            ),
        ];
        all.push(match self.push {
            Some([p50, p99, p999]) => format!("push     p50 {}  p99 {}  p99.9 {}", time(p50), time(p99), time(p999)),
            None => "push     none".to_owned(),
        });
        all.push(match self.held {
            Some(([p50, p99, _], mean)) => format!("held     p50 {p50:.0} B  p99 {p99:.0} B  mean {mean:.1} B"),
            None => "held     none".to_owned(),
        });
        all.push(format!(
            "process  {} resident  {:.2} processors  {} of {} wait for readers",
            size(self.resident),
            self.processors,
            size(self.queued),
            size(self.queued_limit)
        ));
        match self.audit {
            Some((queued, lost, failing)) => {
                let failing = if failing { "  CANNOT BE WRITTEN" } else { "" };
                all.push(format!("audit    {queued} records wait  {lost} lost{failing}"));
            }
            None => all.push("audit    off".to_owned()),
        }
        all.extend(self.findings.iter().filter(|f| f.3 > 0.0).map(|(family, action, rate, total)| {
            format!("finding  {family:12} {action:8} {rate:10.1}/s {total:12.0}")
        }));
        all.extend(
            self.errors
                .iter()
                .filter(|e| e.2 > 0.0)
                .map(|(kind, rate, total)| format!("error    {kind:21} {rate:10.1}/s {total:12.0}")),
        );
        all
    }

    pub(super) fn json(&self) -> Value {
        let micros = |i: usize| self.push.map(|q| q[i] * 1e6);
        let held = |i: usize| self.held.map(|(q, _)| q[i]);
        json!({
            "version": self.version, "up_seconds": self.up_seconds, "streams": self.streams, "opened_per_s": self.opened,
            "connections": self.connections.iter().map(|(t, n)| (t.clone(), json!(n))).collect::<serde_json::Map<_, _>>(),
            "bytes_in_per_s": self.bytes_in, "bytes_out_per_s": self.bytes_out, "pushes_per_s": self.pushes,
            "push_p50_us": micros(0), "push_p99_us": micros(1), "push_p999_us": micros(2),
            "held_p50_bytes": held(0), "held_p99_bytes": held(1), "held_mean_bytes": self.held.map(|h| h.1),
            "findings": self.findings.iter().map(|(f, a, r, t)| json!({"family": f, "action": a, "per_s": r, "total": t})).collect::<Vec<_>>(),
            "errors": self.errors.iter().map(|(k, r, t)| json!({"kind": k, "per_s": r, "total": t})).collect::<Vec<_>>(),
            "queued_bytes": self.queued, "queued_limit_bytes": self.queued_limit,
            "rules_generation": self.generation, "reload_refused": self.refused,
            "resident_bytes": self.resident, "processors": self.processors,
            "audit": self.audit.map(|(queued, lost, failing)| json!({"queued": queued, "lost": lost, "failing": failing})),
        })
    }
}

/// Quantiles of what was counted between two readings, read off the buckets as Prometheus does: evenly within one.
fn quantiles(before: &Reading, now: &Reading, name: &str) -> Option<[f64; 3]> {
    let mut buckets: Vec<(f64, f64)> = now
        .of(name)
        .filter_map(|(labels, n)| {
            let bound = label(labels, "le").replace("+Inf", "inf").parse().ok()?;
            let then = before.get(&format!("{name}{{{labels}}}")).unwrap_or(0.0);
            Some((bound, if n >= then { n - then } else { n }))
        })
        .collect();
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total = buckets.last()?.1;
    if total <= 0.0 {
        return None;
    }
    Some(QUANTILES.map(|q| {
        let wanted = q * total;
        let i = buckets.iter().position(|b| b.1 >= wanted).unwrap_or(buckets.len() - 1);
        let (low, below) = if i == 0 { (0.0, 0.0) } else { buckets[i - 1] };
        let (high, here) = buckets[i];
        if high.is_infinite() {
            return low;
        }
        low + (high - low) * (wanted - below) / (here - below).max(f64::EPSILON)
    }))
}

/// `1.4 µs`, `12 ms`.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.1} s"),
    }
}

/// `12.3 MB`.
pub(super) fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1e3 => format!("{b:.0} B"),
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

fn duration(seconds: f64) -> String {
    let s = seconds as u64;
    format!("{}h {:02}m {:02}s", s / 3600, s / 60 % 60, s % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_what_is_new() {
        let text = |n: [u32; 3]| {
            let [a, b, c] = n;
            format!("h{{le=\"1.0\"}} {a}\nh{{le=\"2.0\"}} {b}\nh{{le=\"+Inf\"}} {c}\n")
        };
        let reading = |n| Reading::parse(&text(n));
        assert_eq!(quantiles(&reading([5, 5, 5]), &reading([5, 5, 5]), "h"), None);
        // A hundred new ones, all between 1 and 2.
        let q = quantiles(&reading([5, 5, 5]), &reading([5, 105, 105]), "h").unwrap();
        assert!((q[0] - 1.5).abs() < 1e-9 && (q[1] - 1.99).abs() < 1e-9, "{q:?}");
        // Beyond the last bound: that bound is what is known.
        assert_eq!(quantiles(&reading([0, 0, 0]), &reading([0, 0, 9]), "h"), Some([2.0; 3]));
        // Started anew: all that it has is new.
        assert_eq!(quantiles(&reading([900, 900, 900]), &reading([10, 10, 10]), "h").map(|q| q[0]), Some(0.5));
    }
}
