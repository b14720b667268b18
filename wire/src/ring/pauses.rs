//! How long to pause before sleeping: a budget that learns. Pure arithmetic; the caller pauses and looks.
//!
//! Sleeping and being woken costs some twenty-five microseconds between two processors, pausing until the answer is there
//! well under one; but a pause is lost time when the answer needs longer, and on one shared processor it is the very thing
//! that keeps the answer away. So: a wait that was answered while pausing earns the whole budget for the next one, one that
//! was not halves it, down to nothing; then one wait in thirty-two tries again. And no pause at all while the peer
//! last ran on the same processor. Never `sched_yield`: beside a busy third process it gives away whole time slices.

/// Most pauses of one wait. 200 took 10 µs where it was measured and caught every answer of an idle peer on another
/// processor; ten times as many caught no more and cost ten times as much in vain.
pub const MAX_PAUSES: u32 = 200;

/// Below this many pauses none is worth it: 50 caught nothing where 200 caught everything.
const MIN_PAUSES: u32 = 50;

/// Of this many waits with no budget one tries again: in vain it costs 10 µs in 32 sleeps of 25, an hour's work of
/// somebody who never answers in time loses one part in eighty.
const TRY_EVERY: u32 = 32;

/// The budget of one waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    budget: u32,
    slept: u32,
}

impl Default for Pauses {
    fn default() -> Self {
        Pauses { budget: MAX_PAUSES, slept: 0 }
    }
}

impl Pauses {
    /// How many pauses the next wait may take.
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
            return MAX_PAUSES;
        }
        self.budget
    }

    /// The answer came while pausing.
    pub fn hit(&mut self) {
        *self = Pauses::default();
    }

    /// The pauses were in vain.
    pub fn miss(&mut self) {
        self.budget /= 2;
        if self.budget < MIN_PAUSES {
            self.budget = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pauses spent in `waits` waits none of which is answered in time.
    fn in_vain(p: &mut Pauses, waits: u32) -> u32 {
        (0..waits)
            .map(|_| {
                let n = p.allowed(false);
                if n > 0 {
                    p.miss();
                }
                n
            })
            .sum()
    }

    #[test]
    fn a_peer_that_never_answers_in_time_soon_costs_nothing() {
        let mut p = Pauses::default();
        assert_eq!(in_vain(&mut p, 3), 200 + 100 + 50);
        // From then on one try in thirty-two: on average 6.25 pauses a wait, a third of a microsecond.
        assert_eq!(in_vain(&mut p, 320), 10 * MAX_PAUSES);
    }

    #[test]
    fn one_answer_in_time_brings_the_budget_back() {
        let mut p = Pauses::default();
        in_vain(&mut p, 10);
        p.hit();
        assert_eq!(p.allowed(false), MAX_PAUSES);
    }

    #[test]
    fn nothing_is_spent_beside_a_peer_on_the_same_processor() {
        let mut p = Pauses::default();
        assert_eq!(p.allowed(true), 0);
        assert_eq!(p.allowed(false), MAX_PAUSES);
    }
}
