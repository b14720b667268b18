//! All numbers as Prometheus text: totals, histograms and gauges, read at the moment they are asked for.
//!
//! Names follow Prometheus' own rules: `forebay_<thing>_<unit>`, base units, `_total` behind what only grows. The names are
//! a promise, as those of the Status frame are: panels and alerts are built on them (`systemd/grafana-dashboard.json` has
//! a set). Labels have values from code and config only.

use std::fmt;
use std::sync::Arc;

use forebay_scan::Family;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::counters::Seen;
use super::histogram::{HELD, Scale, TIME};
use super::process::{Process, unix_seconds};
use super::tally::ACTIONS;
use crate::server::Shared;

/// The two ways to write the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// The exposition format 0.0.4, which everything reads.
    Prometheus,
    /// OpenMetrics 1.0, for who asks for it.
    OpenMetrics,
}

impl Format {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Everything, as text.
pub(super) fn text(shared: &Arc<Shared>, format: Format) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(All(Arc::clone(shared))));
    let mut out = String::with_capacity(16 << 10);
    match format {
        Format::Prometheus => prometheus_client::encoding::prometheus_text::encode(&mut out, &registry)?,
        Format::OpenMetrics => prometheus_client::encoding::text::encode(&mut out, &registry)?,
    }
    Ok(out)
}

struct All(Arc<Shared>);

impl fmt::Debug for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("All")
    }
}

impl Collector for All {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Out(encoder);
        let shared = &*self.0;
        daemon(shared, &mut out)?;
        connections(shared, &mut out)?;
        streams(shared, &mut out)?;
        audit(shared, &mut out)?;
        rules(shared, &mut out)?;
        process(shared, &mut out)
    }
}

fn daemon(shared: &Shared, out: &mut Out<'_>) -> fmt::Result {
    let help = "What runs, in its labels; always 1.";
    let mut build = out.of("forebay_build_info", help, MetricType::Gauge)?;
    build.encode_family(&[("version", crate::VERSION), ("arch", std::env::consts::ARCH)])?.encode_gauge(&1u32)?;
    let help = "What the daemon has taken away from itself: 1 if it is in force.";
    let mut sandbox = out.of("forebay_sandbox", help, MetricType::Gauge)?;
    for (kind, on) in [("landlock", shared.sandbox.landlock), ("seccomp", shared.sandbox.seccomp)] {
        sandbox.encode_family(&[("kind", kind)])?.encode_gauge(&u32::from(on))?;
    }
    let help = "Log lines about peers' faults that were left out because there were too many.";
    out.counter("forebay_log_lines_suppressed", help, shared.counters.log_lines_suppressed.get())
}

fn audit(shared: &Shared, out: &mut Out<'_>) -> fmt::Result {
    let Some(n) = shared.audit.numbers() else { return Ok(()) };
    out.counter("forebay_audit_records", "Records written to the audit log.", n.written)?;
    out.counter("forebay_audit_lost_records", "Records that could not be kept.", n.lost)?;
    out.counter("forebay_audit_failures", "Attempts to write the audit log that failed.", n.failures)?;
    out.gauge("forebay_audit_queue_records", "Records that wait to be written.", &n.queued)?;
    out.gauge("forebay_audit_failing", "1 if the audit log cannot be written.", &u32::from(n.failing))
}

fn connections(shared: &Shared, out: &mut Out<'_>) -> fmt::Result {
    let c = &shared.counters;
    let (open, _) = shared.quotas.open();
    let rings = shared.quotas.rings().min(open);
    let mut gauge =
        out.of("forebay_connections", "Open connections, by the way their frames take.", MetricType::Gauge)?;
    for (transport, n) in [("socket", open - rings), ("ring", rings)] {
        gauge.encode_family(&[("transport", transport)])?.encode_gauge(&n)?;
    }
    out.counter("forebay_connections_accepted", "Connections accepted.", c.connections_accepted.get())?;
    let help = "Connections whose peer went away with streams open, inside a frame or before the handshake.";
    out.counter("forebay_connections_lost", help, c.connections_lost.get())?;
    let help = "Clients that asked for a shared-memory ring, by whether they got one.";
    let mut rings = out.of("forebay_rings", help, MetricType::Counter)?;
    for (result, n) in [("granted", c.rings_granted.get()), ("refused", c.rings_refused.get())] {
        rings.encode_family(&[("result", result)])?.encode_counter::<NoLabelSet, _, u64>(&n, None)?;
    }
    let help = "Bytes of frames that went through rings.";
    let mut bytes = out.of("forebay_ring_bytes", help, MetricType::Counter)?;
    for (direction, n) in [("in", c.ring_bytes_in.get()), ("out", c.ring_bytes_out.get())] {
        bytes.encode_family(&[("direction", direction)])?.encode_counter::<NoLabelSet, _, u64>(&n, None)?;
    }
    let help = "Sleeps at a ring whose client had nothing more to say.";
    out.counter("forebay_ring_sleeps", help, c.ring_sleeps.get())?;
    let help = "Error frames by code. Kind violation: the peer broke the protocol; limit: a quota; timeout; daemon.";
    let mut errors = out.of("forebay_errors", help, MetricType::Counter)?;
    for (code, n) in c.errors() {
        let labels = [("code", code.as_str()), ("kind", kind(code))];
        errors.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&n, None)?;
    }
    Ok(())
}

/// What an error says about who is at fault.
fn kind(code: forebay_wire::Code) -> &'static str {
    use forebay_wire::Code;
    match code {
        Code::HandshakeTimeout | Code::IdleTimeout | Code::WriteStall => "timeout",
        Code::ConnectionLimit | Code::StreamLimit | Code::BufferLimit => "limit",
        Code::Draining | Code::Internal | Code::AuditUnavailable => "daemon",
        _ => "violation",
    }
}

fn streams(shared: &Shared, out: &mut Out<'_>) -> fmt::Result {
    let c = &shared.counters;
    let (_, open) = shared.quotas.open();
    out.gauge("forebay_streams", "Open streams.", &open)?;
    out.counter("forebay_streams_opened", "Streams opened.", c.streams_opened.get())?;
    out.counter("forebay_streams_finished", "Streams that ended with a report.", c.streams_finished.get())?;
    out.counter("forebay_streams_blocked", "Streams that a rule blocked.", c.streams_blocked.get())?;
    let (bytes_in, bytes_out) = c.bytes();
    let help = "Bytes of streams: scanned (in), and released (out).";
    let mut bytes = out.of("forebay_stream_bytes", help, MetricType::Counter)?;
    for (direction, n) in [("in", bytes_in), ("out", bytes_out)] {
        bytes.encode_family(&[("direction", direction)])?.encode_counter::<NoLabelSet, _, u64>(&n, None)?;
    }
    let help = "Findings by family and by what was done with the span.";
    let mut findings = out.of("forebay_findings", help, MetricType::Counter)?;
    for (family, by_action) in Family::ALL.iter().zip(c.findings()) {
        for (action, n) in ACTIONS.iter().zip(by_action) {
            let labels = [("family", family.as_str()), ("action", action.as_str())];
            findings.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&n, None)?;
        }
    }
    let help = "Time that a push took in the daemon, from its bytes being there to the end of its scan.";
    out.histogram("forebay_push_duration_seconds", help, TIME, c.time())?;
    let help = "Bytes that a stream held back after a push, because they may become part of a replaced span.";
    out.histogram("forebay_held_bytes", help, HELD, c.held())?;
    let help = "Output that waits for slow readers, in bytes, over all streams.";
    out.gauge("forebay_queued_bytes", help, &shared.quotas.buffered())?;
    let help = "The most of it that the config allows.";
    out.gauge("forebay_queued_limit_bytes", help, &shared.config.limits.buffered_bytes)
}

fn rules(shared: &Shared, out: &mut Out<'_>) -> fmt::Result {
    let c = &shared.counters;
    let mut reloads =
        out.of("forebay_reloads", "Reloads, by whether the new rules are in force.", MetricType::Counter)?;
    for (result, n) in [("done", c.reloads.get()), ("refused", c.reloads_failed.get())] {
        reloads.encode_family(&[("result", result)])?.encode_counter::<NoLabelSet, _, u64>(&n, None)?;
    }
    let failed = u32::from(!shared.in_force.error().is_empty());
    out.gauge("forebay_reload_refused", "1 if the last reload was refused: the old rules are in force.", &failed)?;
    let help = "Which rules are in force: 1 at the start, one more with each reload that was done.";
    out.gauge("forebay_rules_generation", help, &(c.reloads.get() + 1))?;
    let help = "When the rules in force were loaded, in seconds since 1970.";
    out.gauge("forebay_rules_loaded_timestamp_seconds", help, &unix_seconds(shared.in_force.age()))?;
    let profiles = shared.in_force.profiles();
    let help = "Rules by profile.";
    let mut rules = out.of("forebay_profile_rules", help, MetricType::Gauge)?;
    for p in profiles.iter() {
        rules.encode_family(&[("profile", p.name.as_str())])?.encode_gauge(&(p.rules.rules().len() as u64))?;
    }
    let help = "The fingerprint of all rules in force, in its label; always 1.";
    let mut info = out.of("forebay_rules_info", help, MetricType::Gauge)?;
    let fingerprint = crate::audit::hex(&profiles.fingerprint()[..8]);
    info.encode_family(&[("fingerprint", fingerprint.as_str())])?.encode_gauge(&1u32)
}

fn process(shared: &Shared, out: &mut Out<'_>) -> fmt::Result {
    let p = Process::now();
    let started = unix_seconds(shared.uptime());
    out.gauge("process_start_time_seconds", "When the process started, in seconds since 1970.", &started)?;
    let gauges = [
        ("process_resident_memory_bytes", "Resident memory.", p.resident_bytes),
        ("process_open_fds", "Open descriptors.", p.open_fds),
        ("process_max_fds", "The most descriptors that may be open.", p.max_fds),
        ("process_threads", "Threads.", p.threads),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            out.gauge(name, help, &value)?;
        }
    }
    if let Some(seconds) = p.cpu_seconds {
        let mut cpu = out.of("process_cpu_seconds", "Processor time.", MetricType::Counter)?;
        cpu.encode_counter::<NoLabelSet, _, u64>(&seconds, None)?;
    }
    Ok(())
}

struct Out<'a>(DescriptorEncoder<'a>);

impl Out<'_> {
    fn of<'s>(&'s mut self, name: &'s str, help: &str, kind: MetricType) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, None, kind)
    }

    fn counter(&mut self, name: &str, help: &str, n: u64) -> fmt::Result {
        self.of(name, help, MetricType::Counter)?.encode_counter::<NoLabelSet, _, u64>(&n, None)
    }

    fn gauge(&mut self, name: &str, help: &str, value: &impl EncodeGaugeValue) -> fmt::Result {
        self.of(name, help, MetricType::Gauge)?.encode_gauge(value)
    }

    fn histogram(&mut self, name: &str, help: &str, scale: Scale, seen: Seen) -> fmt::Result {
        let buckets: Vec<(f64, u64)> = seen.counts.iter().enumerate().map(|(i, n)| (scale.bound(i), *n)).collect();
        let count = seen.counts.iter().sum();
        let sum = scale.in_units(seen.sum);
        self.of(name, help, MetricType::Histogram)?.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }
}
