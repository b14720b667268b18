//! One line against what was found in it. The rules of scoring, and nothing else: no counting, no printing.

use forebay_scan::{Family, Finding, Report, RuleSet};

use super::line::{Expect, Line, Scope, Span};
use super::names::{LineNames, RuleNames};
use super::spots::Spots;

/// Words in the name of a rule that is about the end of the text, not about a mark in it.
const ABOUT_THE_END: [&str; 7] = ["open", "unterminated", "unclosed", "incomplete", "cut", "structure", "eof"];

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Something was to be found.
    Hit {
        /// A finding of the family overlaps every span.
        found: bool,
        /// Findings of the family have every byte of every span: what a redactor must reach.
        covered: bool,
        /// Findings that name the kind or vendor overlap every span.
        labelled: bool,
        /// Spans in the line.
        spans: u64,
        /// Spans that were found.
        spans_found: u64,
    },
    /// Nothing was to be found.
    Clean {
        /// A finding that the line's scope forbids.
        false_positive: bool,
        /// A finding of the family.
        any: bool,
        /// A finding of any family.
        any_family: bool,
    },
}

/// Knows the rules, and judges.
pub(crate) struct Judge<'a> {
    rules: &'a RuleSet,
    names: RuleNames,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(rules: &'a RuleSet) -> Self {
        Judge { rules, names: RuleNames::of(rules) }
    }

    /// Judges the findings and the report of one line.
    pub(crate) fn judge(&self, line: &Line, findings: &[Finding], report: &Report) -> Judged {
        let about_the_end = line.is_cut() || line.is_whole();
        let length = line.text.len() as u64;
        let own: Vec<&Finding> = findings
            .iter()
            .filter(|f| self.family(f) == Some(line.family))
            // Most texts are pieces of something: that one ends early is its label only where the kind says so.
            .filter(|f| about_the_end || !self.is_about_the_end(f, length))
            .collect();
        let mut names = LineNames::of(line, &self.names);
        match &line.expect {
            Expect::Hit(_) if line.is_cut() => {
                let told = !report.complete;
                Judged::Hit { found: told, covered: told, labelled: told, spans: 1, spans_found: told.into() }
            }
            Expect::Hit(None) => {
                let any = !own.is_empty();
                let labelled = own.iter().any(|f| names.names(f.rule));
                Judged::Hit { found: any, covered: any, labelled, spans: 1, spans_found: any.into() }
            }
            Expect::Hit(Some(spans)) => {
                let all = Spots::of(own.iter().map(|f| f.span.clone()));
                let named = Spots::of(own.iter().filter(|f| names.names(f.rule)).map(|f| f.span.clone()));
                let found = |s: &&Span| all.overlap(s);
                let count = spans.iter().filter(found).count();
                Judged::Hit {
                    found: count == spans.len(),
                    covered: spans.iter().all(|s| all.cover(s)),
                    labelled: spans.iter().all(|s| named.overlap(s)),
                    spans: spans.len() as u64,
                    spans_found: count as u64,
                }
            }
            Expect::Clean(scope) => {
                let any = !own.is_empty() || line.is_whole() && !report.complete;
                Judged::Clean {
                    false_positive: match scope {
                        Scope::All => any,
                        Scope::Kind => own.iter().any(|f| names.names(f.rule)),
                    },
                    any,
                    any_family: any || findings.iter().any(|f| self.family(f) != Some(line.family)),
                }
            }
        }
    }

    pub(crate) fn family(&self, f: &Finding) -> Option<Family> {
        self.rules.rule(f.rule).map(|r| r.family)
    }

    /// A finding that says of a text of `length` bytes that it ends early.
    pub(crate) fn is_about_the_end(&self, f: &Finding, length: u64) -> bool {
        let Some(rule) = self.rules.rule(f.rule).filter(|r| r.family == Family::Truncation) else { return false };
        let about_it = || rule.name.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| ABOUT_THE_END.contains(&w));
        f.span.end >= length && (f.span.is_empty() || about_it())
    }
}
