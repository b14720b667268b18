//! Quotas: what a connection uses is charged to the user who opened it (`SO_PEERCRED`).
//!
//! Two bounds hold for each resource. A user's own limit, and a fair share: **a user may hold at most half of what
//! the others do not hold.** So nobody, alone or with fewer than log2(total) accomplices, takes the last slot, and a
//! single user on a single-user host can still use half of a generous total.
//!
//! Invariant: every charge is given back when its [`Account`] is dropped, whatever path led there.
//! Not here: waiting. A refusal is immediate and becomes a typed error.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::Limits;

/// Why a charge was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The user's own limit.
    #[error("this user already has {limit} {what}; close some, or raise the limit in the daemon's config")]
    User {
        /// The resource.
        what: &'static str,
        /// The user's limit.
        limit: u64,
    },
    /// The fair share of what is left.
    #[error("the daemon is nearly full: {what} are kept free for other users; try again later")]
    Share {
        /// The resource.
        what: &'static str,
    },
}

/// All users' charges.
#[derive(Debug)]
pub struct Quotas {
    bounds: [Bound; RESOURCES],
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct Bound {
    what: &'static str,
    total: u64,
    per_uid: u64,
}

#[derive(Debug, Default)]
struct State {
    used: Usage,
    by_uid: HashMap<u32, Usage>,
}

const RESOURCES: usize = 5;
const CONNECTIONS: usize = 0;
const STREAMS: usize = 1;
const BYTES: usize = 2;
const RINGS: usize = 3;
const DESCRIPTORS: usize = 4;
type Usage = [u64; RESOURCES];

impl Quotas {
    /// Quotas of a daemon with these limits.
    pub fn new(limits: &Limits) -> Arc<Self> {
        let bound = |what, total, per_uid| Bound { what, total, per_uid };
        Arc::new(Quotas {
            bounds: [
                bound("connections", limits.connections, limits.connections_per_uid),
                bound("streams", limits.streams, limits.streams_per_uid),
                bound("buffered bytes", limits.buffered_bytes, limits.buffered_bytes_per_uid),
                bound("rings", limits.rings, limits.rings_per_uid),
                bound("descriptors", limits.descriptors, limits.descriptors_per_uid),
            ],
            state: Mutex::default(),
        })
    }

    /// Charges a connection to a user.
    pub fn connect(self: &Arc<Self>, uid: u32) -> Result<Account, Refusal> {
        let mut account = Account { quotas: Arc::clone(self), uid, own: Usage::default() };
        account.charge(CONNECTIONS, 1)?;
        account.charge(DESCRIPTORS, 1)?;
        Ok(account)
    }

    /// Open connections and streams of all users.
    pub fn open(&self) -> (u64, u64) {
        let state = self.lock();
        (state.used[CONNECTIONS], state.used[STREAMS])
    }

    /// Rings granted to all users.
    pub fn rings(&self) -> u64 {
        self.lock().used[RINGS]
    }

    /// Output of all users that waits for slow readers, in bytes.
    pub fn buffered(&self) -> u64 {
        self.lock().used[BYTES]
    }

    fn charge(&self, uid: u32, resource: usize, n: u64) -> Result<(), Refusal> {
        let Bound { what, total, per_uid } = self.bounds[resource];
        let mut state = self.lock();
        let mine = state.by_uid.get(&uid).map_or(0, |u| u[resource]);
        let after = mine + n;
        if after > per_uid {
            return Err(Refusal::User { what, limit: per_uid });
        }
        let others = state.used[resource] - mine;
        if after > total.saturating_sub(others) / 2 {
            return Err(Refusal::Share { what });
        }
        state.used[resource] += n;
        state.by_uid.entry(uid).or_default()[resource] += n;
        Ok(())
    }

    fn give_back(&self, uid: u32, amounts: Usage) {
        let mut state = self.lock();
        for (used, n) in state.used.iter_mut().zip(amounts) {
            *used = used.saturating_sub(n);
        }
        if let Some(mine) = state.by_uid.get_mut(&uid) {
            for (used, n) in mine.iter_mut().zip(amounts) {
                *used = used.saturating_sub(n);
            }
            // Users who left must not stay: the map would grow with every uid ever seen.
            if *mine == Usage::default() {
                state.by_uid.remove(&uid);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is plain numbers, changed in one go: a panic elsewhere cannot leave it half-done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Files of a ring.
const RING_FILES: u64 = 2;

/// What one connection holds. Dropping it gives everything back.
#[derive(Debug)]
pub struct Account {
    quotas: Arc<Quotas>,
    uid: u32,
    own: Usage,
}

impl Account {
    /// The user who pays.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Charges one more stream.
    pub fn open_stream(&mut self) -> Result<(), Refusal> {
        self.charge(STREAMS, 1)
    }

    /// Gives a stream back.
    pub fn close_stream(&mut self) {
        self.give_back(STREAMS, 1);
    }

    /// Charges bytes that wait in a buffer.
    pub fn buffer(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.charge(BYTES, bytes as u64)
    }

    /// Gives buffered bytes back.
    pub fn unbuffer(&mut self, bytes: usize) {
        self.give_back(BYTES, bytes as u64);
    }

    /// Charges a ring whose memory is `bytes` long, and the descriptors of its files until [`Account::ring_passed`].
    ///
    /// # Errors
    /// One of the three is used up; none is charged then.
    pub fn open_ring(&mut self, bytes: usize) -> Result<(), Refusal> {
        let mut charged = Vec::with_capacity(3);
        for (resource, n) in [(RINGS, 1), (BYTES, bytes as u64), (DESCRIPTORS, RING_FILES)] {
            if let Err(refusal) = self.charge(resource, n) {
                charged.into_iter().for_each(|(resource, n)| self.give_back(resource, n));
                return Err(refusal);
            }
            charged.push((resource, n));
        }
        Ok(())
    }

    /// The ring's files are not on their way to the client any more.
    pub fn ring_passed(&mut self) {
        self.give_back(DESCRIPTORS, RING_FILES);
    }

    /// Gives a ring back whose files were not passed.
    pub fn close_ring(&mut self, bytes: usize) {
        self.ring_passed();
        self.give_back(BYTES, bytes as u64);
        self.give_back(RINGS, 1);
    }

    fn charge(&mut self, resource: usize, n: u64) -> Result<(), Refusal> {
        if n > 0 {
            self.quotas.charge(self.uid, resource, n)?;
            self.own[resource] += n;
        }
        Ok(())
    }

    fn give_back(&mut self, resource: usize, n: u64) {
        debug_assert!(self.own[resource] >= n, "gave back what was never charged");
        let n = n.min(self.own[resource]);
        if n > 0 {
            let mut amounts = Usage::default();
            amounts[resource] = n;
            self.quotas.give_back(self.uid, amounts);
            self.own[resource] -= n;
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.quotas.give_back(self.uid, self.own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(connections: u64, per_uid: u64) -> Arc<Quotas> {
        Quotas::new(&Limits { connections, connections_per_uid: per_uid, ..Limits::default() })
    }

    #[test]
    fn a_user_is_bound_by_the_own_limit() {
        let q = quotas(100, 2);
        let _held = [q.connect(1), q.connect(1)].map(|a| a.ok());
        assert_eq!(q.connect(1).err(), Some(Refusal::User { what: "connections", limit: 2 }));
        assert!(q.connect(2).is_ok());
    }

    #[test]
    fn no_user_takes_the_last_slot() {
        let q = quotas(16, 100);
        let mut held = Vec::new();
        for uid in 0..20 {
            while let Ok(a) = q.connect(uid) {
                held.push(a);
            }
        }
        // 8 + 4 + 2 + 1, and the last stays free.
        assert_eq!(held.len(), 15);
        held.retain(|a| a.uid() != 0);
        assert!(q.connect(77).is_ok(), "a newcomer gets in as soon as somebody leaves");
    }

    #[test]
    fn everything_comes_back() {
        let q = quotas(16, 16);
        let mut a = q.connect(1).ok();
        if let Some(a) = &mut a {
            assert!(a.open_stream().is_ok());
            assert!(a.open_stream().is_ok());
            assert!(a.buffer(1000).is_ok());
            a.close_stream();
        }
        assert_eq!(q.open(), (1, 1));
        drop(a);
        assert_eq!(q.open(), (0, 0));
        assert!(q.lock().by_uid.is_empty());
    }
}
