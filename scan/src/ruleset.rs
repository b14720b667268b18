//! A compiled set of rules: immutable, shared by `Arc`, made once.
//!
//! Rules are gathered into *groups* that run one forward automaton each: a literal rule is a group of its own, class
//! rules share buckets (acting and reporting ones apart, so that a rule that only reports never holds a byte). What
//! holds bytes before any literal was seen is one more automaton, run backwards from the end of the input: the
//! *probe*, over every proper prefix of the acting rules' literals and heads.

use std::collections::HashMap;
use std::sync::Arc;

use regex_syntax::hir::{Hir, Repetition};

use crate::allow::Allow;
use crate::candidates::{Backend, Candidates, Needle, Spelling};
use crate::checks::Check;
use crate::classes::{self, ClassRule, Triggers};
use crate::dfa::{Dfa, LazyDfa, State};
use crate::error::LoadError;
use crate::exact::{ExactBytes, ExactSpec};
use crate::finding::{Action, Family, RuleId, Severity};
use crate::literals::{self, LiteralSet};
use crate::nearby::{Gate, ListId, NearbyBuilder, NearbyWords};
use crate::pack::{Pack, RuleSpec, What};
use crate::pattern;
use crate::plan::{Anchor, Key, Plan, Want, any_byte, concat};
use crate::profile::Profile;
use crate::shape::{ByteSet, Shape};
use crate::trackers::{self, TrackerSpec};

/// Most rules in a set. Ten times what the largest public packs hold; a file with more is an attack on memory.
pub const MAX_RULES: usize = 8192;

/// What the outside may know of a rule in a set.
#[derive(Clone, Debug)]
pub struct RuleInfo {
    /// Full name, `family.id`.
    pub name: String,
    /// The family.
    pub family: Family,
    /// One line for people.
    pub title: String,
    /// How bad a match is.
    pub severity: Severity,
    /// What is done with a match under the set's profile.
    pub action: Action,
    /// Which label wins when spans overlap: higher first.
    pub priority: u32,
    /// The label of its tokens.
    pub token: String,
    /// What the engine does with it, in words.
    pub engine: String,
}

/// Rules, compiled for one profile.
#[derive(Debug)]
pub struct RuleSet {
    pub(crate) info: Vec<RuleInfo>,
    pub(crate) members: Vec<Member>,
    pub(crate) groups: Vec<Group>,
    candidates: Box<dyn Candidates>,
    backend: Backend,
    pub(crate) literals: Vec<Literal>,
    pub(crate) gives: Vec<GivesAway>,
    /// Sets of bytes that stand around literals; the first one has all bytes.
    sets: Vec<ByteSet>,
    pub(crate) triggers: Triggers,
    pub(crate) probes: Vec<Probe>,
    pub(crate) endings: Endings,
    pub(crate) trackers: Vec<TrackerUse>,
    pub(crate) words: NearbyWords,
    /// Bytes of released text that are kept to look back at.
    pub(crate) history: usize,
    profile: String,
    fingerprint: [u8; 32],
}

/// What settles a match of one rule.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) rule: RuleId,
    /// The pattern or mark of the group's automaton that tells where BODY ends.
    pub(crate) ends: u16,
    pub(crate) post: Option<Arc<LazyDfa>>,
    pub(crate) checks: Vec<Check>,
    /// What is let through all the same.
    pub(crate) allow: Vec<Arc<Allow>>,
    pub(crate) gate: Gate,
    /// For regions: what follows BEGIN.
    pub(crate) region: Option<Dfa>,
}

/// Rules that share a forward automaton.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) forward: Arc<LazyDfa>,
    /// What stands before the span of a keyed rule.
    pub(crate) key: Option<KeyRun>,
    /// Guard and head of an inner literal, reversed.
    pub(crate) head: Option<LazyDfa>,
    /// Indices into `members`, in the order of the automaton's patterns.
    pub(crate) members: Vec<usize>,
    /// What nearby words have a say in; `None` if no member asks for any.
    pub(crate) asks: Option<Asks>,
    pub(crate) acting: bool,
    /// Shortest span of any member, in bytes.
    pub(crate) least: u64,
    /// Literals inside longer ones, see [`literals::nested`].
    pub(crate) nested: Vec<(Vec<u8>, u64)>,
}

/// Which members of a group may begin where, as bits.
#[derive(Debug)]
pub(crate) struct Asks {
    /// None may where no early word stands.
    pub(crate) needs_word: bool,
    /// Members that may anywhere.
    pub(crate) free: u64,
    /// By list of early words, the members that may where it has one.
    pub(crate) opened_by: Vec<u64>,
    /// Members that ask for more than that.
    pub(crate) others: Vec<(u32, Gate)>,
    /// The gates of all members that have one.
    gates: Vec<Gate>,
}

impl Asks {
    /// `early`: words that must stand there are noted before anything asks.
    fn of(gates: impl ExactSizeIterator<Item = Gate> + Clone, early: bool) -> Option<Asks> {
        let all = (0u32..).zip(gates);
        if !all.clone().any(|(_, g)| g.asks()) {
            return None;
        }
        let is_early = |g: &Gate| early && g.nearby.is_some();
        let mut opened_by = Vec::new();
        for (bit, gate) in all.clone().filter(|(_, g)| is_early(g)) {
            let list = gate.nearby.map_or(0, ListId::index);
            opened_by.resize(opened_by.len().max(list + 1), 0);
            opened_by[list] |= 1 << bit;
        }
        Some(Asks {
            needs_word: all.clone().all(|(_, g)| is_early(&g)),
            free: all.clone().filter(|(_, g)| !g.asks()).fold(0, |free, (bit, _)| free | 1 << bit),
            opened_by,
            others: all.clone().filter(|(_, g)| g.asks() && (!is_early(g) || g.unless.is_some())).collect(),
            gates: all.map(|(_, g)| g).filter(|g| g.asks()).collect(),
        })
    }
}

/// PRE of a keyed rule: an automaton, and where it starts.
#[derive(Debug)]
pub(crate) struct KeyRun {
    pub(crate) dfa: Arc<LazyDfa>,
    /// `None`: at the guard, one byte before the literal. Else at the literal's last byte, if the byte before the
    /// literal is one of these.
    pub(crate) guard: Option<ByteSet>,
}

/// What acting rules hold before their literal was seen: guard and prefixes, reversed.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) dfa: Dfa,
    /// The member of each pattern.
    pub(crate) members: Vec<u32>,
    /// The literals that give each pattern's rule away.
    pub(crate) literals: Vec<Arc<LiteralSet>>,
    /// All of them need a nearby word.
    pub(crate) gated: bool,
    /// For an automaton too large for the near caches: see [`Dfa::triples`].
    triples: Option<Box<[u64; 512]>>,
}

impl Probe {
    /// Whether it may find something in `text`, by its last three bytes.
    pub(crate) fn may_find(&self, text: &[u8]) -> bool {
        let (Some(triples), [.., c, b, a]) = (&self.triples, text) else { return true };
        let [a, b, c] = [a, b, c].map(|b| usize::from(b & 31));
        triples[a << 4 | b >> 1] >> (32 * (b & 1) + c) & 1 != 0
    }
}

/// Which probes an input's end needs: a bit for each of the first 64.
#[derive(Debug)]
pub(crate) struct Endings {
    /// By the input's last byte, and the one before.
    last: [u64; 256],
    before: [u64; 256],
    /// By a byte that stands in what is found.
    within: [u64; 256],
}

impl Endings {
    fn of(probes: &[Probe]) -> Endings {
        let mut out = Endings { last: [0; 256], before: [0; 256], within: [0; 256] };
        for (i, p) in probes.iter().enumerate().take(64) {
            // What a probe finds is at least two bytes long: something that is held, and a guard.
            let held = (0..=255).map(|b| (b, p.dfa.next(p.dfa.start(), b))).filter(|(_, q)| p.dfa.is_alive(*q));
            let first: Vec<State> =
                held.inspect(|(b, _)| out.last[usize::from(*b)] |= 1 << i).map(|(_, q)| q).collect();
            p.dfa.step(&first, |b| out.before[usize::from(b)] |= 1 << i);
            // The last byte that it reads is the guard's.
            let within = p.dfa.bytes_within();
            (0..=255u8).filter(|b| within.has(*b)).for_each(|b| out.within[usize::from(b)] |= 1 << i);
        }
        out
    }

    /// Those that may find something in `text`.
    pub(crate) fn probes(&self, text: &[u8]) -> u64 {
        let [.., before, last] = *text else { return u64::MAX };
        self.last[usize::from(last)] & self.before[usize::from(before)]
    }

    /// Those of `probes` that may find something that begins with `text`, the input's end, or before.
    pub(crate) fn beyond(&self, mut probes: u64, text: &[u8]) -> u64 {
        for b in text.iter().rev() {
            probes &= self.within[usize::from(*b)];
            if probes == 0 {
                break;
            }
        }
        probes
    }
}

/// A literal of the candidate stage.
#[derive(Debug)]
pub(crate) struct Literal {
    pub(crate) len: usize,
    /// The groups it may give away: indices into [`RuleSet::gives`].
    pub(crate) gives: std::ops::Range<u32>,
    /// The nearby word that it is.
    pub(crate) word: Option<u32>,
}

/// How many bytes behind a literal are looked at.
const BEHIND: usize = 6;

/// A group that a literal gives away, and what must stand around the literal: indices into [`RuleSet::sets`].
#[derive(Debug)]
pub(crate) struct GivesAway {
    pub(crate) group: u32,
    guard: u16,
    behind: [u16; BEHIND],
}

/// A tracker in use.
#[derive(Debug)]
pub(crate) struct TrackerUse {
    pub(crate) spec: Arc<dyn TrackerSpec>,
    pub(crate) rules: Vec<RuleId>,
    pub(crate) acting: bool,
}

impl RuleSet {
    /// Compiles packs for a profile, with the default backend. Rules whose action is `allow` are left out.
    pub fn compile(packs: &[Pack], profile: &Profile) -> Result<Arc<RuleSet>, LoadError> {
        RuleSet::compile_with(packs, profile, Backend::default())
    }

    /// The same with a backend of choice. One that this build does not have is an error.
    pub fn compile_with(packs: &[Pack], profile: &Profile, backend: Backend) -> Result<Arc<RuleSet>, LoadError> {
        let specs: Vec<(bool, &RuleSpec)> = packs.iter().flat_map(|p| p.rules.iter().map(|r| (p.builds, r))).collect();
        check_profile(&specs, profile)?;
        let mut c = Compiler::default();
        let mut hash = blake3::Hasher::new();
        for (builds, spec) in specs {
            c.lazy = builds;
            let action = profile.action_of(spec);
            if action == Action::Allow {
                continue;
            }
            hash.update(format!("{spec:?} {action:?}").as_bytes());
            c.add(spec, action).map_err(|e| {
                LoadError::at(&spec.origin, format!("rule `{}`: {e}", spec.name), "see `forebay rules explain`")
            })?;
        }
        if c.info.len() - c.exact.len() > MAX_RULES {
            return Err(LoadError::at(&profile.origin, format!("more than {MAX_RULES} rules"), "use fewer packs"));
        }
        let words = std::mem::take(&mut c.words).build(|text, guard, word| {
            // Its edges are looked at from the span that asks.
            c.history = c.history.max(text.len() + 1);
            let at = c.literal(text);
            c.literals[at].word = Some((word, guard));
        });
        let whole = |e| LoadError::at(&profile.origin, e, "use fewer rules");
        let (groups, mut triggers) = c.class_buckets().map_err(whole)?;
        triggers.opened_by = words.opens(&gates_of(&triggers, &groups));
        let trackers = c.build_trackers()?;
        let probes = c.probes().map_err(whole)?;
        let endings = Endings::of(&probes);
        let candidates = backend.prepare(c.needles(), &profile.origin)?;
        let mut gives = Vec::new();
        let literals: Vec<Literal> = std::mem::take(&mut c.literals)
            .into_iter()
            .map(|l| {
                let from = gives.len() as u32;
                gives.extend(l.gives);
                let word = l.word.map(|(word, _)| word);
                Literal { len: l.spelling.len(), gives: from..gives.len() as u32, word }
            })
            .collect();
        Ok(Arc::new(RuleSet {
            candidates,
            backend,
            info: c.info,
            members: c.members,
            groups,
            literals,
            gives,
            sets: c.sets,
            triggers,
            probes,
            endings,
            trackers,
            words,
            history: c.history,
            profile: profile.name.clone(),
            fingerprint: *hash.finalize().as_bytes(),
        }))
    }

    /// The built-in packs under a built-in profile, or `None` if there is no such profile.
    pub fn builtin(profile: &str) -> Option<Result<Arc<RuleSet>, LoadError>> {
        let profile = Profile::builtin(profile)?;
        let packs: Result<Vec<Pack>, LoadError> =
            Pack::builtin_sources().iter().filter_map(|(n, _)| Pack::builtin(n)).collect();
        Some(packs.and_then(|packs| RuleSet::compile(&packs, &profile)))
    }

    /// What is known of a rule. `None` if the id belongs to another set.
    pub fn rule(&self, id: RuleId) -> Option<&RuleInfo> {
        self.info.get(id.0 as usize)
    }

    /// Every rule of the set, in id order.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = (RuleId, &RuleInfo)> {
        self.info.iter().enumerate().map(|(i, r)| (RuleId(i as u32), r))
    }

    /// The profile's name.
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// What searches for the set's literals.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// BLAKE3 over the rules and their actions: two sets with the same fingerprint find the same things, but for exact
    /// values, of which only the names count: a fingerprint leaves the host, and must not serve to test guesses.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Builds what waits for its first candidate. Without it the first text that looks like a match of a rule pays for
    /// its automaton, a millisecond or so: fine for a command, not for a service that has promised a latency.
    pub fn warm(&self) {
        for g in &self.groups {
            let _ = (g.forward.states(), g.key.as_ref().map(|k| k.dfa.states()), g.head.as_ref().map(|h| h.states()));
        }
        self.members.iter().filter_map(|m| m.post.as_ref()).for_each(|p| {
            p.states();
        });
    }

    /// Memory of the automata, in bytes; shared by all streams. Builds those that wait.
    pub fn automata_bytes(&self) -> usize {
        let mut seen = std::collections::BTreeSet::new();
        let mut shared = |d: &Arc<LazyDfa>| if seen.insert(Arc::as_ptr(d)) { d.bytes() } else { 0 };
        let mut total = 0;
        for g in &self.groups {
            total += shared(&g.forward) + g.key.as_ref().map_or(0, |k| shared(&k.dfa));
            total += g.head.as_ref().map_or(0, |h| h.bytes());
        }
        for m in &self.members {
            total += m.post.as_ref().map_or(0, &mut shared) + m.region.as_ref().map_or(0, Dfa::bytes);
        }
        total += self.trackers.iter().map(|t| t.spec.bytes()).sum::<usize>();
        total + self.probes.iter().map(|p| p.dfa.bytes()).sum::<usize>()
    }
}

/// The gates of the buckets' rules, each with its bucket's bit.
fn gates_of(triggers: &Triggers, groups: &[Group]) -> Vec<(u32, Gate)> {
    let of = |(bucket, group): (usize, &u32)| {
        let asks = groups[*group as usize].asks.iter().flat_map(|a| &a.gates);
        asks.map(move |gate| (1 << bucket, *gate))
    };
    triggers.groups.iter().enumerate().flat_map(of).collect()
}

/// A profile that names a rule which does not exist hides a mistake: the rule it meant keeps its old action.
fn check_profile(specs: &[(bool, &RuleSpec)], profile: &Profile) -> Result<(), LoadError> {
    let mut seen = std::collections::BTreeMap::new();
    for (_, s) in specs {
        if let Some(first) = seen.insert(&s.name, &s.origin) {
            let what = format!("rule `{}` is defined twice (first at {first})", s.name);
            return Err(LoadError::at(&s.origin, what, "rename one of them or leave out one pack"));
        }
    }
    match profile.rules.keys().find(|n| !seen.contains_key(n)) {
        None => Ok(()),
        Some(n) => Err(LoadError::at(
            &profile.place(n),
            format!("the profile sets an action for `{n}`, and no pack has such a rule"),
            "see `forebay rules list` for the names",
        )),
    }
}

/// A rule of a tracker: id, options, place.
type Tracked = (RuleId, toml::Table, String);

/// A literal, what it gives away, and the nearby word that it is, with what may stand before that.
struct Known {
    spelling: Spelling,
    gives: Vec<GivesAway>,
    word: Option<(u32, ByteSet)>,
}

#[derive(Default)]
struct Compiler {
    info: Vec<RuleInfo>,
    members: Vec<Member>,
    groups: Vec<Group>,
    literals: Vec<Known>,
    /// Class rules that wait for their bucket.
    class: Vec<ClassRule>,
    literal_index: HashMap<Spelling, usize>,
    sets: Vec<ByteSet>,
    set_index: HashMap<ByteSet, u16>,
    words: NearbyBuilder,
    /// The pack at hand is known to build.
    lazy: bool,
    /// What acting rules hold before their literal is seen.
    prefixes: Vec<(u32, Arc<LiteralSet>, Hir)>,
    /// The same for rules with a head in front of their literal.
    heads: Vec<(u32, Arc<LiteralSet>, Hir)>,
    /// Trackers by name, with the rules that name them.
    tracked: Vec<(String, Vec<Tracked>)>,
    exact: Vec<(RuleId, ExactBytes)>,
    history: usize,
}

impl Compiler {
    fn add(&mut self, spec: &RuleSpec, action: Action) -> Result<(), String> {
        let rule = RuleId(self.info.len() as u32);
        let engine = match &spec.what {
            What::Pattern(p) => self.add_pattern(spec, rule, action, p, None)?,
            What::Region { begin, inside, end } => {
                let (inside, end) = (pattern::parse(inside)?, pattern::parse(end)?);
                pattern::bounded(&inside, "one unit of the region's inside", pattern::MAX_CONTEXT)?;
                pattern::bounded(&end, "the region's end", pattern::MAX_CONTEXT)?;
                if inside.properties().minimum_len() == Some(0) {
                    return Err("one unit of the region's inside can be empty".into());
                }
                let units = Hir::repetition(Repetition { min: 0, max: None, greedy: true, sub: Box::new(inside) });
                let end = Hir::repetition(Repetition { min: 0, max: Some(1), greedy: true, sub: Box::new(end) });
                let rest = Dfa::new(concat([any_byte(), units, end]))?;
                // Of a region that blocks only BEGIN matters: nothing from there on is released.
                self.add_pattern(spec, rule, action, begin, Some(rest).filter(|_| action != Action::Block))?
            }
            What::Tracker { name, options } => {
                let entry = (rule, options.clone(), spec.origin.clone());
                match self.tracked.iter_mut().find(|(n, _)| n == name) {
                    Some((_, rules)) => rules.push(entry),
                    None => self.tracked.push((name.clone(), vec![entry])),
                }
                format!("tracker {name}")
            }
            What::Exact(bytes) => {
                self.exact.push((rule, bytes.clone()));
                "exact value, in one search with all others".to_owned()
            }
        };
        self.info.push(RuleInfo {
            name: spec.name.clone(),
            family: spec.family,
            title: spec.title.clone(),
            severity: spec.severity,
            action,
            priority: spec.priority,
            token: spec.token.clone(),
            engine,
        });
        Ok(())
    }

    fn add_pattern(
        &mut self,
        spec: &RuleSpec,
        rule: RuleId,
        action: Action,
        pattern: &str,
        region: Option<Dfa>,
    ) -> Result<String, String> {
        let literal = region.is_some();
        let want = Want { acts: action.acts(), gated: spec.nearby.is_some() && !literal, literal };
        let plan = Plan::of(pattern, want)?;
        if region.is_some() && !matches!(plan.anchor, Anchor::Literal(_)) {
            return Err("a region must begin with literal text".into());
        }
        let member = self.members.len();
        // A keyed rule asks only once its keyword was found.
        let early = plan.key.is_none();
        let gate = Gate {
            nearby: spec.nearby.as_ref().map(|n| self.words.add(n, early)).transpose()?,
            unless: spec.unless.as_ref().map(|n| self.words.add(n, false)).transpose()?,
        };
        let post = plan.post.map(|p| self.shared(&p, None)).transpose()?;
        self.members.push(Member {
            rule,
            ends: u16::from(plan.body.is_some()),
            post,
            checks: spec.checks.clone(),
            allow: spec.allow.clone(),
            gate,
            region,
        });
        // One more for the edge of a word.
        let within = [&spec.nearby, &spec.unless].into_iter().flatten().map(|n| n.within + 1).max().unwrap_or(0);
        let before = spec.allow.iter().map(|a| a.before()).max().unwrap_or(0);
        self.history = self.history.max(within).max(before);
        let acting = action.acts();
        let span = plan.max_span;
        let least = plan.body.as_ref().unwrap_or(&plan.forward).properties().minimum_len().unwrap_or(1) - 1;
        let (literals, head, prefixes) = match plan.anchor {
            Anchor::Class => {
                self.class.push(ClassRule { acting, forward: plan.forward, body: plan.body, least, gate, member });
                return Ok(format!("class run, spans of at most {span} bytes"));
            }
            Anchor::Literal(l) => {
                // A literal may end in a later push than it began: its automaton is then started from history.
                self.history = self.history.max(within + l.iter().map(Vec::len).max().unwrap_or(0));
                (l, None, plan.prefixes)
            }
            Anchor::Inner { literals, head, prefixes } => {
                // The head is read back once the literal has ended.
                let longest = literals.iter().map(Vec::len).max().unwrap_or(0);
                self.history = self.history.max(within + head.properties().maximum_len().unwrap_or(0) + longest);
                let head = LazyDfa::reversed(head);
                if !self.lazy {
                    head.build()?;
                }
                (literals, Some(head), Some(prefixes))
            }
        };
        if let Some(p) = prefixes.filter(|_| acting) {
            self.history = self.history.max(p.properties().maximum_len().unwrap_or(0));
            let set = Arc::new(LiteralSet::new(&literals, head.is_some()));
            if head.is_some() { &mut self.heads } else { &mut self.prefixes }.push((member as u32, set, p));
        }
        let group = Group {
            forward: self.shared(&plan.forward, Some(plan.body.as_ref().unwrap_or(&plan.forward)))?,
            nested: if plan.key.is_none() && head.is_none() { literals::nested(&literals) } else { Vec::new() },
            key: match plan.key {
                None => None,
                Some(Key::Whole(pre)) => Some(KeyRun { dfa: self.shared(&pre, None)?, guard: None }),
                Some(Key::Gap { guard, gap }) => Some(KeyRun { dfa: self.shared(&gap, None)?, guard: Some(guard) }),
            },
            head,
            members: vec![member],
            asks: Asks::of([gate].into_iter(), early),
            acting,
            least: least as u64,
        };
        let engine = format!(
            "{} of {} literal(s), spans of at most {span} bytes",
            if group.key.is_some() {
                "keyed by one"
            } else if group.head.is_some() {
                "around one"
            } else {
                "begins with one"
            },
            literals.len(),
        );
        let g = self.groups.len() as u32;
        self.groups.push(group);
        let longest = literals.iter().map(Vec::len).max().unwrap_or(0);
        let shape = if self.groups[g as usize].head.is_some() {
            Vec::new()
        } else {
            Shape::of(&plan.whole, 1 + longest + BEHIND)
        };
        // As with trigger tables: no further than the shortest span, unless a key stands there.
        let far = if self.groups[g as usize].key.is_some() { usize::MAX } else { least };
        for l in literals {
            let at = |place: usize| shape.get(place).filter(|_| place <= far);
            let gives = GivesAway {
                group: g,
                guard: self.set(at(0)),
                behind: std::array::from_fn(|i| self.set(at(1 + l.len() + i))),
            };
            let spelling = Spelling::cased(&l, |i| shape.get(1 + i));
            let at = self.literal(spelling);
            self.literals[at].gives.push(gives);
        }
        Ok(engine)
    }

    /// The index of a set of bytes.
    fn set(&mut self, set: Option<&ByteSet>) -> u16 {
        if self.sets.is_empty() {
            self.sets.push(ByteSet::full());
            self.set_index.insert(ByteSet::full(), 0);
        }
        let Some(set) = set else { return 0 };
        // What does not fit is not looked at.
        let Ok(next) = u16::try_from(self.sets.len()) else { return 0 };
        *self.set_index.entry(set.clone()).or_insert_with(|| {
            self.sets.push(set.clone());
            next
        })
    }

    /// The literals, each with what may stand before it.
    fn needles(&self) -> Vec<Needle> {
        let needle = |(id, l): (u32, &Known)| {
            let mut guard = l.word.as_ref().map(|(_, guard)| guard.clone()).unwrap_or_default();
            l.gives.iter().for_each(|g| guard.union(&self.sets[usize::from(g.guard)]));
            Needle { spelling: l.spelling.clone(), guard, id }
        };
        (0..).zip(&self.literals).map(needle).collect()
    }

    /// The index of a literal.
    fn literal(&mut self, spelling: Spelling) -> usize {
        *self.literal_index.entry(spelling).or_insert_with_key(|spelling| {
            self.literals.push(Known { spelling: spelling.clone(), gives: Vec::new(), word: None });
            self.literals.len() - 1
        })
    }

    /// An automaton, built once for all that need the same. With `body` it knows where BODY ends (mark 1, or pattern 0
    /// if BODY is all there is).
    fn shared(&self, pattern: &Hir, body: Option<&Hir>) -> Result<Arc<LazyDfa>, String> {
        let d = LazyDfa::shared(pattern, body);
        if !self.lazy {
            d.build()?;
        }
        Ok(d)
    }

    /// Builds the automata of class rules; a bucket whose automaton explodes is halved.
    fn class_buckets(&mut self) -> Result<(Vec<Group>, Triggers), String> {
        let mut groups = std::mem::take(&mut self.groups);
        let mut triggers = Triggers::new();
        let mut todo = classes::buckets(std::mem::take(&mut self.class));
        while let Some(mut bucket) = todo.pop() {
            let hirs: Vec<Hir> = bucket.iter().map(|c| c.forward.clone()).collect();
            let bodies: Vec<Hir> = bucket.iter().filter_map(|c| c.body.clone()).collect();
            match Dfa::several(&hirs, &bodies) {
                Ok(forward) => {
                    let least = bucket.iter().map(|c| c.least).min().unwrap_or(0);
                    let asks = Asks::of(bucket.iter().map(|c| c.gate), true);
                    let gated = asks.as_ref().is_some_and(|a| a.needs_word);
                    triggers
                        .add(&forward, least, groups.len() as u32, gated)
                        .ok_or_else(|| format!("the class rules need more than {} automata", classes::MAX_BUCKETS))?;
                    let mut mark = bucket.len();
                    for (i, c) in bucket.iter().enumerate() {
                        self.members[c.member].ends = if c.body.is_some() { mark } else { i } as u16;
                        mark += usize::from(c.body.is_some());
                    }
                    groups.push(Group {
                        forward: Arc::new(LazyDfa::from(forward)),
                        key: None,
                        head: None,
                        members: bucket.iter().map(|c| c.member).collect(),
                        asks,
                        acting: bucket[0].acting,
                        least: least as u64,
                        nested: Vec::new(),
                    });
                }
                Err(e) if bucket.len() == 1 => return Err(e),
                Err(_) => {
                    let half = bucket.split_off(bucket.len() / 2);
                    todo.extend([bucket, half]);
                }
            }
        }
        Ok((groups, triggers))
    }

    fn build_trackers(&mut self) -> Result<Vec<TrackerUse>, LoadError> {
        let mut out = Vec::new();
        for (name, rules) in &self.tracked {
            let options: Vec<&toml::Table> = rules.iter().map(|(_, o, _)| o).collect();
            let spec = trackers::build(name, &options)
                .map_err(|e| LoadError::at(&rules[0].2, e, "see the built-in packs for an example"))?;
            let ids: Vec<RuleId> = rules.iter().map(|(r, ..)| *r).collect();
            let acting = ids.iter().any(|r| self.info[r.0 as usize].action.acts());
            out.push(TrackerUse { spec, rules: ids, acting });
        }
        // Acting and reporting ones apart, so that a value that is only reported never holds a byte.
        for acting in [true, false] {
            let acts = |(r, _): &&(RuleId, ExactBytes)| self.info[r.0 as usize].action.acts() == acting;
            let (rules, values): (Vec<RuleId>, Vec<ExactBytes>) = self.exact.iter().filter(acts).cloned().unzip();
            if !rules.is_empty() {
                let spec = ExactSpec::build(&values)
                    .map_err(|e| LoadError::at("exact values", e, "name fewer files, or keys in `ignore`"))?;
                out.push(TrackerUse { spec, rules, acting });
            }
        }
        Ok(out)
    }

    /// One automaton over all prefixes of literals, a tree; one for each head, whose counters would multiply.
    fn probes(&mut self) -> Result<Vec<Probe>, String> {
        self.history += 1;
        let mut out = Vec::new();
        let mut todo = vec![std::mem::take(&mut self.prefixes)];
        todo.extend(self.heads.drain(..).map(|h| vec![h]));
        while let Some(mut bucket) = todo.pop() {
            if bucket.is_empty() {
                continue;
            }
            let hirs: Vec<Hir> = bucket.iter().map(|(.., h)| h.clone()).collect();
            match Dfa::reversed_several(&hirs) {
                Ok(dfa) => {
                    out.push(Probe {
                        triples: (dfa.bytes() > 256 << 10).then(|| dfa.triples()),
                        dfa,
                        gated: bucket.iter().all(|(m, ..)| self.members[*m as usize].gate.nearby.is_some()),
                        members: bucket.iter().map(|(m, ..)| *m).collect(),
                        literals: bucket.into_iter().map(|(_, l, _)| l).collect(),
                    });
                }
                Err(e) if bucket.len() == 1 => return Err(e),
                Err(_) => {
                    let half = bucket.split_off(bucket.len() / 2);
                    todo.extend([bucket, half]);
                }
            }
        }
        // Heads before prefixes: where a head was found, few others can begin earlier.
        out.sort_by_key(|p| (p.members.len() > 1, std::cmp::Reverse(p.dfa.states())));
        Ok(out)
    }
}

impl RuleSet {
    pub(crate) fn candidates(&self) -> &dyn Candidates {
        &*self.candidates
    }

    /// Whether the bytes around a literal at `at..end` of `window`, those that are there, leave it a candidate.
    pub(crate) fn fits(&self, gives: &GivesAway, window: &[u8], at: usize, end: usize) -> bool {
        let fits = |set: u16, b: &u8| self.sets[usize::from(set)].has(*b);
        at.checked_sub(1).is_none_or(|i| fits(gives.guard, &window[i]))
            && gives.behind.iter().zip(&window[end..]).all(|(set, b)| fits(*set, b))
    }
}
