//! Repeatable random numbers (xorshift64*).

/// A generator; the same seed gives the same numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // The state must not be zero, and similar seeds must differ at once.
        let mixed = (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd);
        Self(mixed | 1)
    }

    /// Continues after the number that `state` returned.
    pub(crate) fn resume(state: u64) -> Self {
        Self(state | u64::from(state == 0))
    }

    pub(crate) fn state(&self) -> u64 {
        self.0
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end.max(1)
    }

    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        let place = self.below(list.len() as u64);
        &list[usize::try_from(place).unwrap_or(0)]
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
