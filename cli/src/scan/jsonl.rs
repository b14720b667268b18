//! `--jsonl`: `{"id","text"}` lines in, one line of findings for each out, in order.
//!
//! Each text is a stream of its own. Offsets are bytes of the decoded text in UTF-8; a lone surrogate (`"\ud83d"`), which
//! JSON allows and UTF-8 does not, counts as the three bytes of its generalised UTF-8 form. A line that is not understood
//! ends the run with its number: a caller that pairs lines must not get them shifted.

use std::fmt;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use forebay_scan::{Finding, Report, RuleSet, Scratch, Sink, StreamFilter, TokenKey};
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::exit::Outcome;
use crate::record::FindingLine;

/// Longest line accepted, in bytes. A line is kept whole in memory; a producer that never sends a line end must not
/// fill it. 256 MiB is far above what any agent passes in one message.
const MAX_LINE: u64 = 256 << 20;

/// Reads standard input to its end.
pub(crate) fn run(rules: &Arc<RuleSet>) -> anyhow::Result<Outcome> {
    let input = BufReader::with_capacity(256 << 10, io::stdin().lock());
    let output = BufWriter::with_capacity(256 << 10, io::stdout().lock());
    convert(rules, input, output)
}

fn convert(rules: &Arc<RuleSet>, mut input: BufReader<impl Read>, mut output: impl Write) -> anyhow::Result<Outcome> {
    let mut scratch = Scratch::default();
    let mut line = Vec::new();
    for number in 1_u64.. {
        // About to wait for input: whoever sends one line and waits for its answer gets it.
        if memchr::memchr(b'\n', input.buffer()).is_none() {
            output.flush().context("cannot write standard output")?;
        }
        line.clear();
        let n = (&mut input).take(MAX_LINE + 1).read_until(b'\n', &mut line).context("cannot read standard input")?;
        if n == 0 {
            break;
        }
        if n as u64 > MAX_LINE {
            output.flush().context("cannot write standard output")?;
            bail!(
                "line {number}: longer than {MAX_LINE} bytes; scan such content with `forebay filter --findings json`"
            );
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let row: Row<'_> = match serde_json::from_slice(&line) {
            Ok(row) => row,
            Err(e) => {
                output.flush().context("cannot write standard output")?;
                return Err(bad_line(number, &e));
            }
        };
        let (findings, report) = scan(rules, &mut scratch, &row.text.0);
        let findings = findings.iter().filter_map(|f| FindingLine::of(f, rules)).collect();
        serde_json::to_writer(&mut output, &Answer { id: row.id, findings, report })
            .map_err(io::Error::from)
            .and_then(|()| output.write_all(b"\n"))
            .context("cannot write standard output")?;
    }
    output.flush().context("cannot write standard output")?;
    // Lines are data, not a gate: the exit code says only whether all were read.
    Ok(Outcome::Clean)
}

fn bad_line(number: u64, e: &serde_json::Error) -> anyhow::Error {
    // serde_json counts lines within the slice; only the column means something here.
    let text = e.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    anyhow!("line {number}, column {}: {what}; each line must be {{\"id\": …, \"text\": \"…\"}}", e.column())
}

/// Takes findings only: what would be released is of no interest here.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Sink for Findings {
    fn release(&mut self, _: &[u8]) {}

    fn finding(&mut self, finding: &Finding) {
        self.0.push(finding.clone());
    }
}

fn scan(rules: &Arc<RuleSet>, scratch: &mut Scratch, text: &[u8]) -> (Vec<Finding>, Report) {
    let mut sink = Findings::default();
    // Tokens are not printed, so any key will do.
    let mut filter = StreamFilter::new(rules.clone(), TokenKey::new([0; 32]));
    let _ = filter.push(text, scratch, &mut sink); // A blocked stream says so in its report.
    let report = filter.finish(scratch, &mut sink);
    (sink.0, report)
}

#[derive(Deserialize)]
struct Row<'a> {
    /// Any JSON value; goes back as it came.
    #[serde(borrow)]
    id: &'a RawValue,
    text: Text,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a RawValue,
    findings: Vec<FindingLine<'a>>,
    report: Report,
}

/// A JSON string as bytes, lone surrogates included.
struct Text(Vec<u8>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(bytes.to_vec()))
            }

            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Text, E> {
                Ok(Text(bytes))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.as_bytes().to_vec()))
            }
        }
        d.deserialize_byte_buf(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(input: &str) -> Result<String, String> {
        let rules = RuleSet::builtin("tool-output").expect("there").expect("compiles");
        let mut bytes = Vec::new();
        convert(&rules, BufReader::new(input.as_bytes()), &mut bytes).map_err(|e| format!("{e:#}"))?;
        Ok(String::from_utf8(bytes).expect("JSON is UTF-8"))
    }

    #[test]
    fn ids_come_back_as_they_came() {
        let answer = out("{\"id\":{\"a\":[1.50,null]},\"text\":\"plain words\"}\n").expect("good line");
        assert!(answer.starts_with("{\"id\":{\"a\":[1.50,null]},\"findings\":["), "{answer}");
        assert_eq!(answer.lines().count(), 1);
    }

    #[test]
    fn any_json_string_is_taken() {
        for text in [r"\ud83d", r"\udc00\ud800 x", r"\u0000\n\t", "", r"\ud83d\ude00", "多"] {
            out(&format!("{{\"text\":\"{text}\",\"id\":1,\"more\":[]}}")).expect(text);
        }
    }

    #[test]
    fn bad_lines_are_named() {
        let good = "{\"id\":1,\"text\":\"\"}\n";
        for bad in ["{", "[]", "{\"id\":1}", "{\"id\":1,\"text\":5}", "\u{1}", "{\"id\":1,\"text\":\"\"} x"] {
            let e = out(&format!("{good}\n{bad}\n")).expect_err(bad);
            assert!(e.starts_with("line 3, column "), "{e}");
            assert!(!e.contains("at line"), "{e}");
        }
    }
}
