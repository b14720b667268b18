//! One rule of gitleaks turned into rules of a pack, or refused with the reason.
//!
//! Nothing is taken on trust: what was written is compiled by the engine as any pack is, and must find, at the same
//! place, what gitleaks' own procedure ([`Original`]) finds in texts drawn from the expression. The texts become the
//! examples of the rule.
//!
//! The attacker is the author of the configuration, whose expressions may explode: attempts that did are counted over
//! the whole import ([`MAX_EXPLOSIONS`]).

use std::collections::BTreeSet;
use std::ops::Range;

use forebay_scan::{Nearby, Pack, allow};
use regex_syntax::hir::Hir;

use super::allowlist;
use super::config::{Allowlist, Rule};
use super::draw::{self, Seed};
use super::go_regex;
use super::original::Original;
use super::shape::{self, Secret, Shape};
use super::spell::spell;
use crate::mask::cut_behind;
use crate::rules::bench::Bench;

/// Turns that a repeat without a bound gets beyond its least, inside the span and around it, tried from the longest on.
/// The first is a JWT with large claims; with the last a rule still finds what its vendor really issues.
const BOUNDS: [(u32, u32); 7] = [(4096, 128), (2048, 64), (1024, 48), (512, 32), (256, 24), (128, 16), (64, 12)];
/// Attempts at an automaton that exploded, in one import. Each costs up to a second.
const MAX_EXPLOSIONS: usize = 256;
/// Texts drawn for a rule.
const DRAWS: u64 = 48;
/// Examples kept for each shape.
const EXAMPLES: usize = 2;
/// Longest title, in characters: lists show it on one line.
const MAX_TITLE: usize = 120;

/// A rule that was taken.
#[derive(Debug)]
pub(super) struct Taken {
    /// Its tables, as TOML.
    pub(super) toml: Vec<String>,
    /// In what it differs from the original.
    pub(super) changes: Vec<String>,
}

/// A rule that was not.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) reason: String,
    pub(super) mend: String,
}

impl Refused {
    pub(super) fn new(reason: impl Into<String>, mend: impl Into<String>) -> Refused {
        Refused { reason: reason.into(), mend: mend.into() }
    }
}

/// Turns rules, one after the other.
pub(super) struct Builder<'a> {
    /// What is let through whatever the rule.
    pub(super) global: &'a [Allowlist],
    /// The same, as TOML of a pack.
    pub(super) global_toml: String,
    pub(super) explosions: usize,
    pub(super) names: Names<'a>,
}

/// Names of rules in the pack: kebab case, each once.
pub(super) struct Names<'a> {
    pub(super) prefix: &'a str,
    pub(super) taken: BTreeSet<String>,
}

impl Names<'_> {
    /// A name for part `n` of a rule, the first being 1.
    fn of(&mut self, rule: &str, n: usize) -> String {
        let mut id = self.prefix.to_owned();
        for c in rule.chars().take(100) {
            if c.is_ascii_alphanumeric() {
                id.push(c.to_ascii_lowercase());
            } else if !id.ends_with('-') {
                id.push('-');
            }
        }
        let id = id.trim_matches('-').to_owned();
        let mut name = if n == 1 { id.clone() } else { format!("{id}-{n}") };
        let mut again = 1;
        while name.is_empty() || !self.taken.insert(name.clone()) {
            again += 1;
            name = format!("{id}-again-{again}");
        }
        name
    }
}

/// A shape with its bounds, and what the engine makes of it.
struct Fitted {
    shape: Shape,
    gated: bool,
    bench: Bench,
    matches: Vec<String>,
    no_matches: Vec<String>,
}

impl Fitted {
    /// Keeps as an example what is one byte short of a secret, if neither finds anything in it.
    fn miss(&mut self, original: &Original, mut text: Vec<u8>, secret: Range<usize>) {
        text.remove(secret.end - 1);
        if self.no_matches.is_empty() && original.secrets(&text).is_empty() && self.bench.spans(&text).is_empty() {
            self.no_matches.extend(draw::example(&text, &(secret.start..secret.end - 1)));
        }
    }
}

impl Builder<'_> {
    /// Turns one rule.
    pub(super) fn build(&mut self, rule: &Rule) -> Result<Taken, Refused> {
        let by_hand = "write the rule by hand: packs/README.md says how";
        let Some(go) = &rule.regex else {
            return Err(Refused::new("it looks at file names only", "none is needed: Forebay looks at contents"));
        };
        if rule.skip_report || rule.required {
            let what =
                if rule.required { "it needs findings of other rules near it" } else { "it only serves other rules" };
            return Err(Refused::new(what, "write a rule with `nearby` words: packs/README.md says how"));
        }
        if self.explosions >= MAX_EXPLOSIONS {
            let what = format!("not tried: {MAX_EXPLOSIONS} attempts before it exploded");
            return Err(Refused::new(what, "remove the rules that explode, or import the file in parts"));
        }
        let bad = |e: String| Refused::new(format!("its expression cannot be read: {e}"), "mend the expression");
        let translated = go_regex::translate(go).map_err(bad)?;
        let hir = go_regex::parse(&translated).map_err(bad)?;
        let mut original = Original::new(rule, &translated, self.global).map_err(bad)?;
        if rule.secret_group as usize > original.groups() {
            let what = format!("`secretGroup` is {}, and there are {} groups", rule.secret_group, original.groups());
            return Err(Refused::new(what, "mend `secretGroup`"));
        }
        let secret = if rule.secret_group == 0 { Secret::First } else { Secret::Group(rule.secret_group) };
        let shapes = shape::shapes(&hir, secret).map_err(|e| Refused::new(e, by_hand))?;

        let mut changes = Vec::new();
        if shapes.repeated {
            original.whole = true;
            changes.push("its group repeats and would mark its last turn only: the whole match is replaced".to_owned());
        }
        if rule.path.is_some() {
            changes.push("`path` is left out: it looks into every text, whatever its name".to_owned());
        }
        if shape::asks_for_start(&hir) {
            changes.push("`^` holds at every line: a stream has no start of a file".to_owned());
        }
        let rest = rest(rule, shapes.reach, &mut changes);
        let mut fitted = Vec::new();
        for (shape, gated) in gate(&shapes.all, &rule.keywords) {
            fitted.push(self.fit(rule, shape, gated, &rest, &mut changes)?);
        }
        prove(rule, &hir, &original, &mut fitted, &mut changes)?;
        let named = (1..).zip(&fitted).map(|(n, f)| (self.names.of(&rule.id, n), f));
        let toml = named.map(|(id, f)| table(rule, &id, &f.shape, f.gated, &rest) + &examples(f)).collect();
        changes.dedup();
        Ok(Taken { toml, changes })
    }

    /// Finds the widest bounds with which the engine takes a shape: of repeats that have none, or if that is not enough of
    /// every repeat. The narrowest ones are tried first: what does not fit them fits no others.
    fn fit(
        &mut self,
        rule: &Rule,
        shape: Shape,
        gated: bool,
        rest: &str,
        changes: &mut Vec<String>,
    ) -> Result<Fitted, Refused> {
        let narrowest = BOUNDS[BOUNDS.len() - 1];
        let mut last = String::new();
        for every in [false, true] {
            let head = &self.global_toml;
            let mut attempt = |bounds: (u32, u32)| {
                let bounded = bound(&shape, bounds, every);
                let bench = compiled(head, &table(rule, "rule", &bounded, gated, rest));
                let bench = bench
                    .inspect_err(|e| self.explosions += usize::from(e.contains("explodes") || e.contains("65,535")));
                bench.map(|bench| Fitted { shape: bounded, gated, bench, matches: vec![], no_matches: vec![] })
            };
            if let Err(e) = attempt(narrowest) {
                last = e;
                continue;
            }
            let widest = BOUNDS.iter().find_map(|b| Some((b, attempt(*b).ok()?)));
            let Some((&(span, around), fitted)) = widest else { continue };
            if fitted.shape != shape {
                changes.push(format!(
                    "repeats are bounded: at most {span} more than their least in the secret, {around} around it"
                ));
            }
            if shape::is_lazy(&fitted.shape.span) {
                changes.push("the longest match is taken where the expression asks for the shortest".to_owned());
            }
            return Ok(fitted);
        }
        let mend = if last.contains("explodes") && shape::is_lazy(&shape.span) {
            "write it by hand as a region with an end, or see whether a built-in rule finds it (forebay rules list)"
        } else if last.contains("too slow") || last.contains("literal words") {
            "write it by hand with a keyword in front of it, or see whether a built-in rule finds it (forebay rules list)"
        } else {
            "shorten its repeats, or write it by hand"
        };
        Err(Refused::new(last, mend))
    }
}

/// What all tables of a rule have: checks and what is let through.
fn rest(rule: &Rule, reach: Option<usize>, changes: &mut Vec<String>) -> String {
    let mut out = String::new();
    if rule.entropy > 0.0 {
        // gitleaks wants more than the limit, the check at least so much.
        out.push_str(&format!("checks = [\"entropy>={}\"]\n", rule.entropy + 1e-6));
    }
    let before = reach.unwrap_or(allow::MAX_BEFORE).min(allow::MAX_BEFORE);
    let entries: Vec<String> = rule.allowlists.iter().filter_map(|a| allowlist::entry(a, before, changes)).collect();
    if !entries.is_empty() {
        out.push_str(&format!("allow = [\n    {},\n]\n", entries.join(",\n    ")));
    }
    out
}

fn bound(s: &Shape, (span, around): (u32, u32), every: bool) -> Shape {
    Shape {
        pre: shape::bound(&s.pre, around, every),
        span: shape::bound(&s.span, span, every),
        post: shape::bound(&s.post, around, every),
    }
}

/// Which shapes need a keyword near them, because they do not hold one themselves.
fn gate(shapes: &[Shape], keywords: &[String]) -> Vec<(Shape, bool)> {
    let implied = |s: &Shape| {
        let whole = Hir::concat(vec![s.pre.clone(), s.span.clone(), s.post.clone()]);
        keywords.is_empty() || keywords.iter().any(String::is_empty) || shape::implies(&whole, keywords)
    };
    let mut out = Vec::new();
    for s in shapes {
        let parts = if implied(s) { vec![s.clone()] } else { shape::alternatives(s) };
        if parts.iter().any(&implied) {
            out.extend(parts.into_iter().map(|p| (!implied(&p), p)).map(|(g, p)| (p, g)));
        } else {
            out.push((s.clone(), true));
        }
    }
    out
}

/// Compiles tables of a pack as the engine does with any.
pub(super) fn compiled(head: &str, tables: &str) -> Result<Bench, String> {
    let text = format!("{head}[pack]\nname = \"import\"\n\n{tables}");
    let bench = Pack::parse(&text, "import").and_then(Bench::all);
    // The rule's name is in front, and is told anyway.
    bench.map_err(|e| e.what.split_once("`: ").map_or(e.what.as_str(), |(_, what)| what).to_owned())
}

/// A rule of a pack, as TOML.
fn table(rule: &Rule, id: &str, shape: &Shape, gated: bool, rest: &str) -> String {
    let line = rule.description.lines().next().unwrap_or_default();
    let title: String = line.chars().filter(|c| !c.is_control()).collect();
    let title = cut_behind(&title, MAX_TITLE);
    let title = if title.is_empty() { &rule.id } else { &title };
    let pattern = format!("{}(?P<span>{}){}", spell(&shape.pre), spell(&shape.span), spell(&shape.post));
    let label: String = rule.id.chars().filter(char::is_ascii_alphanumeric).take(48).collect();
    let label = if label.is_empty() { "SECRET".to_owned() } else { label.to_ascii_uppercase() };
    let (id, title, pattern) = (quoted(id), quoted(title), quoted(&pattern));
    let mut out = format!("[[rule]]\nid = {id}\nfamily = \"secret\"\ntitle = {title}\npattern = {pattern}\n");
    if gated {
        out.push_str(&format!("nearby = {{ words = {}, within = {} }}\n", list(&words(rule)), Nearby::MAX_WITHIN));
    }
    out.push_str(rest);
    out.push_str(&format!("severity = \"high\"\ntoken = \"{label}\"\n"));
    out
}

/// The examples of a rule, as TOML.
fn examples(f: &Fitted) -> String {
    let line = |key: &str, texts: &[String]| {
        if texts.is_empty() { String::new() } else { format!("{key} = {}\n", list(texts)) }
    };
    line("match", &f.matches) + &line("no_match", &f.no_matches)
}

/// The keywords, without what packs read as the edge of a word.
fn words(rule: &Rule) -> Vec<String> {
    let bare = |k: &String| k.trim_start_matches('<').trim_end_matches('>').to_owned();
    rule.keywords.iter().map(bare).filter(|k| !k.is_empty()).collect()
}

/// Draws texts, asks both, and keeps those on which they agree. A rule that is never found is not taken.
fn prove(
    rule: &Rule,
    hir: &Hir,
    original: &Original,
    fitted: &mut [Fitted],
    changes: &mut Vec<String>,
) -> Result<(), Refused> {
    let gated = fitted.iter().any(|f| f.gated);
    let word = if gated { words(rule).first().cloned() } else { None };
    let (mut drawn, mut agreed, mut found) = (0, 0, 0);
    let whole = shape::strip(hir);
    for n in 0..DRAWS {
        let mut text = word.as_ref().map_or(Vec::new(), |w| format!("{w}\n").into_bytes());
        draw::draw(&whole, &mut Seed::new(n), &mut text);
        if n % 2 == 0 {
            text.push(b'\n');
        }
        let Some(secret) = original.secrets(&text).first().cloned() else { continue };
        drawn += 1;
        let here: Vec<(usize, Vec<Range<usize>>)> =
            fitted.iter_mut().map(|f| f.bench.spans(&text)).enumerate().collect();
        found += usize::from(here.iter().any(|(_, s)| s.iter().any(|s| s.start < secret.end && secret.start < s.end)));
        let Some((which, _)) = here.into_iter().find(|(_, spans)| spans.contains(&secret)) else { continue };
        agreed += 1;
        let fitted = &mut fitted[which];
        if fitted.matches.len() < EXAMPLES {
            fitted.matches.extend(draw::example(&text, &secret));
            fitted.miss(original, text, secret);
        }
    }
    if drawn == 0 {
        let what = "no text could be drawn that it matches, so it cannot be shown to work";
        return Err(Refused::new(what, "see whether its entropy and allowlists leave anything, or write it by hand"));
    }
    if found == 0 {
        return Err(Refused::new("the engine finds none of the texts that it matches", "write it by hand"));
    }
    if found < drawn {
        changes.push(format!("of {drawn} texts drawn from it {found} are found"));
    }
    if agreed < found {
        changes
            .push(format!("of {found} texts that are found {agreed} have the same span, the others one that overlaps"));
    }
    if gated {
        let n = Nearby::MAX_WITHIN;
        changes.push(format!("a keyword must stand in the {n} bytes before the secret, not anywhere in the file"));
    }
    Ok(())
}

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

pub(super) fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|t| quoted(t)).collect::<Vec<_>>().join(", "))
}
