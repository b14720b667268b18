//! How long to pause before sleeping: a budget that learns. Pure arithmetic on nanoseconds; the caller pauses and looks.
//! Times, not numbers of pauses: one takes 13 ns on some processors and 50 on others.
//!
//! Sleeping and being woken costs some twenty-five microseconds between two processors, pausing until the answer is there
//! well under one; but a pause is lost time when the answer needs longer, and on one shared processor it is the very thing
//! that keeps the answer away. So the budget follows what was seen: twice what the last answer took, halved by each wait
//! that was in vain, down to nothing; then one wait in thirty-two tries again. No pause at all while the peer last ran on
//! the same processor. Never `sched_yield`: beside a busy third process it gives away whole time slices.
//!
//! On a machine with more to do than processors, whoever pauses is taken off its processor sooner than whoever sleeps, and
//! for milliseconds. So a pause that took far longer than it should says that others want the processor: the next waits
//! sleep at once, whether the answer came meanwhile or not.
//!
//! Two sides that both sleep at once are the trap: each answers too late for the other's short pause, since its own waking
//! up takes longer. So a try is long enough to last through the peer's waking up, and then the peer, who finds this side
//! awake, gets its answers in time.

/// Time for pauses after an answer that came at once, in nanoseconds: it caught every answer of an idle peer on another
/// processor; ten times as much caught no more and cost ten times as much in vain.
pub const USUAL_PAUSE: u32 = 10_000;

/// Time of a try, and longest of any wait, in nanoseconds: more than a peer needs to wake up.
pub const LONGEST_PAUSE: u32 = 30_000;

/// A wait that took longer than this, in nanoseconds, was not paused through: the processor was with somebody else. Four
/// times the longest pause; an interrupt takes less.
const TAKEN_AWAY: u32 = 4 * LONGEST_PAUSE;

/// Below this time, in nanoseconds, none is worth it: a quarter of the usual time caught nothing.
const SHORTEST_PAUSE: u32 = 2_500;

/// Of this many waits without a budget one tries again. In vain that is 30 µs in 32 sleeps of 25 µs: a peer that never
/// answers in time costs one part in twenty-seven.
const TRY_EVERY: u32 = 32;

/// The budget of one waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    budget: u32,
    slept: u32,
}

impl Default for Pauses {
    fn default() -> Self {
        Pauses { budget: USUAL_PAUSE, slept: 0 }
    }
}

impl Pauses {
    /// How long the next wait may pause, in nanoseconds.
    pub fn allowed(&mut self, same_processor: bool) -> u32 {
        if same_processor {
            return 0;
        }
        if self.budget == 0 {
            self.slept += 1;
            if self.slept < TRY_EVERY {
                return 0;
            }
            self.slept = 0;
            return LONGEST_PAUSE;
        }
        self.budget
    }

    /// The answer came after this many nanoseconds by the clock.
    pub fn hit(&mut self, after: u32) {
        if after > TAKEN_AWAY {
            return self.taken_away();
        }
        self.budget = after.saturating_mul(2).clamp(USUAL_PAUSE, LONGEST_PAUSE);
    }

    /// The pauses were in vain, and took this many nanoseconds by the clock.
    pub fn miss(&mut self, after: u32) {
        if after > TAKEN_AWAY {
            return self.taken_away();
        }
        self.budget /= 2;
        if self.budget < SHORTEST_PAUSE {
            self.budget = 0;
        }
    }

    fn taken_away(&mut self) {
        self.budget = 0;
        self.slept = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time spent in `waits` waits none of which is answered in time.
    fn in_vain(p: &mut Pauses, waits: u32) -> u32 {
        (0..waits)
            .map(|_| {
                let n = p.allowed(false);
                if n > 0 {
                    p.miss(n);
                }
                n
            })
            .sum()
    }

    #[test]
    fn a_peer_that_never_answers_in_time_soon_costs_nothing() {
        let mut p = Pauses::default();
        assert_eq!(in_vain(&mut p, 3), 10_000 + 5_000 + 2_500);
        // From then on one try in thirty-two: on average a microsecond a wait.
        assert_eq!(in_vain(&mut p, 320), 10 * LONGEST_PAUSE);
    }

    #[test]
    fn one_answer_in_time_brings_the_budget_back() {
        let mut p = Pauses::default();
        in_vain(&mut p, 10);
        p.hit(1);
        assert_eq!(p.allowed(false), USUAL_PAUSE);
        p.hit(7_000);
        assert_eq!(p.allowed(false), 14_000);
        p.hit(LONGEST_PAUSE);
        assert_eq!(p.allowed(false), LONGEST_PAUSE);
    }

    #[test]
    fn who_loses_the_processor_while_pausing_sleeps_the_next_times() {
        for lose in [Pauses::hit, Pauses::miss] {
            let mut p = Pauses::default();
            lose(&mut p, 4_000_000);
            assert_eq!(in_vain(&mut p, TRY_EVERY - 1), 0);
            // Then it tries once, and an answer in time brings the budget back.
            assert_eq!(p.allowed(false), LONGEST_PAUSE);
            p.hit(1);
            assert_eq!(p.allowed(false), USUAL_PAUSE);
        }
    }

    #[test]
    fn nothing_is_spent_beside_a_peer_on_the_same_processor() {
        let mut p = Pauses::default();
        assert_eq!(p.allowed(true), 0);
        assert_eq!(p.allowed(false), USUAL_PAUSE);
    }
}
