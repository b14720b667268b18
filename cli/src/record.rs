//! Findings as they are printed: by name and place, never with the text.

use forebay_scan::{Finding, RuleSet};
use serde::Serialize;

/// One finding as JSON. Made here or in the daemon, it looks the same.
#[derive(Debug, Serialize)]
pub(crate) struct FindingLine<'a> {
    pub(crate) rule: &'a str,
    pub(crate) family: &'static str,
    /// First byte of the span, counted from the start of the input.
    pub(crate) start: u64,
    /// Behind the last byte of the span.
    pub(crate) end: u64,
    pub(crate) severity: &'static str,
    pub(crate) action: &'static str,
}

impl<'a> FindingLine<'a> {
    /// `None` if the finding is of another rule set, which would be a bug of the caller.
    pub(crate) fn of(finding: &Finding, rules: &'a RuleSet) -> Option<Self> {
        let rule = rules.rule(finding.rule);
        debug_assert!(rule.is_some(), "a finding of another rule set");
        let rule = rule?;
        Some(FindingLine {
            rule: &rule.name,
            family: rule.family.as_str(),
            start: finding.span.start,
            end: finding.span.end,
            severity: rule.severity.as_str(),
            action: finding.action.as_str(),
        })
    }

    /// As the daemon sent it.
    pub(crate) fn remote(finding: &'a forebay_client::Finding) -> Self {
        FindingLine {
            rule: &finding.rule,
            family: finding.family.as_str(),
            start: finding.start,
            end: finding.end,
            severity: finding.severity.as_str(),
            action: finding.action.as_str(),
        }
    }
}
