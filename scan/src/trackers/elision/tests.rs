//! Tests of the whole tracker on the built-in vocabulary.

use std::sync::Arc;

use super::CommentElision;
use crate::finding::Report;
use crate::pack::{Pack, What};
use crate::trackers::{Mark, TrackerSpec};

fn spec() -> (Arc<dyn TrackerSpec>, Vec<String>) {
    let pack = Pack::builtin("elision").expect("built in").expect("parses");
    let (mut names, mut options) = (Vec::new(), Vec::new());
    for r in &pack.rules {
        if let What::Tracker { options: o, .. } = &r.what {
            names.push(r.name.clone());
            options.push(o.clone());
        }
    }
    (CommentElision::build(&options.iter().collect::<Vec<_>>()).expect("builds"), names)
}

/// Marks of a text fed in the given pieces.
fn marks(spec: &Arc<dyn TrackerSpec>, pieces: &[&[u8]]) -> Vec<Mark> {
    let (mut t, mut out, mut at) = (Arc::clone(spec).start(), Vec::new(), 0);
    for p in pieces {
        t.feed(at, p, &mut out);
        at += u64::try_from(p.len()).expect("short");
    }
    t.finish(at, &mut out, &mut Report::default());
    out
}

fn found(text: &str) -> Vec<String> {
    let (spec, names) = spec();
    marks(&spec, &[text.as_bytes()])
        .into_iter()
        .map(|m| {
            let span = usize::try_from(m.span.start).expect("small")..usize::try_from(m.span.end).expect("small");
            format!("{} {}", names[m.rule], &text[span])
        })
        .collect()
}

fn is_elision(text: &str) -> bool {
    !found(text).is_empty()
}

#[test]
fn comment_syntaxes() {
    for text in [
        "// ... remaining handlers unchanged ...",
        "# remaining handlers unchanged",
        "-- remaining columns unchanged",
        "; remaining sections unchanged",
        "% remaining sections unchanged",
        "/* remaining styles unchanged */",
        "<!-- remaining markup unchanged -->",
        "  {/* remaining markup unchanged */}",
        "(* remaining functions unchanged *)",
        "[Remainder of the file unchanged]",
        "/*\n * The remaining functions\n * are unchanged.\n */",
        "fn f() { /* ... existing code ... */ }",
        "<main><!-- remaining markup unchanged --></main>",
        "+    // ... remaining handlers unchanged ...",
    ] {
        assert!(is_elision(text), "{text}");
    }
}

#[test]
fn the_span_is_the_whole_comment() {
    assert_eq!(
        found("a\n  {/* the rest of the markup is unchanged */}\nb\n"),
        ["elision.elision-en {/* the rest of the markup is unchanged */}"]
    );
}

#[test]
fn prose_is_not_an_elision() {
    for text in [
        "// ...and then the remaining handlers run",
        "// remaining handlers run in order",
        "// the existing code path handles this",
        "let s = \"// the rest of the code is unchanged\";",
        "x = 1  # the rest of the code is unchanged",
        "The rest of the code is unchanged.",
        "# Existing code: see below",
        "// is the rest unchanged?",
        "(existing, other)",
        "[...rest]",
        "...others,",
    ] {
        assert!(!is_elision(text), "{text}");
    }
}

#[test]
fn what_follows_decides_about_labels() {
    assert!(is_elision("f(\n  a,\n  // other arguments\n);\n"));
    assert!(is_elision("-- 其他列"));
    assert!(is_elision("  -- 其他列\n\n  PRIMARY KEY (a)\n"));
    assert!(!is_elision("  -- 其他列\n  b INT,\n"));
    assert!(!is_elision("  // other arguments\n  b: u8,\n"));
}

#[test]
fn a_line_of_a_paragraph_is_not_an_elision() {
    assert!(!is_elision("// If the user is known we keep\n// the rest of the code\n// as it was written.\n"));
    assert!(is_elision("// The handler is set up above.\n// the rest of the code\n"));
}

#[test]
fn rules_against_elisions_are_not_elisions() {
    assert!(!is_elision("Never write placeholders such as:\n// ... rest of the code ...\n"));
    assert!(!is_elision("禁止这样写：\n// 其余代码省略\n"));
    assert!(!is_elision("def f():\n    \"\"\"Example:\n\n    # ... existing code ...\n    \"\"\"\n"));
}

#[test]
fn a_long_comment_or_line_is_never_one() {
    let long = format!("/* remaining {} code unchanged */", " ".repeat(400));
    assert!(!is_elision(&long));
    assert!(!is_elision(&format!("{}// rest of the code unchanged", " ".repeat(5000))));
}

const SAMPLES: [&str; 7] = [
    "fn a() {\n    // ... остальной код без изменений ...\n}\n\n# rest of the file\n\n[Rest of file omitted]",
    "CREATE TABLE t (\n  a INT,\n  -- 其余字段省略\n);\n-- 其他字段\n)",
    "/*\n * 残りのメソッドは変更なし\n */\nx { /* existing styles */ }\n",
    "\"\"\"doc\n# rest of the code unchanged\n\"\"\"\n# rest of the code unchanged\r\n",
    "<!-- reste du code inchangé -->\n{/* ... */}\n... existing code ...\n",
    "// other fields\n\n   \n}\n; 나머지 코드는 동일\n% como antes",
    "// \u{fffd}\u{1f600} ...\n// …… 原有代码 ……\n.\n..\n...\n(\n[\n",
];

#[test]
fn every_cut_gives_the_same_marks() {
    let (spec, _) = spec();
    for text in SAMPLES {
        let bytes = text.as_bytes();
        let whole = marks(&spec, &[bytes]);
        for i in 0..=bytes.len() {
            assert_eq!(marks(&spec, &[&bytes[..i], &bytes[i..]]), whole, "cut at {i} of {text:?}");
        }
        for n in 1..8 {
            assert_eq!(marks(&spec, &bytes.chunks(n).collect::<Vec<_>>()), whole, "pieces of {n} of {text:?}");
        }
    }
}

#[test]
fn what_may_become_a_finding_is_live() {
    let (spec, _) = spec();
    for text in SAMPLES {
        let bytes = text.as_bytes();
        for m in marks(&spec, &[bytes]) {
            let (mut t, mut out) = (Arc::clone(&spec).start(), Vec::new());
            for (i, b) in bytes.iter().enumerate() {
                let at = u64::try_from(i).expect("small");
                t.feed(at, std::slice::from_ref(b), &mut out);
                if at >= m.span.start && at + 1 < m.decided {
                    let live = t.live_from();
                    assert!(live.is_some_and(|l| l <= m.span.start), "{m:?} at {i} of {text:?}: {live:?}");
                }
            }
        }
    }
}

#[test]
fn memory_is_bounded() {
    let (spec, _) = spec();
    let mut t = spec.start();
    let mut out = Vec::new();
    for i in 0..2000u64 {
        t.feed(i * 1000, &[b'/'; 1000], &mut out);
    }
    assert!(t.memory() < 4096, "{}", t.memory());
}

#[test]
fn random_bytes_do_no_harm() {
    let (spec, _) = spec();
    let alphabet: Vec<&[u8]> = vec![
        b"//",
        b"/*",
        b"*/",
        b"<!--",
        b"-->",
        b"\n",
        b" ",
        b"...",
        "…".as_bytes(),
        b"rest",
        b"of",
        b"code",
        b"(",
        b")",
        b"[",
        b"]",
        "其余".as_bytes(),
        "省略".as_bytes(),
        &[0xe5],
        &[0xff],
        b"\"\"\"",
        b"{",
        b"}",
        b"#",
        b"\r",
        b"'",
    ];
    let mut state = 7u64;
    for _ in 0..3000 {
        let mut text = Vec::new();
        for _ in 0..24 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.extend_from_slice(alphabet[usize::try_from(state >> 33).expect("small") % alphabet.len()]);
        }
        let whole = marks(&spec, &[&text]);
        assert_eq!(marks(&spec, &text.chunks(1).collect::<Vec<_>>()), whole, "{:?}", String::from_utf8_lossy(&text));
    }
}
