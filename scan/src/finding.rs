//! What the filter says: findings, the final report, and the sink that takes both.
//!
//! A finding never carries the text it was made from: it names a rule and a span of input offsets, so it can be
//! logged, counted and sent to another process without moving a secret there.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// What kind of trouble a rule looks for. A profile says what each family does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Personal data: e-mail, cards, national identifiers, addresses of machines.
    Pii,
    /// Credentials: keys, tokens, passwords in URLs, private keys.
    Secret,
    /// A comment that stands for content somebody left out.
    Elision,
    /// A mark that a tool left where it shortened its output, or a structure open at the end.
    Truncation,
    /// Text that gives orders to the model, or hides text from the reader.
    Injection,
}

impl Family {
    /// Every family, in the order in which tables show them.
    pub const ALL: [Family; 5] = [Family::Pii, Family::Secret, Family::Elision, Family::Truncation, Family::Injection];

    /// The name used in packs, profiles and findings.
    pub fn as_str(self) -> &'static str {
        match self {
            Family::Pii => "pii",
            Family::Secret => "secret",
            Family::Elision => "elision",
            Family::Truncation => "truncation",
            Family::Injection => "injection",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How bad it is when a match is real. Also the default arbitration priority of a rule (see [`crate::RuleInfo`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Rarely harmful by itself.
    Low,
    /// Harmful in the wrong hands.
    Medium,
    /// Harmful to a person or a system.
    High,
    /// Gives access at once.
    Critical,
}

impl Severity {
    /// Every severity, the mildest first.
    pub const ALL: [Severity; 5] =
        [Severity::Info, Severity::Low, Severity::Medium, Severity::High, Severity::Critical];

    /// The name used in packs and findings.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }
}

/// What is done with a span. Only `Mask`, `Replace` and `Block` change bytes, so only rules with these hold bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Nothing: the rule is off, its matches are not even looked for.
    Allow,
    /// Reported; the bytes pass.
    Flag,
    /// Letters and digits become `*` but for the last four; everything else keeps its place.
    Mask,
    /// A typed token takes the span's place.
    Replace,
    /// Nothing from the span on is released; the stream ends with a verdict.
    Block,
}

impl Action {
    /// The name used in packs, profiles and findings.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Allow => "allow",
            Action::Flag => "flag",
            Action::Mask => "mask",
            Action::Replace => "replace",
            Action::Block => "block",
        }
    }

    /// Whether the action changes bytes. Rules whose action does not never delay a byte.
    pub fn acts(self) -> bool {
        matches!(self, Action::Mask | Action::Replace | Action::Block)
    }
}

/// A rule's place in its [`crate::RuleSet`]. Only meaningful together with that set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u32);

/// One match, by rule and place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that matched.
    pub rule: RuleId,
    /// The part acted on, in byte offsets of the input stream. Empty (`start == end`) for "at this place".
    pub span: Range<u64>,
    /// What was done with the span.
    pub action: Action,
}

/// Why a stream is not whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// A stable code: `open-json-string`, `open-fence`, `truncation.codex-tokens`, `elision.comment-en` …
    pub code: String,
    /// The input offset, in bytes, where the open construct or the mark begins.
    pub at: u64,
}

/// What `finish` says about the stream as a whole (promise S7).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// No construct was open at the end, and no truncation mark or elision was seen.
    pub complete: bool,
    /// Why not, in order of offset. At most [`Report::MAX_REASONS`]; the count goes on in `more`.
    pub reasons: Vec<Reason>,
    /// Reasons beyond the bound.
    pub more: u64,
    /// Set when a rule with action `block` ended the stream: the input offset of the span.
    pub blocked_at: Option<u64>,
}

impl Report {
    /// Bound on `reasons`: a stream made of nothing but truncation marks must not grow memory.
    pub const MAX_REASONS: usize = 32;

    /// Adds a reason and marks the stream incomplete.
    pub fn push(&mut self, code: impl Into<String>, at: u64) {
        self.complete = false;
        if self.reasons.len() < Self::MAX_REASONS {
            self.reasons.push(Reason { code: code.into(), at });
        } else {
            self.more += 1;
        }
    }
}

/// Takes what a [`crate::StreamFilter`] lets go. Bytes and findings arrive in stream order.
pub trait Sink {
    /// Bytes that may pass, unchanged or spliced. Called with non-empty slices.
    fn release(&mut self, bytes: &[u8]);
    /// A finding, as soon as no continuation of the input can change it.
    fn finding(&mut self, finding: &Finding);
    /// The same with the bytes of its span, for a sink that makes a keyed fingerprint of them, and must keep nothing else.
    /// `None` where they are gone by then: always for regions, and for spans that were not held. The default forgets them.
    fn finding_of(&mut self, finding: &Finding, value: Option<&[u8]>) {
        let _ = value;
        self.finding(finding);
    }
}

/// A sink that keeps everything; for tests, tools and small inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Released bytes.
    pub bytes: Vec<u8>,
    /// Findings, in order.
    pub findings: Vec<Finding>,
}

impl Sink for Collected {
    fn release(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn finding(&mut self, finding: &Finding) {
        self.findings.push(finding.clone());
    }
}
