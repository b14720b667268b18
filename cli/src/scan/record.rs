//! Findings as they are printed: by name and place, never with the text.

use forebay_scan::{Action, Family, Finding, RuleSet, Severity};
use serde::Serialize;

/// One finding as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct FindingLine<'a> {
    pub(crate) rule: &'a str,
    pub(crate) family: Family,
    /// First byte of the span, counted from the start of the input.
    pub(crate) start: u64,
    /// Behind the last byte of the span.
    pub(crate) end: u64,
    pub(crate) severity: Severity,
    pub(crate) action: Action,
}

impl<'a> FindingLine<'a> {
    /// `None` if the finding is of another rule set, which would be a bug of the caller.
    pub(crate) fn of(finding: &Finding, rules: &'a RuleSet) -> Option<Self> {
        let rule = rules.rule(finding.rule);
        debug_assert!(rule.is_some(), "a finding of another rule set");
        let rule = rule?;
        Some(FindingLine {
            rule: &rule.name,
            family: rule.family,
            start: finding.span.start,
            end: finding.span.end,
            severity: rule.severity,
            action: finding.action,
        })
    }
}

