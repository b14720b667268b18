//! `structure`: what is open when the stream ends.
//!
//! A tool that cuts its output, a model that reaches its token limit and a broken connection have one thing in common:
//! something was begun and not ended. This tracker reads along and says at the end what that is: a JSON string or
//! container, a bracket, a quoted string, a Markdown fence, a tag, a heredoc, a PEM block, a character of UTF-8.
//!
//! What it is not: a validator. It says nothing about wrong structure, only about structure that is cut off, and it
//! stays silent when it is not sure what it reads. JSON is recognised by its first byte; everything else is guessed
//! once from the first [`HEAD`] bytes ([`guess`]) and then read by one small lexer ([`code`], [`yaml`], [`html`],
//! [`lines`]) in constant memory.
//!
//! The report gets one reason for each thing that is open, outermost first, with stable codes: `open-json-object`,
//! `open-json-array`, `open-json-string`, `open-json-escape`, `open-json-word`, `open-json-number`, `open-bracket`,
//! `open-string`, `open-triple-quote`, `open-template`, `open-dollar-quote`, `open-comment`, `open-heredoc`,
//! `open-copy-data`,
//! `open-regex`, `open-fence`, `open-tag`, `open-attribute`, `open-element`, `open-pem`, `cut-utf8`. If there is any,
//! one mark stands at the end of the stream.
//!
//! Since it speaks at the end only, small pieces wait until there are [`BATCH`] bytes to read; and a reader that has
//! come to doubt what it reads, which can only say nothing from then on, is dropped.
//!
//! Invariants: the answer depends on the bytes only. Memory is at most [`HEAD`] bytes plus the nesting stacks, whose
//! depth is bounded. Time is linear: each byte is read by at most three lexers.

mod code;
mod dialect;
mod guess;
mod html;
pub(crate) mod json;
mod lines;
#[cfg(test)]
mod tests;
mod utf8;
mod votes;
mod yaml;

use std::sync::Arc;

use super::{Mark, Tracker, TrackerSpec};
use crate::finding::Report;
use code::Code;
use guess::Kind;
use html::Html;
use json::{Json, JsonState};
use lines::{Fences, Heads, Lines, Pem};
use utf8::Utf8;
use yaml::Yaml;

/// Bytes that are kept to guess the language from. Licence texts at the head of source files are shorter.
const HEAD: usize = 4096;

/// Bytes that are read at a time once the language is guessed. Four blocks: with more, little is left to save, and an
/// idle stream keeps them.
const BATCH: usize = 256;

/// The shared part. It has no options.
#[derive(Debug)]
pub(crate) struct Structure;

impl Structure {
    /// Builds the tracker. Refuses options, since it has none.
    pub(crate) fn build(rules: &[&toml::Table]) -> Result<Arc<dyn TrackerSpec>, String> {
        if let Some(key) = rules.iter().flat_map(|t| t.keys()).next() {
            return Err(format!("option `{key}` is not known; tracker `structure` has none"));
        }
        Ok(Arc::new(Structure))
    }
}

impl TrackerSpec for Structure {
    fn start(self: Arc<Self>) -> Box<dyn Tracker> {
        Box::new(State {
            utf8: Utf8::default(),
            heads: Heads::default(),
            pem: Pem::default(),
            json: None,
            reader: Reader::Undecided,
            held: Vec::new(),
            held_at: 0,
            begun: false,
        })
    }
}

/// One stream.
struct State {
    utf8: Utf8,
    heads: Heads,
    pem: Pem,
    /// Reading as JSON, as long as it may be JSON.
    json: Option<Json>,
    reader: Reader,
    /// Bytes that wait to be read: the first [`HEAD`] ones until the language is guessed, then up to [`BATCH`].
    held: Vec<u8>,
    /// Where they begin.
    held_at: u64,
    /// A byte that is not blank was seen.
    begun: bool,
}

enum Reader {
    Undecided,
    Silent,
    Fences(Fences),
    Code(Box<Code>),
    Yaml(Yaml),
    Html(Box<Html>),
}

impl Tracker for State {
    #[inline]
    fn feed(&mut self, _at: u64, bytes: &[u8], _out: &mut Vec<Mark>) {
        if self.held.len() + bytes.len() < self.bound() {
            self.held.extend_from_slice(bytes);
        } else {
            self.overflow(bytes);
        }
    }

    fn finish(&mut self, at: u64, out: &mut Vec<Mark>, report: &mut Report) {
        let held = std::mem::take(&mut self.held);
        self.take(&held, true);
        let mut open = Vec::new();
        match (&self.json, &self.reader) {
            (Some(j), _) if j.state() == JsonState::Incomplete => j.open(&mut open),
            (Some(_), _) => {}
            (_, Reader::Code(c)) => c.open(&mut open),
            (_, Reader::Yaml(y)) => y.open(&mut open),
            (_, Reader::Html(h)) => h.open(&mut open),
            (_, Reader::Fences(f)) => {
                let mut f = *f;
                if let Some((at, line)) = self.heads.rest() {
                    f.line(at, line);
                }
                open.extend(f.open().map(|at| ("open-fence", at)));
            }
            _ => {}
        }
        open.extend(self.pem.open(self.heads.rest().map(|(_, l)| l)).map(|at| ("open-pem", at)));
        open.extend(self.utf8.open().map(|at| ("cut-utf8", at)));
        open.sort_by_key(|(_, at)| *at);
        open.dedup();
        for (code, place) in &open {
            report.push(*code, *place);
        }
        if !open.is_empty() {
            out.push(Mark { rule: 0, span: at..at, decided: at });
        }
    }

    fn live_from(&self) -> Option<u64> {
        None // its only mark is empty
    }

    fn memory(&self) -> usize {
        let reader = match &self.reader {
            Reader::Code(c) => size_of::<Code>() + c.memory(),
            Reader::Yaml(y) => y.memory(),
            Reader::Html(h) => size_of::<Html>() + h.memory(),
            _ => 0,
        };
        size_of::<Self>()
            + self.held.capacity()
            + self.heads.memory()
            + self.json.as_ref().map_or(0, Json::memory)
            + reader
    }
}

impl State {
    /// How many bytes are read together.
    fn bound(&self) -> usize {
        if matches!(self.reader, Reader::Undecided) { HEAD } else { BATCH }
    }

    /// Takes bytes with which there are enough to read.
    fn overflow(&mut self, mut bytes: &[u8]) {
        while self.held.len() + bytes.len() >= self.bound() {
            if self.held.is_empty() && !matches!(self.reader, Reader::Undecided) {
                self.take(bytes, false);
                return;
            }
            // The guess is made on exactly the first HEAD bytes, so that it does not depend on how they came.
            let (first, rest) = bytes.split_at(bytes.len().min(self.bound() - self.held.len()));
            let mut held = std::mem::take(&mut self.held);
            held.extend_from_slice(first);
            self.take(&held, false);
            held.clear();
            held.shrink_to(BATCH);
            self.held = held;
            bytes = rest;
        }
        self.held.extend_from_slice(bytes);
    }

    /// Lets all readers read on. `last`: the text ends with these bytes.
    fn take(&mut self, bytes: &[u8], last: bool) {
        let at = self.held_at;
        self.held_at += offset(bytes.len());
        self.utf8.feed(at, bytes);
        self.feed_json(at, bytes);
        if matches!(self.reader, Reader::Undecided) {
            self.decide(bytes, last);
        }
        let fences = if let Reader::Fences(f) = &mut self.reader { Some(f) } else { None };
        self.heads.feed(at, bytes, &mut LineReaders { pem: &mut self.pem, fences });
        let silent = match &mut self.reader {
            Reader::Code(c) => {
                c.feed(at, bytes);
                c.silent()
            }
            Reader::Yaml(y) => {
                y.feed(at, bytes);
                y.silent()
            }
            Reader::Html(h) => {
                h.feed(at, bytes);
                h.silent()
            }
            Reader::Fences(_) | Reader::Silent | Reader::Undecided => false,
        };
        if silent {
            self.reader = Reader::Silent;
        }
    }

    fn feed_json(&mut self, at: u64, bytes: &[u8]) {
        if !self.begun {
            let blank = |b: &u8| b.is_ascii_whitespace() || matches!(b, 0xef | 0xbb | 0xbf);
            let Some(i) = bytes.iter().position(|b| !blank(b)) else { return };
            self.begun = true;
            if matches!(bytes[i], b'{' | b'[') {
                let mut j = Json::new(true);
                j.feed(at + offset(i), &bytes[i..]);
                self.json = (!j.dead()).then_some(j);
            }
        } else if let Some(j) = &mut self.json {
            j.feed(at, bytes);
            if j.dead() {
                self.json = None;
            }
        }
    }

    /// Chooses the reader.
    fn decide(&mut self, head: &[u8], whole: bool) {
        self.reader = if self.json.is_some() {
            Reader::Silent
        } else {
            match guess::guess(head, whole) {
                Kind::Unknown | Kind::Markdown => Reader::Fences(Fences::default()),
                Kind::Yaml => Reader::Yaml(Yaml::new()),
                Kind::Html => Reader::Html(Box::new(Html::new(false))),
                Kind::Xml => Reader::Html(Box::new(Html::new(true))),
                Kind::Code(d) => Reader::Code(Box::new(Code::new(d))),
            }
        };
    }
}

/// All that read line heads.
struct LineReaders<'a> {
    pem: &'a mut Pem,
    fences: Option<&'a mut Fences>,
}

impl Lines for LineReaders<'_> {
    #[inline]
    fn wants(&self, first: u8) -> bool {
        self.pem.wants(first) || self.fences.as_ref().is_some_and(|f| f.wants(first))
    }

    #[inline]
    fn wants_only_dashes(&self) -> bool {
        self.fences.is_none() && self.pem.wants_only_dashes()
    }

    #[inline]
    fn wants_only_marks(&self) -> bool {
        self.fences.is_some() && self.pem.wants_only_dashes()
    }

    fn line(&mut self, at: u64, head: &[u8]) {
        self.pem.line(at, head);
        if let Some(f) = &mut self.fences {
            f.line(at, head);
        }
    }

    #[inline]
    fn other(&mut self) {
        if let Some(f) = &mut self.fences {
            f.other();
        }
    }

    #[inline]
    fn blank(&mut self) {
        if let Some(f) = &mut self.fences {
            f.blank();
        }
    }
}

/// An index as a stream offset. Slices are never longer than `u64`.
fn offset(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
