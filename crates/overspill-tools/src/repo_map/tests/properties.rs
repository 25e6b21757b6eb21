//! What holds for any code base.

use overspill::Limits;
use proptest::prelude::{
    ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, proptest,
};

use super::*;
use crate::repo_map::graph::Graph;
use crate::repo_map::rank::rank;

/// Code bases of a few files that define some of a few names and refer to others.
fn bases() -> impl Strategy<Value = Vec<(String, String)>> {
    let word = prop::sample::select(vec![
        "alpha_one",
        "beta_two",
        "gamma_three",
        "delta_four",
        "eps",
        "zeta",
        "eta_long_name_of_many_words",
        "漢字の名",
    ]);
    let file = (
        prop::collection::vec(word.clone(), 0..5),
        prop::collection::vec(word, 0..8),
        0..4_usize,
    );
    prop::collection::vec(file, 1..7).prop_map(|files| {
        let text = |(defined, used, dir): (Vec<&str>, Vec<&str>, usize), at: usize| {
            let definitions = defined
                .iter()
                .map(|name| format!("def {name}(argument, other):\n    pass\n"));
            let uses = used.iter().map(|name| format!("{name}(1)\n"));
            let dir = ["", "src/", "tests/", "vendor/"][dir];
            (format!("{dir}f{at}.py"), definitions.chain(uses).collect())
        };
        files
            .into_iter()
            .zip(0..)
            .map(|(file, at)| text(file, at))
            .collect()
    })
}

fn base(files: &[(String, String)]) -> Base {
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    Base::new(&files)
}

fn sources(base: &Base, files: &[(String, String)]) -> Sources {
    let mut paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    paths.sort_unstable();
    parsed(&base.root(), &paths)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_map_is_never_over_its_tokens(files in bases(), max_tokens in 1..400_usize) {
        let base = base(&files);
        let envelope = base.map(json!({ "max_tokens": max_tokens }));
        prop_assert!(!envelope.text.is_empty());
        let tokens = Encoding::O200k.count(&envelope.text);
        prop_assert!(tokens <= max_tokens as u64, "{} tokens of {}: {}", tokens, max_tokens, envelope.text);
        let again = base.map(json!({ "max_tokens": max_tokens }));
        prop_assert_eq!((&envelope.text, &envelope.data), (&again.text, &again.data));
        let cached = base.cached(json!({ "max_tokens": max_tokens }));
        prop_assert_eq!((&envelope.text, &envelope.data), (&cached.text, &cached.data));
    }

    #[test]
    fn ranks_add_up_to_one(files in bases(), chosen in 0..7_usize) {
        let base = base(&files);
        let sources = sources(&base, &files);
        let graph = Graph::new(&sources, |_| 1.0);
        let even = vec![1.0; files.len()];
        let ranks = rank(&graph, &even);
        let sum: f64 = ranks.files.iter().sum();
        prop_assert!((sum - 1.0).abs() < 1e-9, "{}", sum);
        let again = rank(&graph, &even);
        prop_assert_eq!(&ranks.files, &again.files);
        // A reader who starts more often at a file is there more often.
        let chosen = chosen % files.len();
        let mut starts = even;
        starts[chosen] = 10.0;
        let raised = rank(&graph, &starts);
        prop_assert!(raised.files[chosen] >= ranks.files[chosen] - 1e-9);
        // Where the chosen one is not the only file it is there truly more often, unless all ways lead away from it.
        prop_assert!(files.len() == 1 || raised.files[chosen] > ranks.files[chosen] - 1e-9);
    }

    #[test]
    fn any_bytes_are_no_cache(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let whole = [b"ovspmap1".as_slice(), &cache::fingerprint().to_le_bytes(), &bytes].concat();
        prop_assert!(codec::decode(&whole, cache::fingerprint(), b"").is_none());
        prop_assert!(codec::decode(&bytes, cache::fingerprint(), b"").is_none());
    }

    #[test]
    fn what_is_kept_comes_back(files in bases()) {
        let base = base(&files);
        let sources = sources(&base, &files);
        let bytes = codec::encode(&sources, &[], 7, b"root");
        let back = codec::decode(&bytes, 7, b"root").unwrap();
        prop_assert_eq!(back.files.len(), sources.files.len());
        for (a, b) in back.files.iter().zip(&sources.files) {
            prop_assert_eq!(&a.path, &b.path);
            let names = |sources: &Sources, file: &sources::Source| -> Vec<Vec<u8>> {
                let defined = file.definitions.iter().map(|d| d.name);
                let referred = file.references.iter().map(|r| r.0);
                defined.chain(referred).map(|name| sources.names.name(name).to_vec()).collect()
            };
            prop_assert_eq!(names(&back, a), names(&sources, b));
        }
        prop_assert!(codec::decode(&bytes, 8, b"root").is_none());
        prop_assert!(codec::decode(&bytes, 7, b"other").is_none());
    }

    #[test]
    fn any_text_has_tags_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400), language in 0..15_usize) {
        let mut tagger = super::super::tags::Tagger::new();
        if let Some(tags) = tagger.tags(language, &bytes, || false) {
            for definition in &tags.definitions {
                prop_assert!(definition.start as usize + usize::from(definition.bytes) <= bytes.len());
            }
        }
    }
}

#[test]
fn the_room_there_is_is_used() {
    let mut files: Vec<(String, String)> = (0..60)
        .map(|n| {
            (
                format!("f{n}.py"),
                format!("def function_number_{n}(first, second, third):\n    pass\n"),
            )
        })
        .collect();
    let uses: String = (0..60)
        .map(|n| format!("function_number_{n}(1, 2, 3)\n"))
        .collect();
    files.push(("user.py".to_owned(), uses));
    let base = base(&files);
    for max_tokens in [100, 300, 700] {
        let envelope = base.map(json!({ "max_tokens": max_tokens }));
        let tokens = Encoding::O200k.count(&envelope.text);
        assert!(
            tokens <= max_tokens && tokens + 30 > max_tokens,
            "{tokens} of {max_tokens}"
        );
    }
    let limits = Limits::none().tokens(3);
    assert!(!is_within("a map of some length", &limits) && is_within("a map", &limits));
}
