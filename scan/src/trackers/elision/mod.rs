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
//! complete lines. Memory is one line prefix of [`MAX_LINE`] bytes, one comment body and the line above. Time is
//! linear: each line is looked at once, and bodies over 256 bytes are never looked at.
//!
//! The attacker is a model that elides, not one that hides: an elision written so that no reader would take it for
//! one is out of scope.

mod comment;
mod frame;
mod grammar;
#[cfg(test)]
mod tests;
mod words;

use std::ops::Range;
use std::sync::Arc;

use super::block::{BLOCK, block, line_feeds, places};
use super::{Mark, Tracker, TrackerSpec};
use crate::finding::Report;
use comment::{BLOCKS, Opener, Shape, Whole};
use frame::MAX_BODY;
use grammar::Verdict;
use words::Vocabulary;

/// Bytes of a line that are looked at. A longer line is minified code or data: its head is enough to see that it is
/// no elision, and one endless line must not hold memory.
const MAX_LINE: usize = 1024;
/// Bytes of the line above that are kept, to see whether it forbids elisions or runs on.
const MAX_ABOVE: usize = 160;
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
            line: Vec::new(),
            line_at: 0,
            line_long: false,
            marked: false,
            prev: b'\n',
            above: Vec::new(),
            blank_above: true,
            triple: None,
            block: None,
            pending: None,
        })
    }
}

/// One stream.
struct State {
    spec: Arc<CommentElision>,
    /// The head of the line that is not complete yet.
    line: Vec<u8>,
    /// Where that line starts.
    line_at: u64,
    /// It is longer than its kept head.
    line_long: bool,
    /// A block that the line stands in has a mark that [`State::look_along`] looks for.
    marked: bool,
    /// The last byte.
    prev: u8,
    /// The head of the last line that was not blank.
    above: Vec<u8>,
    /// There was a blank line (or nothing) between `above` and the current line.
    blank_above: bool,
    /// Inside a triple-quoted string: the quote, and for how many lines.
    triple: Option<(u8, u32)>,
    block: Option<Block>,
    pending: Option<Pending>,
}

/// A block comment over several lines.
struct Block {
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
    fn feed(&mut self, at: u64, bytes: &[u8], out: &mut Vec<Mark>) {
        let (mut from, mut base) = (0, 0);
        while base < bytes.len() {
            if self.line_long || base - from > MAX_LINE {
                // Nothing in the line matters any more but its end.
                let Some(lf) = memchr::memchr(b'\n', &bytes[base..]) else { break };
                base += lf;
            }
            let part = &bytes[base..bytes.len().min(base + BLOCK)];
            let block = block(part);
            // Behind the last line feed of a block, what was marked counts for the line that goes on, too.
            let marked = self.has_marks(&block);
            self.marked |= marked;
            for i in places(line_feeds(&block)) {
                let (lf, next) = (base + i, at + offset(base + i) + 1);
                if self.line.is_empty() && !self.line_long {
                    let line = &bytes[from..lf];
                    let long = line.len() > MAX_LINE;
                    self.take_line(&line[..line.len().min(MAX_LINE)], at + offset(from), long, next, out);
                } else {
                    self.keep(&bytes[from..lf]);
                    let line = std::mem::take(&mut self.line);
                    let long = std::mem::take(&mut self.line_long);
                    self.take_line(&line, self.line_at, long, next, out);
                    self.line = line;
                    self.line.clear();
                }
                self.marked = marked;
                from = lf + 1;
            }
            self.prev = part[part.len() - 1];
            base += BLOCK;
        }
        if from < bytes.len() {
            if self.line.is_empty() && !self.line_long {
                self.line_at = at + offset(from);
            }
            self.keep(&bytes[from..]);
        }
    }

    fn finish(&mut self, at: u64, out: &mut Vec<Mark>, _report: &mut Report) {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            let long = self.line_long;
            self.take_line(&line, self.line_at, long, at, out);
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
        size_of::<Self>() + self.line.capacity() + self.above.capacity() + block
    }
}

impl State {
    /// Whether there may be a triple quote or an opener of a block comment, which may have begun in the block before.
    #[inline]
    fn has_marks(&self, block: &[u8; BLOCK]) -> bool {
        const LANES: usize = 16;
        let pair = |a: u8, b: u8| (a == b'"') & (b == b'"') | (a == b'/') & (b == b'*') | (a == b'<') & (b == b'!');
        let mut hits = [false; LANES];
        for from in [0, LANES, 2 * LANES, BLOCK - 1 - LANES] {
            for (i, hit) in hits.iter_mut().enumerate() {
                *hit |= pair(block[from + i], block[from + i + 1]);
            }
        }
        hits.contains(&true) | pair(self.prev, block[0])
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.line_long {
            return;
        }
        let room = MAX_LINE - self.line.len();
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.line_long |= bytes.len() > room;
    }

    /// The start of a comment in the unfinished line that may still become a finding.
    fn live_in_line(&self) -> Option<u64> {
        if self.line_long || self.triple.is_some() {
            return None;
        }
        let start = comment::indent(&self.line);
        if start == self.line.len() || self.line.len() - start > MAX_BODY + 16 {
            return self.inline_live();
        }
        let first = self.line[start];
        let possible = matches!(
            first,
            b'/' | b'#' | b'-' | b';' | b'%' | b'<' | b'{' | b'(' | b'[' | b'.' | b'\'' | b'"' | b'*' | b'+'
        ) || first.is_ascii_alphabetic()
            || !first.is_ascii();
        // The last word may still grow into a known one; the words before it cannot.
        let whole_words = self.line.iter().rposition(|b| !b.is_ascii_alphabetic()).unwrap_or(start).max(start);
        if possible && self.spec.vocabulary.plausible(&self.line[start..whole_words], true) {
            return Some(self.line_at + offset(start));
        }
        self.inline_live()
    }

    fn inline_live(&self) -> Option<u64> {
        let open = self.line.iter().rposition(|b| matches!(b, b'{' | b'(' | b'[' | b'>'))?;
        (self.line.len() - open <= MAX_BODY + 16).then(|| self.line_at + offset(open) + 1)
    }

    /// Takes a complete line. `next` is the offset behind its line feed.
    fn take_line(&mut self, line: &[u8], at: u64, long: bool, next: u64, out: &mut Vec<Mark>) {
        let start = comment::indent(line);
        if start == line.len() && !long {
            self.blank_above = true;
            if let Some(p) = &mut self.pending {
                p.blank = true;
            }
            if let Some(b) = &mut self.block {
                grow(&mut b.body, b" ");
            }
            return;
        }
        if let Some(p) = self.pending.take() {
            self.settle(p, line, next, out);
        }
        let inside = self.triple.is_some();
        let inline = if self.marked || inside { self.look_along(line) } else { None };
        if self.block.is_some() {
            self.continue_block(line, at, long, next, out);
        } else if !inside && self.triple.is_none() && !long {
            let shape = if comment::may_be_whole(line, start) { comment::shape(line, start) } else { Shape::Code };
            match shape {
                Shape::Whole(w) => self.consider(line, at, start, w, next, out),
                Shape::Opens(span, pair) => {
                    let mut body = Some(Vec::new());
                    grow(&mut body, &line[span.start + BLOCKS[pair].0.len()..span.end]);
                    self.block = Some(Block { at: at + offset(span.start), pair, body, indent: start });
                }
                Shape::Code => self.consider_inline(line, at, inline, next, out),
            }
        } else if !inside && self.triple.is_none() {
            self.consider_inline(line, at, inline, next, out);
        }
        self.above.clear();
        self.above.extend_from_slice(&line[..line.len().min(MAX_ABOVE)]);
        self.blank_above = false;
    }

    /// Follows triple quotes along the line and finds the first block comment behind its start.
    fn look_along(&mut self, line: &[u8]) -> Option<usize> {
        let mut comment = None;
        let mut skip = 0;
        let line = if self.marked { line } else { b"" };
        for i in memchr::memchr3_iter(b'"', b'*', b'!', line) {
            if i < skip {
                continue;
            }
            match line[i] {
                b'*' if comment.is_none() && i > 0 && line[i - 1] == b'/' => comment = Some(i - 1),
                b'!' if comment.is_none() && i > 0 && line[i - 1] == b'<' && line[i..].starts_with(b"!--") => {
                    comment = Some(i - 1);
                }
                b'"' if line[i..].starts_with(b"\"\"\"") => {
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

    fn continue_block(&mut self, line: &[u8], at: u64, long: bool, next: u64, out: &mut Vec<Mark>) {
        let Some(mut b) = self.block.take() else { return };
        let close = BLOCKS[b.pair].1;
        match comment::find(line, close) {
            None => {
                let mut text = line.trim_ascii();
                if let Some(t) = text.strip_prefix(b"*") {
                    text = t;
                }
                grow(&mut b.body, b" ");
                grow(&mut b.body, text);
                if long {
                    b.body = None;
                }
                self.block = Some(b);
            }
            Some(i) => {
                let end = i + close.len();
                let Some(mut body) = b.body else { return };
                if long || !line[end..].trim_ascii().is_empty() {
                    return;
                }
                let mut text = line[..i].trim_ascii();
                if let Some(t) = text.strip_prefix(b"*") {
                    text = t;
                }
                body.push(b' ');
                body.extend_from_slice(text);
                let span = b.at..at + offset(end);
                self.weigh(&body, span, Opener::Block, b.indent, next, out);
            }
        }
    }

    fn consider(&mut self, line: &[u8], at: u64, indent: usize, w: Whole, next: u64, out: &mut Vec<Mark>) {
        let body = &line[w.body.clone()];
        let span = at + offset(w.span.start)..at + offset(w.span.end);
        self.weigh(body, span, w.opener, indent, next, out);
    }

    fn consider_inline(&mut self, line: &[u8], at: u64, inline: Option<usize>, next: u64, out: &mut Vec<Mark>) {
        let Some(w) = inline.and_then(|i| comment::only_content(line, i)) else { return };
        let Some((rule, verdict)) = self.verdict(&line[w.body.clone()], Opener::Block) else { return };
        // Alone between its brackets, nothing follows it: even a label is an elision there.
        let _ = verdict;
        let span = at + offset(w.span.start)..at + offset(w.span.end);
        out.push(Mark { rule, span, decided: next });
    }

    fn verdict(&self, body: &[u8], opener: Opener) -> Option<(usize, Verdict)> {
        if body.len() > MAX_BODY || opener == Opener::Slashes && body.trim_ascii_start().starts_with(b"//") {
            return None; // too long, or an example inside documentation
        }
        if !self.spec.vocabulary.plausible(body, false) {
            return None;
        }
        if opener == Opener::Bare && frame::codelike(body) {
            return None; // a tuple or a call
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

    /// Judges a whole comment and reports it, or lets it wait for the next line.
    fn weigh(&mut self, body: &[u8], span: Range<u64>, opener: Opener, indent: usize, next: u64, out: &mut Vec<Mark>) {
        let Some((rule, verdict)) = self.verdict(body, opener) else { return };
        if self.forbidden_above() {
            return;
        }
        if verdict < Verdict::Sure && self.runs_on(opener, indent) {
            return;
        }
        let mark = Mark { rule, span, decided: next };
        if verdict == Verdict::Sure || verdict == Verdict::Plain && opener == Opener::Block {
            out.push(mark);
        } else {
            self.pending = Some(Pending { mark, indent, opener, verdict, blank: false });
        }
    }

    /// Whether the line above speaks of elisions, as rules and prompts do.
    fn forbidden_above(&self) -> bool {
        if self.above.is_empty() {
            return false;
        }
        let above = String::from_utf8_lossy(&self.above).to_lowercase();
        self.spec.vocabulary.languages.iter().flat_map(|l| &l.forbid).any(|w| contains_word(&above, w))
    }

    /// Whether the line above is a comment of the same kind whose sentence goes on in this one.
    fn runs_on(&self, opener: Opener, indent: usize) -> bool {
        if self.blank_above || opener == Opener::Block || opener == Opener::Bare {
            return false;
        }
        let start = comment::indent(&self.above);
        let Some((above, n)) = comment::opener_at(&self.above[start..]) else { return false };
        if above != opener || start != indent {
            return false;
        }
        let body = self.above[start + n..].trim_ascii();
        body.iter().filter(|b| **b == b' ').count() >= 2
            && body.last().is_some_and(|b| b.is_ascii_alphanumeric() || *b == b',')
    }

    /// A comment that waited, and the line it waited for.
    fn settle(&mut self, mut p: Pending, line: &[u8], next: u64, out: &mut Vec<Mark>) {
        p.mark.decided = next;
        let elision = match p.verdict {
            Verdict::Weak => comment::closes(line, p.indent),
            _ => p.blank || !goes_on(line, p.opener, p.indent),
        };
        if elision {
            out.push(p.mark);
        }
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
