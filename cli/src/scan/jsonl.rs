//! `--jsonl`: `{"id","text"}` lines in, one line of findings for each out, in order.
//!
//! Each text is a stream of its own. Offsets are bytes of the decoded text in UTF-8. A line that is not understood is
//! answered too, by `{"id","error"}` in its place: a caller that pairs lines gets none shifted, and one bad line in a
//! million does not cost the rest. The run then ends with exit code 2.

use std::io::{self, BufWriter, Read, Write};
use std::sync::Arc;

use anyhow::{Context, bail};
use forebay_scan::{Report, RuleSet, Scratch};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::exit::{self, Outcome};
use crate::json_lines::{Lines, Next, Text, object};
use crate::once;
use crate::record::FindingLine;

/// Longest line accepted, in bytes. A line is kept whole in memory; a producer that never sends a line end must not
/// fill it. 256 MiB is far above what any agent passes in one message.
const MAX_LINE: usize = 256 << 20;
/// Most bad lines that standard error names; a file of another format has nothing but bad lines.
const MOST_NAMED: u64 = 10;
/// What a line must be.
const SHAPE: &str = r#"{"id": …, "text": "…"}"#;

/// Reads standard input to its end.
pub(crate) fn run(rules: &Arc<RuleSet>) -> anyhow::Result<Outcome> {
    let output = BufWriter::with_capacity(256 << 10, io::stdout().lock());
    convert(rules, io::stdin().lock(), output, |bad| exit::say(format_args!("forebay: {bad}")))
}

fn convert(
    rules: &Arc<RuleSet>,
    input: impl Read,
    mut output: impl Write,
    mut complain: impl FnMut(&str),
) -> anyhow::Result<Outcome> {
    let mut lines = Lines::new(input, MAX_LINE);
    let mut scratch = Scratch::default();
    let mut bad = 0;
    loop {
        if lines.must_wait() {
            output.flush().context("cannot write standard output")?;
        }
        let error = match lines.next().context("cannot read standard input")? {
            Next::End => break,
            Next::TooLong(number) => Refused {
                id: None,
                error: format!(
                    "line {number}: longer than {MAX_LINE} bytes; scan such content with `forebay filter --findings json`"
                ),
            },
            Next::Line(number, line) => match object::<Row<'_>>(line, SHAPE) {
                Ok(row) => {
                    let (findings, report) = once::look(rules, &mut scratch, &row.text.0);
                    let findings = findings.iter().filter_map(|f| FindingLine::of(f, rules)).collect();
                    write(&mut output, &Answer { id: row.id, findings, report })?;
                    continue;
                }
                Err(e) => Refused {
                    id: object::<Named<'_>>(line, SHAPE).ok().and_then(|named| named.id),
                    error: format!("line {number}, {e}"),
                },
            },
        };
        write(&mut output, &error)?;
        bad += 1;
        if bad <= MOST_NAMED {
            complain(&error.error);
        }
    }
    output.flush().context("cannot write standard output")?;
    if bad > 0 {
        bail!(
            "{} could not be read and {} answered by an `error` instead; every other line was scanned",
            exit::count(bad, "line"),
            if bad == 1 { "was" } else { "were" }
        );
    }
    // Lines are data, not a gate: the exit code says only whether all were read.
    Ok(Outcome::Clean)
}

fn write(output: &mut impl Write, answer: &impl Serialize) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *output, answer)
        .map_err(io::Error::from)
        .and_then(|()| output.write_all(b"\n"))
        .context("cannot write standard output")
}

#[derive(Deserialize)]
struct Row<'a> {
    /// Any JSON value; goes back as it came.
    #[serde(borrow)]
    id: &'a RawValue,
    text: Text,
}

/// What can be known of a line that is no [`Row`].
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a RawValue,
    findings: Vec<FindingLine<'a>>,
    report: Report,
}

#[derive(Serialize)]
struct Refused<'a> {
    id: Option<&'a RawValue>,
    error: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    /// The answers, and the complaints.
    fn out(input: &str) -> (Vec<String>, Vec<String>) {
        static RULES: LazyLock<Arc<RuleSet>> =
            LazyLock::new(|| RuleSet::builtin("prompt").expect("there").expect("compiles"));
        let (mut bytes, mut complaints) = (Vec::new(), Vec::new());
        let done = convert(&RULES, input.as_bytes(), &mut bytes, |c| complaints.push(c.to_owned()));
        assert_eq!(done.is_err(), !complaints.is_empty());
        (String::from_utf8(bytes).expect("JSON is UTF-8").lines().map(str::to_owned).collect(), complaints)
    }

    #[test]
    fn ids_come_back_as_they_came() {
        let (answers, _) = out("{\"id\":{\"a\":[1.50,null]},\"text\":\"plain words\"}\n");
        assert!(answers[0].starts_with("{\"id\":{\"a\":[1.50,null]},\"findings\":["), "{answers:?}");
        assert_eq!(answers.len(), 1);
    }

    #[test]
    fn any_json_string_is_taken() {
        for text in [r"\ud83d", r"\udc00\ud800 x", r"\u0000\n\t", "", r"\ud83d\ude00", "多"] {
            let (_, complaints) = out(&format!("{{\"text\":\"{text}\",\"id\":1,\"more\":[]}}"));
            assert!(complaints.is_empty(), "{text}: {complaints:?}");
        }
    }

    #[test]
    fn bad_lines_are_named_and_answered() {
        let good = "{\"id\":1,\"text\":\"\"}\n";
        for (bad, id, mend) in [
            ("{", "null", "jq -c ."),
            ("[1, \"a\"]", "null", "jq -c '.[]'"),
            ("\u{feff}\u{feff}", "null", "no JSON object begins here"),
            ("{\"id\":7}", "7", "missing field `text`"),
            ("{\"id\":1,\"text\":5}", "1", "expected a string"),
            ("{\"text\":\"\"}", "null", "missing field `id`"),
            ("\u{1}", "null", "a line must be {\"id\""),
            ("{\"id\":1,\"text\":\"\"} x", "null", "nothing behind it"),
        ] {
            let (answers, complaints) = out(&format!("{good}\n{bad}\n{good}"));
            assert_eq!((answers.len(), complaints.len()), (3, 1), "{bad}");
            assert!(answers[1].starts_with(&format!("{{\"id\":{id},\"error\":\"line 3, column ")), "{answers:?}");
            assert!(complaints[0].contains(mend) && !complaints[0].contains("at line"), "{bad}: {complaints:?}");
        }
    }
}
