//! From one expression with groups to what stands before a secret, the secret, and what stands behind it.
//!
//! A gitleaks rule names its secret by a group, anywhere in the expression; a Forebay rule is PRE, span and POST in a
//! row. So the group is hoisted: an alternation around it becomes several shapes. What does not change whether a span
//! matches is then cut away: an optional run at the outer end of PRE or POST is satisfied by nothing.
//!
//! It is *not* where repeats without a bound get one: see [`bound`], which the caller tries with falling bounds.

use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, HirKind, Look, Repetition};

/// Most shapes of one expression. An expression of alternations of alternations multiplies.
const MAX_SHAPES: usize = 64;

/// PRE, span and POST.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    /// What stands before.
    pub(super) pre: Hir,
    /// The secret.
    pub(super) span: Hir,
    /// What stands behind.
    pub(super) post: Hir,
}

/// How gitleaks chooses the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secret {
    /// The first group that is not empty; the whole match if there is none.
    First,
    /// The group of this number.
    Group(u32),
}

/// The shapes of an expression.
#[derive(Debug)]
pub(super) struct Shapes {
    pub(super) all: Vec<Shape>,
    /// A group was left aside because it stands inside a repeat.
    pub(super) repeated: bool,
    /// How far a match can begin before its secret, in bytes; `None` without bound.
    pub(super) reach: Option<usize>,
}

/// Hoists the secret.
pub(super) fn shapes(h: &Hir, secret: Secret) -> Result<Shapes, String> {
    let kept = keep(h, secret);
    if repeats(&kept) {
        return Ok(Shapes { all: vec![whole(&strip(h))], repeated: true, reach: Some(0) });
    }
    let mut out: Vec<Shape> = Vec::new();
    let mut reach = Some(0);
    for o in options(&kept)? {
        let shape = match o.span {
            Some(span) => {
                let pre = Hir::concat(o.pre);
                reach = reach.zip(pre.properties().maximum_len()).map(|(a, b)| a.max(b));
                Shape { pre, span, post: Hir::concat(o.post) }
            }
            None if secret == Secret::First => whole(&Hir::concat(o.pre)),
            // gitleaks takes an empty text for the secret there.
            None => continue,
        };
        let shape = tidy(shape);
        match out.iter_mut().find(|s| s.pre == shape.pre && s.post == shape.post) {
            Some(same) => same.span = Hir::alternation(vec![same.span.clone(), shape.span]),
            None => out.push(shape),
        }
    }
    if out.is_empty() {
        return Err("no match can have the group of `secretGroup`".into());
    }
    Ok(Shapes { all: out, repeated: false, reach })
}

/// The expression without groups that do not count.
fn keep(h: &Hir, secret: Secret) -> Hir {
    match h.kind() {
        HirKind::Capture(c) if secret == Secret::First || secret == Secret::Group(c.index) => h.clone(),
        _ => rebuild(h, &|h| keep(h, secret)),
    }
}

/// The expression without groups.
pub(super) fn strip(h: &Hir) -> Hir {
    rebuild(h, &strip)
}

fn rebuild(h: &Hir, f: &impl Fn(&Hir) -> Hir) -> Hir {
    match h.kind() {
        HirKind::Capture(c) => f(&c.sub),
        HirKind::Repetition(r) => Hir::repetition(Repetition { sub: Box::new(f(&r.sub)), ..r.clone() }),
        HirKind::Concat(items) => Hir::concat(items.iter().map(f).collect()),
        HirKind::Alternation(items) => Hir::alternation(items.iter().map(f).collect()),
        _ => h.clone(),
    }
}

fn has_group(h: &Hir) -> bool {
    h.properties().explicit_captures_len() > 0
}

/// Whether a group stands inside a repeat: it is set to the last turn only, which is no secret anyone means.
fn repeats(h: &Hir) -> bool {
    match h.kind() {
        HirKind::Capture(_) => false,
        HirKind::Repetition(r) => has_group(&r.sub) && (r.max != Some(1) || repeats(&r.sub)),
        HirKind::Concat(items) | HirKind::Alternation(items) => items.iter().any(repeats),
        _ => false,
    }
}

/// One way through the alternations.
#[derive(Clone, Default)]
struct Way {
    pre: Vec<Hir>,
    span: Option<Hir>,
    post: Vec<Hir>,
}

fn options(h: &Hir) -> Result<Vec<Way>, String> {
    let plain = |h: Hir| vec![Way { pre: vec![h], ..Way::default() }];
    if !has_group(h) {
        return Ok(plain(h.clone()));
    }
    let ways = match h.kind() {
        HirKind::Capture(c) => {
            let sub = strip(&c.sub);
            let filled = not_empty(&sub);
            let mut ways = vec![Way { span: Some(filled.clone()), ..Way::default() }];
            if filled != sub {
                ways.extend(plain(Hir::empty()));
            }
            ways
        }
        HirKind::Repetition(r) => {
            let mut ways = options(&r.sub)?;
            if r.min == 0 {
                ways.extend(plain(Hir::empty()));
            }
            ways
        }
        HirKind::Alternation(items) => {
            let mut ways = Vec::new();
            for i in items {
                ways.extend(options(i)?);
            }
            ways
        }
        HirKind::Concat(items) => {
            let mut ways = vec![Way::default()];
            for i in items {
                let here = options(i)?;
                let mut next = Vec::new();
                for w in ways {
                    if w.span.is_some() {
                        // The first group is the secret; what follows it is POST.
                        next.push(Way { post: [w.post.as_slice(), &[strip(i)]].concat(), ..w });
                        continue;
                    }
                    for o in &here {
                        let pre = [w.pre.as_slice(), &o.pre].concat();
                        next.push(Way { pre, span: o.span.clone(), post: o.post.clone() });
                    }
                }
                ways = next;
                if ways.len() > MAX_SHAPES {
                    break;
                }
            }
            ways
        }
        _ => plain(h.clone()),
    };
    if ways.len() > MAX_SHAPES {
        return Err(format!("its groups can be filled in more than {MAX_SHAPES} ways"));
    }
    Ok(ways)
}

/// The expression without the empty text, where that is easily said.
fn not_empty(h: &Hir) -> Hir {
    match h.kind() {
        HirKind::Repetition(r) if r.min == 0 && r.max != Some(0) => Hir::repetition(Repetition { min: 1, ..r.clone() }),
        HirKind::Alternation(items) => {
            let empty = |h: &&Hir| !matches!(h.kind(), HirKind::Empty);
            Hir::alternation(items.iter().filter(empty).map(not_empty).collect())
        }
        _ => h.clone(),
    }
}

fn whole(h: &Hir) -> Shape {
    tidy(Shape { pre: Hir::empty(), span: h.clone(), post: Hir::empty() })
}

fn items(h: &Hir) -> Vec<Hir> {
    match h.kind() {
        HirKind::Concat(items) => items.clone(),
        HirKind::Empty => Vec::new(),
        _ => vec![h.clone()],
    }
}

/// Looks at the span's edges go to PRE and POST; outer ends that nothing satisfies too are cut; a word boundary in front
/// becomes the byte that it means.
fn tidy(s: Shape) -> Shape {
    let (mut pre, mut span, mut post) = (items(&s.pre), items(&s.span), items(&s.post));
    let look = |h: &Hir| matches!(h.kind(), HirKind::Look(_));
    while span.first().is_some_and(look) {
        pre.push(span.remove(0));
    }
    while span.last().is_some_and(look) {
        post.insert(0, span.remove(span.len() - 1));
    }
    pre.dedup_by(|a, b| look(a) && a == b);
    post.dedup_by(|a, b| look(a) && a == b);
    let pre = Hir::concat(pre.iter().map(lines).collect());
    let pre = items(&trim(&pre, false));
    let span = Hir::concat(span.iter().map(lines).collect());
    let pre = guard(pre, &span);
    Shape { pre: Hir::concat(pre), span, post: trim(&Hir::concat(post), true) }
}

/// The start of the text becomes the start of a line: a stream has no other, and a hunk of a diff is one.
fn lines(h: &Hir) -> Hir {
    match h.kind() {
        HirKind::Look(Look::Start) => Hir::look(Look::StartLF),
        _ => rebuild(h, &lines),
    }
}

/// Whether the start of the text is asked for.
pub(super) fn asks_for_start(h: &Hir) -> bool {
    h.properties().look_set().contains(Look::Start)
}

/// Cuts optional repeats from one end: whether something matches there does not depend on them.
fn trim(h: &Hir, end: bool) -> Hir {
    match h.kind() {
        HirKind::Repetition(r) if r.min == 0 => Hir::empty(),
        HirKind::Repetition(r) => Hir::repetition(Repetition { max: Some(r.min), ..r.clone() }),
        HirKind::Alternation(items) => {
            let items: Vec<Hir> = items.iter().map(|i| trim(i, end)).collect();
            if items.iter().any(|i| matches!(i.kind(), HirKind::Empty)) {
                Hir::empty()
            } else {
                Hir::alternation(items)
            }
        }
        HirKind::Concat(items) => {
            let mut items = items.clone();
            while !items.is_empty() {
                let at = if end { items.len() - 1 } else { 0 };
                let cut = trim(&items[at], end);
                if !matches!(cut.kind(), HirKind::Empty) {
                    items[at] = cut;
                    break;
                }
                items.remove(at);
            }
            Hir::concat(items)
        }
        _ => h.clone(),
    }
}

/// `\b` in front of text that begins with word bytes only is a byte that is none: then a match cannot begin inside
/// another, which the engine wants to know.
fn guard(mut pre: Vec<Hir>, span: &Hir) -> Vec<Hir> {
    if !matches!(pre.first().map(Hir::kind), Some(HirKind::Look(Look::WordAscii))) {
        return pre;
    }
    let rest = Hir::concat([&pre[1..], std::slice::from_ref(span)].concat());
    let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    match first_bytes(&rest) {
        Some(f) if f.iter().all(word) => pre[0] = class(|b| !word(&b)),
        Some(f) if !f.iter().any(word) => pre[0] = class(|b| word(&b)),
        _ => {}
    }
    pre
}

fn class(has: impl Fn(u8) -> bool) -> Hir {
    let ranges = (0..=255).filter(|b| has(*b)).map(|b| ClassBytesRange::new(b, b));
    Hir::class(Class::Bytes(ClassBytes::new(ranges)))
}

/// The bytes that a match can begin with; `None` if that is not plain to see.
fn first_bytes(h: &Hir) -> Option<Vec<u8>> {
    match h.kind() {
        HirKind::Literal(l) => Some(vec![*l.0.first()?]),
        HirKind::Class(Class::Bytes(c)) => Some(c.ranges().iter().flat_map(|r| r.start()..=r.end()).collect()),
        HirKind::Repetition(r) if r.min > 0 => first_bytes(&r.sub),
        HirKind::Concat(items) => first_bytes(items.first()?),
        HirKind::Alternation(items) => {
            let mut all = Vec::new();
            for i in items {
                all.extend(first_bytes(i)?);
            }
            Some(all)
        }
        _ => None,
    }
}

/// Gives every repeat at most `more` turns beyond its least: those without a bound, or `every` one.
pub(super) fn bound(h: &Hir, more: u32, every: bool) -> Hir {
    match h.kind() {
        HirKind::Repetition(r) => {
            let most = r.min.saturating_add(more);
            let max = match r.max {
                Some(m) if !every || m <= most => m,
                _ => most,
            };
            Hir::repetition(Repetition { max: Some(max), sub: Box::new(bound(&r.sub, more, every)), ..r.clone() })
        }
        _ => rebuild(h, &|h| bound(h, more, every)),
    }
}

/// Whether some repeat is lazy and of no fixed length.
pub(super) fn is_lazy(h: &Hir) -> bool {
    match h.kind() {
        HirKind::Repetition(r) => !r.greedy && r.max != Some(r.min) || is_lazy(&r.sub),
        HirKind::Concat(items) | HirKind::Alternation(items) => items.iter().any(is_lazy),
        HirKind::Capture(c) => is_lazy(&c.sub),
        _ => false,
    }
}

/// Whether every match holds one of `words`, which are in small letters, in any case. `.` is taken for a full stop: in
/// a name such as `hooks.example.com` its author meant one, and the keyword has one.
pub(super) fn implies(h: &Hir, words: &[String]) -> bool {
    holds(&fold(h), words)
}

fn holds(h: &Hir, words: &[String]) -> bool {
    let has =
        |text: &[u8]| words.iter().any(|w| text.len() >= w.len() && text.windows(w.len()).any(|t| t == w.as_bytes()));
    let begins = |h: &Hir| {
        let seq = Extractor::new().kind(ExtractKind::Prefix).limit_total(4096).extract(h);
        seq.literals().is_some_and(|l| !l.is_empty() && l.iter().all(|l| has(l.as_bytes())))
    };
    match h.kind() {
        HirKind::Concat(items) => {
            (0..items.len()).any(|i| begins(&Hir::concat(items[i..].to_vec()))) || items.iter().any(|i| holds(i, words))
        }
        HirKind::Alternation(items) => begins(h) || items.iter().all(|i| holds(i, words)),
        HirKind::Repetition(r) => r.min > 0 && holds(&r.sub, words),
        HirKind::Literal(l) => has(&l.0),
        _ => false,
    }
}

/// The expression with small letters only.
fn fold(h: &Hir) -> Hir {
    match h.kind() {
        HirKind::Literal(l) => Hir::literal(l.0.to_ascii_lowercase()),
        HirKind::Class(Class::Bytes(c)) => {
            let bytes = || c.ranges().iter().flat_map(|r| r.start()..=r.end());
            if bytes().count() >= 255 {
                return Hir::literal(*b".");
            }
            let small = bytes().map(|b| b.to_ascii_lowercase()).map(|b| ClassBytesRange::new(b, b));
            Hir::class(Class::Bytes(ClassBytes::new(small)))
        }
        _ => rebuild(h, &fold),
    }
}

/// The shape's alternatives one by one, if its span is an alternation.
pub(super) fn alternatives(s: &Shape) -> Vec<Shape> {
    match s.span.kind() {
        HirKind::Alternation(items) => items.iter().map(|i| tidy(Shape { span: i.clone(), ..s.clone() })).collect(),
        _ => vec![s.clone()],
    }
}
