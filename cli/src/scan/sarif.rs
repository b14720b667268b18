//! SARIF 2.1.0 (OASIS, 2020), the format that code hosts show beside the code.
//!
//! Written as it goes, one result at a time, so that a million findings need no memory. Results have places and the
//! rule's title; there is no snippet and nothing else of the text.

use std::io::{BufWriter, Stdout, Write};
use std::path::{Component, Path};

use anyhow::Context;
use forebay_scan::Severity;
use serde_json::{Value, json};

use super::inspect::{Found, Inspector, Scanned};
use super::output::Printer;

pub(crate) struct Sarif {
    out: BufWriter<Stdout>,
    head: Option<Value>,
    any: bool,
}

impl Sarif {
    pub(crate) fn new(inspector: &Inspector) -> Self {
        let rules: Vec<Value> = inspector
            .rules()
            .rules()
            .map(|(_, r)| {
                json!({
                    "id": r.name,
                    "shortDescription": { "text": r.title },
                    "defaultConfiguration": { "level": level(r.severity) },
                    "properties": { "family": r.family.as_str(), "severity": r.severity.as_str() },
                })
            })
            .collect();
        let driver = json!({
            "name": "forebay",
            "version": env!("CARGO_PKG_VERSION"),
            "informationUri": env!("CARGO_PKG_REPOSITORY"),
            "rules": rules,
        });
        Sarif { out: BufWriter::new(std::io::stdout()), head: Some(driver), any: false }
    }

    /// Everything up to the list of results, once.
    fn begin(&mut self) -> std::io::Result<()> {
        let Some(driver) = self.head.take() else { return Ok(()) };
        write!(
            self.out,
            "{{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[\
             {{\"tool\":{{\"driver\":{driver}}},\"columnKind\":\"unicodeCodePoints\",\"results\":["
        )
    }

    fn result(&mut self, result: &Value) -> std::io::Result<()> {
        self.begin()?;
        let comma = if std::mem::replace(&mut self.any, true) { "," } else { "" };
        write!(self.out, "{comma}\n{result}")
    }
}

impl Printer for Sarif {
    fn file(&mut self, path: &Path, scanned: &Scanned, whole: bool) -> anyhow::Result<()> {
        let uri = uri(path);
        for f in &scanned.found {
            self.result(&finding(&uri, f)).context("cannot write standard output")?;
        }
        if whole {
            for r in &scanned.report.reasons {
                let text = format!("The content is not whole: {}", r.code);
                let at =
                    json!({ "artifactLocation": { "uri": uri }, "region": { "byteOffset": r.at, "byteLength": 0 } });
                let result = json!({
                    "ruleId": format!("not-whole/{}", r.code),
                    "level": "warning",
                    "message": { "text": text },
                    "locations": [{ "physicalLocation": at }],
                });
                self.result(&result).context("cannot write standard output")?;
            }
        }
        Ok(())
    }

    fn end(&mut self) -> anyhow::Result<()> {
        self.begin()
            .and_then(|()| self.out.write_all(b"]}]}\n"))
            .and_then(|()| self.out.flush())
            .context("cannot write standard output")
    }
}

fn finding(uri: &str, f: &Found) -> Value {
    let mut region = json!({ "byteOffset": f.start, "byteLength": f.end - f.start });
    if let Some((start, end)) = &f.places {
        region["startLine"] = start.line.into();
        region["startColumn"] = start.column.into();
        region["endLine"] = end.line.into();
        region["endColumn"] = end.column.into();
    }
    json!({
        "ruleId": f.name,
        "ruleIndex": f.rule,
        "level": level(f.severity),
        "message": { "text": f.title },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri }, "region": region } }],
    })
}

fn level(s: Severity) -> &'static str {
    match s {
        Severity::Info | Severity::Low => "note",
        Severity::Medium => "warning",
        Severity::High | Severity::Critical => "error",
    }
}

/// A path as a URI reference (RFC 3986): relative as given, absolute as `file:///…`.
fn uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut out = if path.is_absolute() { "file://".to_owned() } else { String::new() };
    for part in path.components() {
        let name = match part {
            Component::RootDir | Component::CurDir | Component::Prefix(_) => continue,
            Component::ParentDir => b"..".as_slice(),
            Component::Normal(n) => n.as_bytes(),
        };
        if !out.is_empty() {
            out.push('/');
        }
        for &b in name {
            if b.is_ascii_alphanumeric() || b"-._~".contains(&b) {
                out.push(char::from(b));
            } else {
                out.push_str(&format!("%{b:02X}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris() {
        assert_eq!(uri(Path::new("./a b/ü.txt")), "a%20b/%C3%BC.txt");
        assert_eq!(uri(Path::new("/etc/x:y")), "file:///etc/x%3Ay");
        assert_eq!(uri(Path::new("../x")), "../x");
    }
}
