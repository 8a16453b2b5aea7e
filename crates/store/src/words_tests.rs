//! Tests of word boundaries, folding and marks.

use super::*;

fn finds(text: &str, query: &str) -> bool {
    let words = words(text);
    let phrases = phrases(query);
    !phrases.is_empty() && phrases.iter().all(|phrase| phrase.is_in(&words))
}

#[test]
fn spellings_of_one_word_are_one_word() {
    let spellings: [&[&str]; 14] = [
        &["Föhn", "fohn", "FÖHN", "fo\u{308}hn"],
        &["café", "CAFE", "cafe\u{301}"],
        &["Straße", "STRASSE", "strasse", "STRAẞE"],
        &["İstanbul", "istanbul", "ISTANBUL", "Istanbul", "ıstanbul"],
        &["ΟΔΥΣΣΕΥΣ", "Οδυσσεύς", "οδυσσευσ"],
        &["Ёлка", "елка", "ЁЛКА"],
        &["smørrebrød", "SMORREBROD"],
        &["ﬁnal", "FINAL", "ｆｉｎａｌ"],
        &["مُحَمَّد", "محمد"],
        &["می\u{200c}خواهم", "میخواهم"],
        &["שָׁלוֹם", "שלום"],
        &["ｶﾞｲﾄﾞ", "ガイド", "カ\u{3099}イト\u{3099}"],
        &["한국", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}"],
        &["Zürich", "zu\u{ad}rich"],
    ];
    for same in spellings {
        for one in same {
            assert_eq!(indexed(one), indexed(same[0]), "{one}");
        }
    }
}

#[test]
fn letters_that_differ_stay_apart() {
    for (text, query) in [("किताब", "कताब"), ("หมา", "หมี"), ("かき", "かぎ"), ("heron", "crane")]
    {
        assert!(!finds(text, query), "{query} in {text}");
    }
    assert_eq!(indexed("हिन्दी में"), "हिन्दी में", "a virama does not cut a word");
}

#[test]
fn scripts_without_spaces_are_found_by_every_stretch() {
    for text in ["今日は日本語の文章を書きます", "สวัสดีชาวโลก", "한국어문장입니다", "iPhoneを2台買うLINEで"]
    {
        let letters: Vec<char> = text.chars().collect();
        for from in 0..letters.len() {
            for until in from + 1..=letters.len() {
                let query: String = letters[from..until].iter().collect();
                // A word of Latin letters is found whole, or by its beginning at the end of a query.
                let cuts = |at: usize| {
                    at > 0
                        && at < letters.len()
                        && letters[at - 1].is_ascii_alphanumeric()
                        && letters[at].is_ascii_alphanumeric()
                };
                if !cuts(from) && !cuts(until) {
                    assert!(finds(text, &query), "{query} in {text}");
                }
            }
        }
    }
    assert_eq!(indexed("日本語"), "日本 本語 語");
    assert!(!finds("日本 本語", "日本語"), "a space is no character between");
}

#[test]
fn the_last_word_of_a_query_is_a_prefix() {
    assert!(finds("a deployment failed", "deploy"));
    assert!(finds("a deployment failed", "failed deploy"));
    assert!(!finds("a deployment failed", "deploy failed"), "only the last one");
    assert!(!finds("a deployment failed", "d"), "too short for a prefix");
    assert!(finds("a well-known heron", "well-kno"));
    assert!(!finds("a well-known heron", "known-well"));
    for nothing in ["", " ", "-", "\"", "\u{0}", "*"] {
        assert_eq!(phrases(nothing), []);
    }
}

#[test]
fn marks_cover_what_was_looked_for() {
    let marked = |text: &'static str, query| -> Vec<&str> {
        marks(text, query).into_iter().map(|mark| &text[mark]).collect()
    };
    assert_eq!(marked("Füße im Föhn", "fohn fusse"), ["Füße", "Föhn"]);
    assert_eq!(marked("A heron, two Herons", "heron"), ["heron", "Herons"]);
    assert_eq!(marked("今日は日本語の文章", "日本語"), ["日本語"]);
    assert_eq!(marked("今日は日本語の文章", "日"), ["日", "日"]);
    assert_eq!(marked("a well-known heron, known well", "well-known"), ["well-known"]);
    assert_eq!(marked("cafe\u{301} noir", "café"), ["cafe\u{301}"]);
}

#[test]
fn long_words_are_cut_alike_in_texts_and_queries() {
    let long = "ü".repeat(WORD_CHARS_MAX * 3);
    assert_eq!(indexed(&long).chars().count(), WORD_CHARS_MAX);
    assert!(finds(&long, &long));
}

#[test]
fn the_words_of_a_text_are_bounded_whatever_it_is_made_of() {
    // Each of these characters is a phrase of eighteen.
    let text = "\u{fdfa}".repeat(1_390_000);
    assert!(indexed(&text).len() < 2 * WORDS_BYTES_MAX);
    // The largest message is indexed to its end.
    let text = format!("{} heron", "日".repeat(1_390_000));
    assert!(indexed(&text).ends_with(" heron"));
}
