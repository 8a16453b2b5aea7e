//! Prose that reads and compresses like text: words by Zipf's law from a vocabulary, in sentences.

/// Words that every text is full of; the most frequent ranks.
const COMMON: &str = "the of and to a in is that it for was on are as with they be at one have this from by not but \
    what all were when we there can an your which their said if do will each how she up out them then many some \
    so these would other into has more her two like him see time could no make than first been its who now people \
    my made over did down only way find use may water long little very after words called just where most know \
    session entry model answer tool result function because therefore however between measure storage commit";

/// How many words there are besides.
const VOCABULARY: usize = 6_000;
const SYLLABLES: [&str; 48] = [
    "ba", "con", "de", "ex", "fer", "ga", "hol", "in", "jo", "ka", "lu", "men", "no", "or", "per", "qua",
    "re", "sta", "tion", "un", "ver", "win", "ay", "ze", "ment", "ing", "er", "ly", "al", "ous", "ble",
    "ter", "pro", "com", "dis", "mar", "low", "ness", "tra", "vi", "sen", "cal", "pi", "ru", "the", "mo",
    "li", "est",
];

/// splitmix64: the same numbers in every run.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Someone who writes.
#[derive(Debug)]
pub(crate) struct Author {
    words: Vec<String>,
    random: Random,
}

impl Author {
    pub(crate) fn new(seed: u64) -> Self {
        // Every author has the same vocabulary.
        let mut random = Random::new(11);
        let mut words: Vec<String> = COMMON.split_whitespace().map(str::to_owned).collect();
        while words.len() < VOCABULARY {
            let count = 2 + random.below(3);
            words.push((0..count).map(|_| SYLLABLES[random.below(SYLLABLES.len())]).collect());
        }
        Self { words, random: Random::new(seed) }
    }

    /// The word of a rank; rank 0 is the most frequent.
    pub(crate) fn word(&self, rank: usize) -> &str {
        &self.words[rank]
    }

    /// Text of about `size_bytes`, in whole words.
    pub(crate) fn text(&mut self, size_bytes: usize) -> String {
        let mut text = String::with_capacity(size_bytes + 16);
        let mut sentence = 0;
        while text.len() < size_bytes {
            // A rank drawn evenly on a logarithmic scale: how often a word comes falls as its rank rises.
            let rank = (self.words.len() as f64).powf(self.random.unit()) as usize - 1;
            let word = &self.words[rank.min(self.words.len() - 1)];
            if sentence == 0 {
                text.push_str(&word[..1].to_uppercase());
                text.push_str(&word[1..]);
            } else {
                text.push_str(word);
            }
            sentence += 1;
            let ends = sentence > 4 && self.random.below(10) == 0;
            text.push_str(if ends { ". " } else { " " });
            sentence = if ends { 0 } else { sentence };
        }
        text
    }

    /// Many texts of one size, to draw from while the clock runs.
    pub(crate) fn texts(&mut self, count: usize, size_bytes: usize) -> Vec<String> {
        (0..count).map(|_| self.text(size_bytes)).collect()
    }

    /// Cuts a text as a model streams it: two to four tokens of about four letters at a time.
    pub(crate) fn streamed<'a>(&mut self, text: &'a str) -> Vec<&'a str> {
        let mut chunks = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let size_bytes = 4 * (2 + self.random.below(3));
            let (chunk, after) = rest.split_at(size_bytes.min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        chunks
    }
}
