//! Random numbers that are the same for the same seed.

/// A source of numbers (`splitmix64`).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    /// A small number below `end`.
    pub(crate) fn small(&mut self, end: u32) -> u32 {
        u32::try_from(self.below(u64::from(end))).unwrap_or_default()
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    ///
    /// # Panics
    /// When there is none.
    pub(crate) fn pick<T: Clone>(&mut self, among: &[T]) -> T {
        let at = usize::try_from(self.below(among.len() as u64)).unwrap_or_default();
        among[at].clone()
    }

    /// Something in one of two cases.
    pub(crate) fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.chance(50).then(|| make(self))
    }
}
