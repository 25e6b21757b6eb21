//! Tags of each language, ranks, the cache, and that a map is within its tokens whatever the code is.

mod languages;
mod properties;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use overspill::{Code, Encoding, Envelope, Host, Settings, Status, call};
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A code base in a scratch directory, with a cache beside it.
struct Base {
    dir: TempDir,
}

impl Base {
    fn new(files: &[(&str, &str)]) -> Base {
        let dir = tempfile::tempdir().unwrap();
        let base = Base { dir };
        for (path, text) in files {
            base.write(path, text);
        }
        base
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    /// Writes a file that last changed long ago, as far as anybody can say so.
    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let old = SystemTime::now() - Duration::from_secs(3600);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(old).unwrap();
    }

    fn host(&self) -> Host {
        let root = self.root().canonicalize().unwrap();
        Host::new(&root, Settings::new())
    }

    fn map(&self, params: serde_json::Value) -> Envelope {
        call(&RepoMap, &self.host(), params)
    }

    fn cached(&self, params: serde_json::Value) -> Envelope {
        call(&RepoMap, &self.host().with_cache(&self.cache()), params)
    }

    /// The files of the cache with this ending.
    fn kept(&self, ending: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.cache().join("repo-map")) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|own| own == ending))
            .collect();
        paths.sort();
        paths
    }
}

/// Two files that use a third, and one that nobody uses.
fn small() -> Base {
    Base::new(&[
        ("src/lib.rs", "pub mod store;\npub mod a;\npub mod b;\n"),
        (
            "src/store.rs",
            "use std::fs::File;\n\npub struct SpillStore {\n    dir: u8,\n}\n\nimpl SpillStore {\n    pub fn open_store(dir: u8) -> SpillStore {\n        SpillStore { dir }\n    }\n}\n\nfn helper() {}\n",
        ),
        (
            "src/a.rs",
            "use crate::store::SpillStore;\npub fn first_user() { SpillStore::open_store(1); }\n",
        ),
        (
            "src/b.rs",
            "use crate::store::SpillStore;\npub fn second_user(store: &SpillStore) {}\n",
        ),
        ("src/lonely.rs", "pub struct Nobody;\n"),
    ])
}

/// The definitions of a map, a line each, without paths and numbers.
fn shown(envelope: &Envelope) -> Vec<String> {
    let map = envelope.data["map"].as_str().unwrap();
    map.lines()
        .filter_map(|line| Some(line.split_once(": ")?.1.trim().to_owned()))
        .collect()
}

#[test]
fn what_others_use_comes_first() {
    let base = small();
    let envelope = base.map(json!({}));
    assert_eq!(
        envelope.text,
        "Map of '.': 6 of 6 definitions in 5 files, those most referred to\n\n\
         src/store.rs\n3: pub struct SpillStore\n7: impl SpillStore\n8:   pub fn open_store(dir: u8) -> SpillStore\n13: fn helper()\n\n\
         src/lonely.rs\n1: pub struct Nobody\n\n\
         src/a.rs\n2: pub fn first_user()\n\n\
         src/b.rs\n2: pub fn second_user(store: &SpillStore)"
    );
    assert_eq!(envelope.status, Status::Success);
    let mut data = serde_json::Value::Object(envelope.data);
    data["map"] = json!(null);
    assert_eq!(
        data,
        json!({
            "map": null,
            "definitions": 6,
            "total_definitions": 6,
            "files": 5,
            "languages": { "Rust": 5 },
            "skipped": { "too_large": 0, "unparsed": 0, "binary": 0, "unreadable": 0 },
        })
    );
}

#[test]
fn a_small_map_has_the_best() {
    let base = small();
    let envelope = base.map(json!({ "max_tokens": 40 }));
    assert_eq!(shown(&envelope)[0], "pub struct SpillStore");
    assert!(envelope.data["definitions"].as_u64() < envelope.data["total_definitions"].as_u64());
    assert!(Encoding::O200k.count(&envelope.text) <= 40);
}

#[test]
fn what_the_call_is_about_rises() {
    let base = Base::new(&[
        ("lib.py", "class CommonThing:\n    pass\n"),
        ("rare.py", "class RareThing:\n    pass\n"),
        ("user1.py", "from lib import CommonThing\nCommonThing()\n"),
        ("user2.py", "from lib import CommonThing\nCommonThing()\n"),
        ("special.py", "from rare import RareThing\nRareThing()\n"),
    ]);
    assert_eq!(
        shown(&base.map(json!({}))),
        ["class CommonThing", "class RareThing"]
    );
    for params in [
        json!({ "focus": "special.py" }),
        json!({ "query": "RareThing" }),
        json!({ "query": "where is rare used?" }),
    ] {
        assert_eq!(
            shown(&base.map(params.clone()))[0],
            "class RareThing",
            "{params}"
        );
    }
    let missing = base.map(json!({ "focus": "lib.py, none.py" }));
    assert_eq!(missing.error.unwrap().message, "'none.py' does not exist.");
    let outside = base.map(json!({ "focus": "../.." }));
    assert_eq!(outside.error.unwrap().code, Code::AccessDenied);
}

#[test]
fn tests_and_what_is_vendored_or_generated_count_less() {
    let user = |name: &str| format!("import {{ {name} }} from './x';\nnew {name}();\n");
    for path in [
        "vendor/x.ts",
        "src/x.test.ts",
        "node_modules/x.ts",
        "gen/x.ts",
    ] {
        let mark = if path.starts_with("gen") {
            "// @generated\n"
        } else {
            ""
        };
        let base = Base::new(&[
            (path, &format!("{mark}export class OtherThing {{}}\n")),
            ("src/own.ts", "export class OwnThing {}\n"),
            ("src/a.ts", &user("OtherThing")),
            ("src/b.ts", &user("OtherThing")),
            ("src/c.ts", &user("OwnThing")),
        ]);
        assert_eq!(
            shown(&base.map(json!({})))[..2],
            ["export class OwnThing", "export class OtherThing"],
            "{path}"
        );
    }
}

#[test]
fn what_is_ignored_linked_or_unreadable_is_left_out() {
    let base = small();
    fs::create_dir(base.root().join(".git")).unwrap();
    base.write(".gitignore", "build\n");
    base.write("build/out.rs", "pub struct Built;\n");
    fs::write(base.dir.path().join("secret.rs"), "pub struct Secret;\n").unwrap();
    std::os::unix::fs::symlink("../../secret.rs", base.root().join("src/link.rs")).unwrap();
    std::os::unix::fs::symlink("../..", base.root().join("src/up")).unwrap();
    base.write("src/data.rs", "pub struct Binary;\0");
    base.write(
        "src/large.rs",
        format!("pub struct Large;\n{}", " ".repeat(1 << 20)),
    );
    base.write("src/latin.rs", b"pub struct Latin; // caf\xE9\n");
    base.write("src/broken.py", "((((((((\n");
    let envelope = base.map(json!({}));
    let shown = shown(&envelope);
    for absent in ["Built", "Secret", "Binary", "Large"] {
        assert!(!envelope.text.contains(absent), "{absent}");
    }
    assert!(shown.contains(&"pub struct Latin".to_owned()), "{shown:?}");
    assert_eq!(
        envelope.data["skipped"],
        json!({ "too_large": 1, "unparsed": 1, "binary": 1, "unreadable": 0 })
    );
    assert!(
        envelope
            .text
            .contains("[Skipped files: 1 over 1 MiB, 1 that do not parse, 1 binary.]"),
        "{}",
        envelope.text
    );
}

#[test]
fn a_part_of_the_code_is_mapped_by_itself() {
    let base = Base::new(&[
        ("a/one.go", "package a\n\ntype AlphaThing struct{}\n"),
        ("b/two.go", "package b\n\ntype BetaThing struct{}\n"),
    ]);
    let envelope = base.map(json!({ "path": "b" }));
    assert_eq!(shown(&envelope), ["type BetaThing struct"]);
    assert!(
        envelope.text.starts_with("Map of 'b': 1 of 1"),
        "{}",
        envelope.text
    );
    let none = Base::new(&[("a.txt", "x")]).map(json!({}));
    assert_eq!(none.text, "No definitions found in '.'");
}

#[test]
fn a_call_without_time_or_that_nobody_wants_says_so() {
    let base = small();
    let stopped = Arc::new(AtomicBool::new(true));
    let envelope = call(&RepoMap, &base.host().cancelled_by(stopped), json!({}));
    assert_eq!(envelope.error.unwrap().code, Code::Timeout);
}

/// Waits until the times of files tell of every further change.
fn settle() {
    std::thread::sleep(Duration::from_millis(2100));
}

#[test]
fn the_cache_changes_nothing_but_the_time() {
    let base = small();
    let plain = base.map(json!({}));
    let first = base.cached(json!({}));
    // What has just changed may change again unseen: its tags are known by its content, and no map is kept.
    assert_eq!((base.kept("tags").len(), base.kept("maps").len()), (1, 0));
    assert_eq!(first.stats["cached_files"], 0);
    settle();
    let by_content = base.cached(json!({}));
    assert_eq!(by_content.stats["cached_files"], 0);
    assert_eq!(base.kept("maps").len(), 1);
    let by_map = base.cached(json!({}));
    assert_eq!(by_map.stats["cached_files"], 5);
    // Another question of the same files finds their tags.
    let other = base.cached(json!({ "max_tokens": 60 }));
    assert_eq!(other.stats["cached_files"], 5);
    assert_eq!(other.text, base.map(json!({ "max_tokens": 60 })).text);
    for envelope in [&first, &by_content, &by_map] {
        assert_eq!((&envelope.text, &envelope.data), (&plain.text, &plain.data));
    }
    base.write("src/lonely.rs", "pub struct Somebody;\n");
    fs::remove_file(base.root().join("src/b.rs")).unwrap();
    let changed = base.cached(json!({}));
    assert_eq!(changed.stats["cached_files"], 3);
    assert_eq!(changed.text, base.map(json!({})).text);
    assert!(changed.text.contains("Somebody") && !changed.text.contains("second_user"));
}

#[test]
fn a_part_does_not_make_the_cache_forget_the_rest() {
    let base = small();
    base.write("other/x.rs", "pub struct Elsewhere;\n");
    settle();
    base.cached(json!({}));
    base.write("other/y.rs", "pub struct Fresh;\n");
    assert_eq!(
        base.cached(json!({ "path": "other" })).stats["cached_files"],
        1
    );
    assert_eq!(
        base.cached(json!({ "max_tokens": 99 })).stats["cached_files"],
        6
    );
}

#[test]
fn a_damaged_cache_is_as_good_as_none() {
    let base = small();
    settle();
    let plain = base.map(json!({}));
    base.cached(json!({}));
    let [tags] = &base.kept("tags")[..] else {
        panic!("no cache")
    };
    let [maps] = &base.kept("maps")[..] else {
        panic!("no maps")
    };
    let whole = fs::read(tags).unwrap();
    let sources = codec::decode(
        &whole,
        cache::fingerprint(),
        base.root()
            .canonicalize()
            .unwrap()
            .as_os_str()
            .as_encoded_bytes(),
    );
    assert_eq!(sources.unwrap().files.len(), 5);
    fs::write(maps, "{\"maps\":").unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        assert!(codec::decode(&damaged, cache::fingerprint(), &[]).is_none());
    }
    for damaged in [&whole[..whole.len() / 2], &[], &[0xFF; 4000], b"ovspmap1"] {
        fs::write(tags, damaged).unwrap();
        fs::write(maps, damaged).unwrap();
        let envelope = base.cached(json!({}));
        assert_eq!((&envelope.text, &envelope.data), (&plain.text, &plain.data));
    }
    // Nor does it matter whether it can be written at all.
    fs::remove_dir_all(base.cache()).unwrap();
    fs::write(base.cache(), "a file in its place").unwrap();
    assert_eq!(base.cached(json!({})).text, plain.text);
}

#[test]
fn a_cache_is_not_read_through_a_link_nor_believed_for_another_root() {
    let (base, other) = (small(), Base::new(&[("a.rs", "pub struct Other;\n")]));
    settle();
    base.cached(json!({}));
    let tags = base.kept("tags").remove(0);
    let moved = tags.with_extension("moved");
    fs::rename(&tags, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &tags).unwrap();
    fs::remove_file(base.kept("maps").remove(0)).unwrap();
    assert_eq!(base.cached(json!({})).stats["cached_files"], 0);
    other.cached(json!({}));
    fs::copy(&moved, other.kept("tags").remove(0)).unwrap();
    for path in other.kept("maps") {
        fs::remove_file(path).unwrap();
    }
    let envelope = other.cached(json!({}));
    assert_eq!(
        (&*shown(&envelope), &envelope.stats["cached_files"]),
        (&["pub struct Other".to_owned()][..], &json!(0))
    );
}

#[test]
fn several_at_once_give_the_same() {
    let base = small();
    settle();
    let plain = base.map(json!({})).text;
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8)
            .map(|n| {
                scope.spawn({
                    let base = &base;
                    move || {
                        base.write(&format!("noise/{n}.txt"), "x");
                        base.cached(json!({})).text
                    }
                })
            })
            .collect();
        for call in calls {
            assert_eq!(call.join().unwrap(), plain);
        }
    });
    assert_eq!((base.kept("tags").len(), base.kept("new").len()), (1, 0));
}

#[test]
fn the_least_used_root_goes_first() {
    let base = small();
    base.cached(json!({}));
    let dir = base.cache().join("repo-map");
    let place = |name: &str, bytes: u64, age: u64| {
        let file = fs::File::create(dir.join(name)).unwrap();
        file.set_len(bytes).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age))
            .unwrap();
    };
    place("0000000000000001.tags", 200 << 20, 50);
    place("0000000000000002.tags", 100 << 20, 90);
    place("0000000000000003.0001.new", 1, 7200);
    place("0000000000000004.0001.new", 1, 10);
    place("notes.txt", 300 << 20, 999_999);
    base.write("src/more.rs", "pub struct More;\n");
    base.cached(json!({}));
    let exists = |name: &str| dir.join(name).exists();
    assert!(exists("0000000000000001.tags") && exists("0000000000000004.0001.new"));
    assert!(!exists("0000000000000002.tags") && !exists("0000000000000003.0001.new"));
    assert!(exists("notes.txt") && base.kept("tags").len() == 2);
}

#[test]
fn a_private_name_means_that_of_its_own_place() {
    let base = Base::new(&[
        ("a/api.go", "package a\n\nfunc Run() { doWork() }\n"),
        ("a/work.go", "package a\n\nfunc doWork() {}\n"),
        (
            "b/api.go",
            "package b\n\nfunc Walk() { doWork(); doWork() }\n",
        ),
        ("b/work.go", "package b\n\nfunc doWork() {}\n"),
        (
            "c/one.c",
            "static int do_it(void) { return 1; }\nint main(void) { return do_it(); }\n",
        ),
        (
            "c/two.c",
            "int other(void) { return do_it(); }\nint second(void) { return shared_one(); }\n",
        ),
        (
            "c/three.h",
            "static inline int shared_one(void) { return 2; }\n",
        ),
    ]);
    let envelope = base.map(json!({ "path": "c" }));
    assert_eq!(shown(&envelope)[0], "static inline int shared_one(void)");
    let sources = parsed(
        &base.root(),
        &["a/api.go", "a/work.go", "b/api.go", "b/work.go"],
    );
    let graph = graph::Graph::new(&sources, |_| 1.0);
    // Each package has a name of its own for what it does not give away.
    let targets: Vec<u32> = [0, 2]
        .map(|file: usize| graph.references[file][0].0)
        .to_vec();
    assert_eq!(targets, [graph.definitions[1][0], graph.definitions[3][0]]);
    assert_ne!(targets[0], targets[1]);
}

/// Parses files of a scratch root.
fn parsed(root: &Path, paths: &[&str]) -> Sources {
    let mut names = super::names::Names::default();
    let mut tagger = super::tags::Tagger::new();
    let mut files = Vec::new();
    for path in paths {
        let text = fs::read(root.join(path)).unwrap();
        let language = language::of_path(path.as_bytes()).unwrap();
        let tags = tagger.tags(language, &text, || false).unwrap();
        let family = LANGUAGES[language].family as u8;
        let number = |names: &mut super::names::Names, name: u32| {
            names.number(&tags.names[name as usize].0, family).unwrap()
        };
        let mut definitions = tags.definitions.clone();
        for definition in &mut definitions {
            definition.name = number(&mut names, definition.name);
        }
        let references = tags
            .references
            .iter()
            .map(|&(name, count)| (number(&mut names, name), count))
            .collect();
        files.push(sources::Source {
            path: path.as_bytes().into(),
            stamp: None,
            content: sources::hash(&text),
            state: State::Parsed,
            language,
            is_generated: false,
            definitions,
            references,
        });
    }
    Sources { names, files }
}
