//! S7: `finish` says whether the content was whole, and why not.

use forebay_scan::{Collected, Profile, Report, Scratch, StreamFilter, TokenKey};
use forebay_tests::builtin::{profile, texts};
use forebay_tests::cuts::run;

fn report(text: &str) -> Report {
    let set = profile("tool-output");
    run(&set, text.as_bytes(), &[]).report
}

#[test]
fn what_is_whole_is_said_to_be_whole() {
    for text in [
        "",
        "hello\n",
        "{\"a\": [1, 2, \"x\"]}\n",
        "fn main() {\n    run();\n}\n",
        "# A\n\n```\nx\n```\n",
        "你好，世界。\n",
    ] {
        assert_eq!(report(text), Report { complete: true, ..Report::default() }, "{text:?}");
    }
}

#[test]
fn what_is_cut_off_is_said_to_be_cut_off() {
    for text in [
        "{\"a\": [1, 2, {\"b\": \"some text that sto",
        "{\"rows\": [{\"id\": 1}, {\"id\": 2}, ",
        "# Title\n\n```rust\nfn main() {\n    let a = 1;\n",
    ] {
        let r = report(text);
        assert!(!r.complete && !r.reasons.is_empty(), "{text:?}: {r:?}");
    }
    let set = profile("tool-output");
    let r = run(&set, b"text \xe6\x97", &[]).report;
    assert!(!r.complete, "half a character: {r:?}");
}

#[test]
fn marks_and_elisions_are_reasons() {
    for (text, family) in [
        ("fn a() {\n    // ... rest of the code unchanged ...\n}\n", "elision."),
        ("line\n... [output truncated - 12KB removed]\nline\n", "truncation."),
    ] {
        let r = report(text);
        assert!(!r.complete && r.reasons.iter().any(|x| x.code.starts_with(family)), "{text:?}: {r:?}");
    }
}

#[test]
fn a_region_without_an_end_is_a_reason() {
    let r = report(&format!("x\n{}{}{}\n{}\n", "-----BEGIN ", "RSA PRIVATE", " KEY-----", "MIIEabcd".repeat(8)));
    assert!(!r.complete && r.reasons.iter().any(|x| x.code.starts_with("unended-")), "{r:?}");
}

/// However many marks come, the report stays small, and counts the rest.
#[test]
fn the_report_is_bounded() {
    let r = report(&"[... 481 lines truncated ...]\n".repeat(500));
    assert!(r.reasons.len() <= Report::MAX_REASONS && r.more > 0, "{} and {}", r.reasons.len(), r.more);
    for name in Profile::BUILTIN {
        let set = profile(name);
        texts().iter().for_each(|t| assert!(run(&set, &t.bytes, &[]).report.reasons.len() <= Report::MAX_REASONS));
    }
}

/// What is open at the end has no bytes of its own: a profile that blocks on it ends the stream with a verdict.
#[test]
fn a_block_on_what_is_open_is_a_verdict_at_the_end() {
    let mut filter =
        StreamFilter::new(forebay_tests::builtin::all(forebay_scan::Action::Block), TokenKey::new([1; 32]));
    let (mut scratch, mut out) = (Scratch::default(), Collected::default());
    let text = b"{\"a\": [1, \"b";
    let _ = filter.push(text, &mut scratch, &mut out);
    let report = filter.finish(&mut scratch, &mut out);
    assert_eq!(out.bytes, text);
    assert_eq!((report.complete, report.blocked_at), (false, Some(text.len() as u64)));
}
