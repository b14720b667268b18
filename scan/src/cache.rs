//! What loading rules has worked out, kept for the next time: within a process, or as bytes that a program may store.
//!
//! Three things are dear: the plan of a rule, which class rules share an automaton, and automata. Each is kept under the
//! BLAKE3 hash of all it depends on (pattern and what is asked of it; what the rules look like; the expressions of an
//! automaton), so a changed rule, profile or pack finds nothing stale: what is not found is worked out. This module knows
//! no files.
//!
//! As bytes: magic, length and BLAKE3 of the rest, the engine they are of (version and a hash of its sources), tables.
//! [`Cache::from_bytes`] looks at all of it and at every index before it believes anything, so damaged or foreign bytes
//! are an error, never a panic. It cannot tell who wrote them: whoever can write a well-formed cache chooses what rules
//! find, as one who can write the profile does. A program must read only bytes that nobody else could have written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::automata::{Exploded, Job, Piece};
use crate::classes::{self, ClassRule};
use crate::dfa::StoredDfa;
use crate::parallel;
use crate::plan::{self, Plan, Want};

/// First bytes of a stored cache.
const MAGIC: &[u8; 8] = b"FBYCACHE";
/// Which engine worked it out: another one may plan another way.
const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("FOREBAY_ENGINE_SOURCES"));
/// Magic, length, hash.
const HEADER: usize = 8 + 8 + 32;

type Key = [u8; 32];

/// What loading rules has worked out. See the module's text.
#[derive(Debug, Default)]
pub struct Cache {
    /// As it was read.
    known: Tables,
    /// What was used or worked out since.
    used: Tables,
    /// Something had to be worked out.
    fresh: bool,
}

#[derive(Debug, Default)]
struct Tables {
    plans: BTreeMap<Key, Arc<Plan>>,
    buckets: BTreeMap<Key, Vec<Vec<u32>>>,
    automata: BTreeMap<Key, Vec<Piece>>,
}

/// Why stored bytes are no cache that this engine can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CacheError {
    /// Another program's file.
    #[error("it is no rule cache")]
    Foreign,
    /// Cut, changed, or inconsistent.
    #[error("it is damaged")]
    Damaged,
    /// Another version's.
    #[error("it is of another version of Forebay")]
    OtherVersion,
}

#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    engine: &'a str,
    plans: Vec<(Key, Cow<'a, Plan>)>,
    buckets: Vec<(Key, Vec<Vec<u32>>)>,
    #[serde(borrow)]
    automata: Vec<(Key, Vec<StoredPiece<'a>>)>,
}

#[derive(Serialize, Deserialize)]
struct StoredPiece<'a> {
    patterns: u32,
    names: u32,
    #[serde(borrow)]
    dfa: StoredDfa<'a>,
}

impl<'a> StoredPiece<'a> {
    fn of(piece: &'a Piece) -> Self {
        StoredPiece { patterns: piece.patterns as u32, names: piece.names as u32, dfa: piece.dfa.stored() }
    }
}

impl Cache {
    /// Reads what [`Cache::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Cache, CacheError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(CacheError::Foreign)?;
        let (length, rest) = rest.split_first_chunk::<8>().ok_or(CacheError::Damaged)?;
        let (hash, body) = rest.split_first_chunk::<32>().ok_or(CacheError::Damaged)?;
        if u64::from_le_bytes(*length) != body.len() as u64 || blake3::hash(body).as_bytes() != hash {
            return Err(CacheError::Damaged);
        }
        // What follows depends on the version, so its name comes first.
        let (engine, _) = postcard::take_from_bytes::<&str>(body).map_err(|_| CacheError::Damaged)?;
        if engine != ENGINE {
            return Err(CacheError::OtherVersion);
        }
        let stored: Stored<'_> = postcard::from_bytes(body).map_err(|_| CacheError::Damaged)?;
        if !stored.plans.iter().all(|(_, p)| p.is_sound()) {
            return Err(CacheError::Damaged);
        }
        let piece = |p: StoredPiece<'_>| {
            let (patterns, names) = (p.patterns as usize, p.names as usize);
            let dfa = p.dfa.checked(patterns, names).ok_or(CacheError::Damaged)?;
            Ok(Piece { patterns, names, dfa: Arc::new(dfa.into()) })
        };
        let pieces = |(key, pieces): (Key, Vec<StoredPiece<'_>>)| {
            Ok((key, pieces.into_iter().map(piece).collect::<Result<Vec<Piece>, CacheError>>()?))
        };
        let known = Tables {
            plans: stored.plans.into_iter().map(|(k, p)| (k, Arc::new(p.into_owned()))).collect(),
            buckets: stored.buckets.into_iter().collect(),
            automata: stored.automata.into_iter().map(pieces).collect::<Result<_, CacheError>>()?,
        };
        Ok(Cache { known, ..Cache::default() })
    }

    /// What was used since the cache was made, and nothing else: what no rule asks for any more is left out.
    pub fn to_bytes(&self) -> Vec<u8> {
        let stored = Stored {
            engine: ENGINE,
            plans: self.used.plans.iter().map(|(k, p)| (*k, Cow::Borrowed(&**p))).collect(),
            buckets: self.used.buckets.iter().map(|(k, b)| (*k, b.clone())).collect(),
            automata: self.used.automata.iter().map(|(k, p)| (*k, p.iter().map(StoredPiece::of).collect())).collect(),
        };
        // Fails only for values of no known length, which there are none of.
        let body = postcard::to_stdvec(&stored).unwrap_or_default();
        let mut out = Vec::with_capacity(HEADER + body.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&(body.len() as u64).to_le_bytes());
        out.extend_from_slice(blake3::hash(&body).as_bytes());
        out.extend_from_slice(&body);
        out
    }

    /// Whether something had to be worked out that the cache did not have: whether storing it again would help.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Plans rules.
    pub(crate) fn plans(&mut self, rules: &[(&str, Want)]) -> Vec<Result<Arc<Plan>, String>> {
        let keys: Vec<Key> = rules.iter().map(|(pattern, want)| plan_key(pattern, *want)).collect();
        let missing: Vec<usize> = (0..rules.len()).filter(|i| !self.has_plan(&keys[*i])).collect();
        let unplanned: Vec<(&str, Want)> = missing.iter().map(|i| rules[*i]).collect();
        let mut failed = BTreeMap::new();
        for (i, plan) in missing.into_iter().zip(plan::all(&unplanned)) {
            self.fresh = true;
            match plan {
                Ok(plan) => drop(self.used.plans.insert(keys[i], Arc::new(plan))),
                Err(e) => drop(failed.insert(keys[i], e)),
            }
        }
        let of = |key| self.used.plans.get(key).cloned();
        let error = |key| failed.get(key).cloned().unwrap_or_default();
        keys.iter().map(|key| of(key).ok_or_else(|| error(key))).collect()
    }

    /// Whether a plan is known; it is then used.
    fn has_plan(&mut self, key: &Key) -> bool {
        if let Some(plan) = self.known.plans.remove(key) {
            self.used.plans.insert(*key, plan);
        }
        self.used.plans.contains_key(key)
    }

    /// Puts class rules into buckets.
    pub(crate) fn buckets(&mut self, rules: &[ClassRule]) -> Vec<Vec<u32>> {
        let key = classes::key(rules);
        let known = self.used.buckets.get(&key).cloned().or_else(|| self.known.buckets.remove(&key));
        let buckets = known.filter(|b| classes::are_buckets(b, rules)).unwrap_or_else(|| {
            self.fresh = true;
            classes::buckets(rules)
        });
        self.used.buckets.insert(key, buckets.clone());
        buckets
    }

    /// The automaton of one recipe, if it is known.
    pub(crate) fn automaton(&mut self, key: &Key, names: usize) -> Option<Piece> {
        let pieces = self.take(key)?;
        match pieces.as_slice() {
            [piece] if piece.patterns == 1 && piece.names == names => {
                self.used.automata.insert(*key, pieces.clone());
                Some(piece.clone())
            }
            _ => None,
        }
    }

    /// Builds automata. Of those that explode the first is the error, with the place of its job.
    pub(crate) fn automata(&mut self, jobs: &[Job]) -> Result<Vec<Vec<Piece>>, (usize, Exploded)> {
        let keys: Vec<Key> = jobs.iter().map(Job::key).collect();
        // Two jobs may be the same one.
        let mut known = |(key, job): (&Key, &Job)| {
            let pieces = self.take(key).filter(|pieces| job.fits(pieces))?;
            self.used.automata.insert(*key, pieces.clone());
            Some(pieces)
        };
        let mut out: Vec<Option<Vec<Piece>>> = keys.iter().zip(jobs).map(&mut known).collect();
        let mut missing: Vec<usize> = (0..jobs.len()).filter(|i| out[*i].is_none()).collect();
        missing.sort_by_key(|i| std::cmp::Reverse(jobs[*i].weight()));
        self.fresh |= !missing.is_empty();
        let mut exploded = None;
        for (i, made) in missing.iter().zip(parallel::map_heavy(&missing, |i| jobs[*i].run())) {
            match made {
                Ok(pieces) => out[*i] = Some(pieces),
                Err(e) if exploded.as_ref().is_none_or(|(first, _)| i < first) => exploded = Some((*i, e)),
                Err(_) => {}
            }
        }
        if let Some(e) = exploded {
            return Err(e);
        }
        let out: Vec<Vec<Piece>> = out.into_iter().flatten().collect();
        self.used.automata.extend(keys.into_iter().zip(out.iter().cloned()));
        Ok(out)
    }

    fn take(&mut self, key: &Key) -> Option<Vec<Piece>> {
        self.used.automata.get(key).cloned().or_else(|| self.known.automata.remove(key))
    }
}

fn plan_key(pattern: &str, want: Want) -> Key {
    let mut hash = blake3::Hasher::new();
    hash.update(&[u8::from(want.acts), u8::from(want.gated), u8::from(want.literal)]).update(pattern.as_bytes());
    *hash.finalize().as_bytes()
}
