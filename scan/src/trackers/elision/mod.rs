//! `comment-elision`: comments that stand for content somebody left out.
//!
//! `// ... rest of the code unchanged`, `-- 此处省略其他字段`, `{/* code existant ici */}`, `[Rest of the file …]`. A model
//! that writes such a line into a file deletes what the line stands for.
//!
//! What this is: a line reader that hands whole comments, and nothing but whole comments, to a grammar. What it is
//! not: a parser of any programming language. It never looks at the code around a comment but for three questions:
//! is it the continuation of a paragraph, does the block close behind it, and does the line above forbid elisions.
//!
//! Invariants: the findings depend on the bytes only, never on how they are cut, since every decision is taken on
//! complete lines. Memory is one line prefix of [`recent::MAX_LINE`] bytes, one comment body and what stands above the line,
//! see [`recent`]. Time is linear: each line is looked at once, and bodies over 256 bytes are never looked at.
//!
//! Most lines are passed unread: one that begins with no byte a comment can begin with, holds no mark of a block
//! comment or a long string and no two dots in a row, while nothing waits for its next line.
//!
//! The attacker is a model that elides, not one that hides: an elision written so that no reader would take it for
//! one is out of scope.

mod comment;
mod frame;
mod grammar;
mod recent;
#[cfg(test)]
mod tests;
mod words;

use std::ops::Range;
use std::sync::Arc;

use super::block::{
    BLOCK, Block, Lanes, at_least, behind_last, behind_runs, below, between, is, places, white, within,
};
use super::{Mark, Tracker, TrackerSpec};
use crate::finding::Report;
use comment::{BLOCKS, Opener, Shape};
use frame::MAX_BODY;
use grammar::Verdict;
use recent::Recent;
use words::Vocabulary;

/// Lines after which an unclosed triple quote is taken for a mistake of this reader, so that one stray quote cannot
/// switch it off for the rest of a stream. Docstrings are shorter.
const MAX_TRIPLE_LINES: u32 = 400;

/// The shared part: the vocabulary of all languages.
#[derive(Debug)]
pub(crate) struct CommentElision {
    vocabulary: Vocabulary,
}

impl CommentElision {
    /// Builds the tracker from the options of its rules, one language each.
    pub(crate) fn build(rules: &[&toml::Table]) -> Result<Arc<dyn TrackerSpec>, String> {
        Ok(Arc::new(CommentElision { vocabulary: Vocabulary::build(rules)? }))
    }
}

impl TrackerSpec for CommentElision {
    fn start(self: Arc<Self>) -> Box<dyn Tracker> {
        Box::new(State {
            spec: self,
            recent: Recent::default(),
            line_at: 0,
            line: Seen { begins: true, ..Seen::default() },
            prev: b'\n',
            triple: None,
            block: None,
            pending: None,
        })
    }
}

/// One stream.
struct State {
    spec: Arc<CommentElision>,
    /// The line that is not complete, and what stands above it.
    recent: Recent,
    /// Where that line starts.
    line_at: u64,
    line: Seen,
    /// The last byte that was looked at.
    prev: u8,
    /// Inside a triple-quoted string: the quote, and for how many lines.
    triple: Option<(u8, u32)>,
    block: Option<Commented>,
    pending: Option<Pending>,
}

/// What is known of a line from the part of it that was looked at.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Blanks, if anything.
    begins: bool,
    /// It begins with a byte that a comment can begin with, or has two dots in a row.
    comment: bool,
    /// It, or a block that it stands in, has a mark that [`State::look_along`] looks for.
    marked: bool,
}

/// A complete line.
struct Line<'a> {
    /// Its head, of at most [`recent::MAX_LINE`] bytes.
    text: &'a [u8],
    at: u64,
    /// It is longer than its head.
    long: bool,
    /// The offset behind its line feed.
    next: u64,
    marked: bool,
    /// What stands above it.
    before: &'a [u8],
}

/// A block comment over several lines.
struct Commented {
    at: u64,
    pair: usize,
    /// Its text so far; `None` once it is too long to be an elision.
    body: Option<Vec<u8>>,
    indent: usize,
}

/// A comment that waits for the next line that is not blank.
struct Pending {
    mark: Mark,
    indent: usize,
    opener: Opener,
    verdict: Verdict,
    /// A blank line came between.
    blank: bool,
}

impl Tracker for State {
    #[inline]
    fn feed(&mut self, at: u64, mut bytes: &[u8], out: &mut Vec<Mark>) {
        let end = at + offset(bytes.len());
        while !bytes.is_empty() {
            if self.recent.full {
                // Nothing in the line matters any more but its end.
                let Some(lf) = memchr::memchr(b'\n', bytes) else { return };
                bytes = &bytes[lf..];
            }
            let (part, rest) = bytes.split_at(bytes.len().min(BLOCK - self.recent.unread()));
            self.recent.push(part);
            bytes = rest;
            // A few bytes of a line wait for more.
            if self.recent.unread() == BLOCK || part.contains(&b'\n') {
                self.look(end - offset(rest.len()), out);
            }
        }
    }

    fn finish(&mut self, at: u64, out: &mut Vec<Mark>, _report: &mut Report) {
        self.look(at, out);
        let recent = std::mem::take(&mut self.recent);
        if !recent.line().0.is_empty() {
            self.take_line(&self.complete(recent.line(), &recent, at), out);
        }
        if let Some(mut p) = self.pending.take() {
            p.mark.decided = at;
            out.push(p.mark);
        }
    }

    fn live_from(&self) -> Option<u64> {
        let pending = self.pending.as_ref().map(|p| p.mark.span.start);
        let block = self.block.as_ref().filter(|b| b.body.is_some()).map(|b| b.at);
        pending.or(block).or_else(|| self.live_in_line())
    }

    fn memory(&self) -> usize {
        let block = self.block.as_ref().and_then(|b| b.body.as_ref()).map_or(0, Vec::capacity);
        size_of::<Self>() + self.recent.memory() + block
    }
}

impl State {
    /// Looks at the bytes that wait, which end at offset `end`.
    fn look(&mut self, end: u64, out: &mut Vec<Mark>) {
        let (from, bytes) = self.recent.read();
        let Some(last) = bytes.last().copied() else { return };
        let (len, block) = (bytes.len(), Block::new(bytes));
        let marked = has_marks(&block, bytes, self.prev);
        let dots = block.all(b'.');
        let feeds = block.all(b'\n');
        let starts = feeds << 1 | u64::from(self.line.begins);
        let firsts = behind_runs(starts, block.mask(white) & !feeds) & below(len) & !feeds;
        let mut comments = dots & (dots << 1 | u64::from(self.prev == b'.'));
        if firsts != 0 {
            comments |= firsts & block.mask(may_open);
        }
        self.prev = last;
        let at = end - offset(len);
        let begin = behind_last(feeds);
        if feeds == 0 {
            self.line.comment |= comments != 0;
            self.line.marked |= marked;
            self.line.begins &= firsts == 0;
        } else {
            if self.waits() || marked || self.line.marked || comments != 0 || self.line.comment {
                self.look_at_lines(at, from, feeds, comments, marked, out);
            } else {
                self.end_line(at, from, begin - 1, false);
            }
            self.line.begins = firsts & !below(begin) == 0;
        }
        self.recent.settle();
    }

    /// Takes the lines that end in a block at offset `at`, which begins at `from` in the recent text.
    #[inline(never)]
    fn look_at_lines(&mut self, at: u64, from: usize, feeds: u64, comments: u64, marked: bool, out: &mut Vec<Mark>) {
        self.line.marked |= marked;
        let mut begin = 0;
        for lf in places(feeds) {
            if self.waits() || self.line.marked || self.line.comment || comments & between(begin, lf) != 0 {
                let recent = std::mem::take(&mut self.recent);
                self.take_line(&self.complete(recent.line_to(from + lf), &recent, at + offset(lf) + 1), out);
                self.recent = recent;
            }
            // Behind the last line feed, what was marked counts for the line that goes on, too.
            self.end_line(at, from, lf, marked);
            begin = lf + 1;
        }
        self.line.comment = comments & !below(begin) != 0;
    }

    /// Whether something waits for the next line, whatever that is.
    #[inline]
    fn waits(&self) -> bool {
        self.pending.is_some() || self.block.is_some() || self.triple.is_some()
    }

    /// The line ends at place `lf` of such a block.
    #[inline]
    fn end_line(&mut self, at: u64, from: usize, lf: usize, marked: bool) {
        self.recent.end_line(from + lf);
        self.line_at = at + offset(lf) + 1;
        self.line = Seen { begins: true, comment: false, marked };
    }

    fn complete<'a>(&self, (text, long): (&'a [u8], bool), recent: &'a Recent, next: u64) -> Line<'a> {
        Line { text, long, at: self.line_at, next, marked: self.line.marked, before: recent.before() }
    }

    /// The start of a comment in the unfinished line that may still become a finding.
    fn live_in_line(&self) -> Option<u64> {
        let (line, long) = self.recent.line();
        if long || self.triple.is_some() {
            return None;
        }
        let start = comment::indent(line);
        if start == line.len() || line.len() - start > MAX_BODY + 16 {
            return self.inline_live(line);
        }
        let first = line[start];
        let possible = matches!(
            first,
            b'/' | b'#' | b'-' | b';' | b'%' | b'<' | b'{' | b'(' | b'[' | b'.' | b'\'' | b'"' | b'*' | b'+'
        ) || first.is_ascii_alphabetic()
            || !first.is_ascii();
        // The last word may still grow into a known one; the words before it cannot.
        let whole_words = line.iter().rposition(|b| !b.is_ascii_alphabetic()).unwrap_or(start).max(start);
        if possible && self.spec.vocabulary.plausible(&line[start..whole_words], true) {
            return Some(self.line_at + offset(start));
        }
        self.inline_live(line)
    }

    fn inline_live(&self, line: &[u8]) -> Option<u64> {
        let open = line.iter().rposition(|b| matches!(b, b'{' | b'(' | b'[' | b'>'))?;
        (line.len() - open <= MAX_BODY + 16).then(|| self.line_at + offset(open) + 1)
    }

    /// Takes a complete line that may matter.
    fn take_line(&mut self, line: &Line<'_>, out: &mut Vec<Mark>) {
        let start = comment::indent(line.text);
        if start == line.text.len() && !line.long {
            if let Some(p) = &mut self.pending {
                p.blank = true;
            }
            if let Some(b) = &mut self.block {
                grow(&mut b.body, b" ");
            }
            return;
        }
        if let Some(p) = self.pending.take() {
            settle(p, line, out);
        }
        let inside = self.triple.is_some();
        let inline = if line.marked || inside { self.look_along(line) } else { None };
        if self.block.is_some() {
            self.continue_block(line, out);
        } else if !inside && self.triple.is_none() && !line.long {
            let may = comment::may_be_whole(line.text, start);
            match if may { comment::shape(line.text, start) } else { Shape::Code } {
                Shape::Whole(w) => {
                    let span = line.at + offset(w.span.start)..line.at + offset(w.span.end);
                    self.weigh(&line.text[w.body], span, w.opener, start, line, out);
                }
                Shape::Opens(span, pair) => {
                    let mut body = Some(Vec::new());
                    grow(&mut body, &line.text[span.start + BLOCKS[pair].0.len()..span.end]);
                    self.block = Some(Commented { at: line.at + offset(span.start), pair, body, indent: start });
                }
                Shape::Code => self.consider_inline(line, inline, out),
            }
        } else if !inside && self.triple.is_none() {
            self.consider_inline(line, inline, out);
        }
    }

    /// Follows triple quotes along the line and finds the first block comment behind its start.
    fn look_along(&mut self, line: &Line<'_>) -> Option<usize> {
        let mut comment = None;
        let mut skip = 0;
        let text = if line.marked { line.text } else { b"" };
        for i in memchr::memchr3_iter(b'"', b'*', b'!', text) {
            if i < skip {
                continue;
            }
            match text[i] {
                b'*' if comment.is_none() && i > 0 && text[i - 1] == b'/' => comment = Some(i - 1),
                b'!' if comment.is_none() && i > 0 && text[i - 1] == b'<' && text[i..].starts_with(b"!--") => {
                    comment = Some(i - 1);
                }
                b'"' if text[i..].starts_with(b"\"\"\"") => {
                    self.triple = if self.triple.is_some() { None } else { Some((b'"', 0)) };
                    skip = i + 3;
                }
                _ => {}
            }
        }
        if let Some((q, n)) = self.triple {
            self.triple = (n < MAX_TRIPLE_LINES).then_some((q, n + 1));
        }
        comment
    }

    fn continue_block(&mut self, line: &Line<'_>, out: &mut Vec<Mark>) {
        let Some(mut b) = self.block.take() else { return };
        let close = BLOCKS[b.pair].1;
        match comment::find(line.text, close) {
            None => {
                let mut text = line.text.trim_ascii();
                if let Some(t) = text.strip_prefix(b"*") {
                    text = t;
                }
                grow(&mut b.body, b" ");
                grow(&mut b.body, text);
                if line.long {
                    b.body = None;
                }
                self.block = Some(b);
            }
            Some(i) => {
                let end = i + close.len();
                let Some(mut body) = b.body else { return };
                if line.long || !line.text[end..].trim_ascii().is_empty() {
                    return;
                }
                let mut text = line.text[..i].trim_ascii();
                if let Some(t) = text.strip_prefix(b"*") {
                    text = t;
                }
                body.push(b' ');
                body.extend_from_slice(text);
                let span = b.at..line.at + offset(end);
                self.weigh(&body, span, Opener::Block, b.indent, line, out);
            }
        }
    }

    fn consider_inline(&mut self, line: &Line<'_>, inline: Option<usize>, out: &mut Vec<Mark>) {
        let Some(w) = inline.and_then(|i| comment::only_content(line.text, i)) else { return };
        // Alone between its brackets, nothing follows it: even a label is an elision there.
        let Some((rule, _)) = self.verdict(&line.text[w.body], Opener::Block) else { return };
        let span = line.at + offset(w.span.start)..line.at + offset(w.span.end);
        out.push(Mark { rule, span, decided: line.next });
    }

    fn verdict(&self, body: &[u8], opener: Opener) -> Option<(usize, Verdict)> {
        if body.len() > MAX_BODY || opener == Opener::Slashes && body.trim_ascii_start().starts_with(b"//") {
            return None; // too long, or an example inside documentation
        }
        if !self.spec.vocabulary.plausible(body, false) {
            return None;
        }
        if opener == Opener::Bare && (!frame::may_end_framed(body) || frame::codelike(body)) {
            return None; // a sentence, a tuple or a call
        }
        let framed = frame::unframe(body)?;
        let (rule, verdict) = grammar::judge(&self.spec.vocabulary, &framed)?;
        match opener {
            Opener::Bare if !(framed.bracket || framed.both() || framed.trail && verdict == Verdict::Sure) => None,
            Opener::Bare if verdict < Verdict::Sure || !framed.text.contains(' ') && framed.text.is_ascii() => None,
            Opener::Other if verdict < Verdict::Sure => None,
            // Two and more are a heading as often as a comment.
            Opener::Hash(2..) if verdict < Verdict::Sure => None,
            _ => Some((rule, verdict)),
        }
    }

    /// Judges a whole comment, which ends in `line`, and reports it, or lets it wait for the next line.
    fn weigh(
        &mut self,
        body: &[u8],
        span: Range<u64>,
        opener: Opener,
        indent: usize,
        line: &Line<'_>,
        out: &mut Vec<Mark>,
    ) {
        let Some((rule, verdict)) = self.verdict(body, opener) else { return };
        let (above, blank_above) = recent::above(line.before);
        if self.forbids(above) {
            return;
        }
        if verdict < Verdict::Sure && !blank_above && runs_on(above, opener, indent) {
            return;
        }
        let mark = Mark { rule, span, decided: line.next };
        if verdict == Verdict::Sure || verdict == Verdict::Plain && opener == Opener::Block {
            out.push(mark);
        } else {
            self.pending = Some(Pending { mark, indent, opener, verdict, blank: false });
        }
    }

    /// Whether the line above speaks of elisions, as rules and prompts do.
    fn forbids(&self, above: &[u8]) -> bool {
        if above.is_empty() {
            return false;
        }
        let above = String::from_utf8_lossy(above).to_lowercase();
        self.spec.vocabulary.languages.iter().flat_map(|l| &l.forbid).any(|w| contains_word(&above, w))
    }
}

/// Whether there may be a triple quote or an opener of a block comment, which may have begun in the block before.
#[inline]
fn has_marks(block: &Block, bytes: &[u8], prev: u8) -> bool {
    let quotes = block.all(b'"');
    if quotes & (quotes << 1 | u64::from(prev == b'"')) != 0 {
        return true;
    }
    let behind = block.mask(|v| is(v, b'*') | is(v, b'!'));
    places(behind).any(|i| {
        let before = if i > 0 { bytes[i - 1] } else { prev };
        before == if bytes[i] == b'*' { b'/' } else { b'<' }
    })
}

/// Which bytes a comment, or a bare line that stands for one, can begin with, and a few more; see
/// [`comment::may_be_whole`], which knows exactly.
#[inline]
fn may_open(v: Lanes) -> Lanes {
    let brackets = is(v | Lanes::splat(0x20), b'{'); // and [
    at_least(v, 0x80) | within(v, b'"', b'(') | within(v, b'*', b'/') | within(v, b';', b'<') | brackets
}

/// Whether the line above is a comment of the same kind whose sentence goes on in this one.
fn runs_on(above: &[u8], opener: Opener, indent: usize) -> bool {
    if opener == Opener::Block || opener == Opener::Bare {
        return false;
    }
    let start = comment::indent(above);
    let Some((found, n)) = comment::opener_at(&above[start..]) else { return false };
    if found != opener || start != indent {
        return false;
    }
    let body = above[start + n..].trim_ascii();
    body.iter().filter(|b| **b == b' ').count() >= 2
        && body.last().is_some_and(|b| b.is_ascii_alphanumeric() || *b == b',')
}

/// A comment that waited, and the line it waited for.
fn settle(mut p: Pending, line: &Line<'_>, out: &mut Vec<Mark>) {
    p.mark.decided = line.next;
    let elision = match p.verdict {
        Verdict::Weak => comment::closes(line.text, p.indent),
        _ => p.blank || !goes_on(line.text, p.opener, p.indent),
    };
    if elision {
        out.push(p.mark);
    }
}

/// Whether a line is a comment of the same kind that begins in small letters: the same sentence.
fn goes_on(line: &[u8], opener: Opener, indent: usize) -> bool {
    let start = comment::indent(line);
    let Some((found, n)) = comment::opener_at(&line[start..]) else { return false };
    let body = line[start + n..].trim_ascii_start();
    found == opener && start == indent && body.first().is_some_and(u8::is_ascii_lowercase)
}

fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(i, _)| {
        let before = text[..i].chars().next_back().is_some_and(char::is_alphanumeric);
        let after = text[i + word.len()..].chars().next().is_some_and(char::is_alphanumeric);
        !word.is_ascii() || !before && !after
    })
}

/// Appends to a body, which ends when it is too long for an elision.
fn grow(body: &mut Option<Vec<u8>>, bytes: &[u8]) {
    if let Some(b) = body {
        if b.len() + bytes.len() > MAX_BODY {
            *body = None;
        } else {
            b.extend_from_slice(bytes);
        }
    }
}

/// An index as a stream offset. Slices are never longer than `u64`.
fn offset(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
