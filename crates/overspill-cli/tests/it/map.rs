//! The map of a code base: as an agent calls it, as people do, with its cache in the user's cache directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Sandbox, names, valid_envelope};

/// A code base of two languages.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "src/store.rs",
        "pub struct SpillStore;\n\nimpl SpillStore {\n    pub fn open_store(dir: &str) -> SpillStore {\n        SpillStore\n    }\n}\n",
    );
    sandbox.write(
        "src/main.rs",
        "mod store;\nuse store::SpillStore;\n\nfn main() {\n    SpillStore::open_store(\".\");\n}\n",
    );
    sandbox.write("web/make.py", "def build_all(root):\n    pass\n");
    sandbox.write("web/run.py", "from make import build_all\nbuild_all('.')\n");
    sandbox
}

fn call(sandbox: &Sandbox, flags: &[&str], params: &Value) -> Value {
    sandbox.call(flags, "RepoMap", params)
}

#[test]
fn people_see_the_map() {
    let sandbox = project();
    insta::assert_snapshot!(sandbox.run(&["map"]).report(), @r"
    exit 0
    --- stdout
    Map of '.': 4 of 4 definitions in 4 files, those most referred to

    web/make.py
    1: def build_all(root)

    src/store.rs
    1: pub struct SpillStore
    3: impl SpillStore
    4:   pub fn open_store(dir: &str) -> SpillStore

    src/main.rs
    4: fn main()
    ");
    insta::assert_snapshot!(sandbox.run(&["map", "web", "--max-tokens", "40"]).report(), @r"
    exit 0
    --- stdout
    Map of 'web': 1 of 1 definitions in 2 files, those most referred to

    web/make.py
    1: def build_all(root)
    ");
    let data = sandbox.run(&["map", "--format", "json"]).quietly(0).json();
    assert_eq!(data["languages"], json!({ "Python": 2, "Rust": 2 }));
    let chinese = sandbox.run(&["--lang", "zh", "map", "web"]).quietly(0);
    assert!(chinese.text().starts_with("'web' 的代码地图"));
}

#[test]
fn an_answer_says_what_it_is_of() {
    let sandbox = project();
    let mut envelope = call(
        &sandbox,
        &[],
        &json!({ "path": "web", "query": "build_all" }),
    );
    envelope["stats"]["time_ms"] = json!(0);
    assert_eq!(
        envelope,
        json!({
            "status": "success",
            "data": {
                "map": "web/make.py\n1: def build_all(root)",
                "definitions": 1,
                "total_definitions": 1,
                "files": 2,
                "languages": { "Python": 2 },
                "skipped": { "too_large": 0, "unparsed": 0, "binary": 0, "unreadable": 0 },
            },
            "text": "Map of 'web': 1 of 1 definitions in 2 files, those most referred to\n\nweb/make.py\n1: def build_all(root)",
            "stats": { "time_ms": 0, "parsed_files": 2, "shown_definitions": 1, "cached_files": 0 },
            "context": {
                "cwd": ".",
                "params_input": { "path": "web", "query": "build_all" },
                "path_resolved": "web",
                "truncation_skip": true,
            },
        })
    );
    for (params, code) in [
        (json!({ "path": "../.." }), "ACCESS_DENIED"),
        (json!({ "path": "none" }), "NOT_FOUND"),
        (json!({ "path": "src/main.rs" }), "INVALID_PARAM"),
        (json!({ "focus": "/etc/passwd" }), "ACCESS_DENIED"),
        (json!({ "focus": "none.rs" }), "NOT_FOUND"),
        (json!({ "max_tokens": 0 }), "INVALID_PARAM"),
        (json!({ "tokens": 5 }), "INVALID_PARAM"),
    ] {
        assert_eq!(
            call(&sandbox, &[], &params)["error"]["code"],
            code,
            "{params}"
        );
    }
}

#[test]
fn the_setting_holds_where_the_call_says_nothing() {
    let sandbox = project();
    let tokens =
        |envelope: &Value| overspill::Encoding::O200k.count(envelope["text"].as_str().unwrap());
    sandbox.write("overspill.yaml", "tools:\n  RepoMap: {max_tokens: 45}\n");
    let set = call(&sandbox, &[], &json!({}));
    assert!(
        tokens(&set) <= 45 && set["data"]["definitions"].as_u64() < Some(4),
        "{set}"
    );
    let given = call(&sandbox, &[], &json!({ "max_tokens": 500 }));
    assert_eq!(given["data"]["definitions"], 4);
    for max in ["1", "7", "20"] {
        let flagged = call(&sandbox, &["--max-tokens", max], &json!({}));
        assert!(tokens(&flagged) <= max.parse().unwrap(), "{max}: {flagged}");
    }
    // The guard is on the whole message, escapes included.
    let guarded = sandbox.run(&["--max-result-chars", "900", "call", "RepoMap", "{}"]);
    assert!(
        guarded.text().trim_end().chars().count() <= 900,
        "{}",
        guarded.text()
    );
    valid_envelope(&guarded);
}

#[test]
fn tags_are_kept_in_the_cache_directory_of_the_user_and_nowhere_else() {
    let sandbox = project();
    let before = sandbox.snapshot();
    let first = sandbox.run(&["map"]).quietly(0).text();
    let kept = sandbox.home().join(".cache/overspill/repo-map");
    assert_eq!(names(&kept).len(), 1, "{:?}", names(&kept));
    std::thread::sleep(Duration::from_millis(2100));
    for _ in 0..2 {
        assert_eq!(sandbox.run(&["map"]).quietly(0).text(), first);
    }
    assert_eq!(call(&sandbox, &[], &json!({}))["stats"]["cached_files"], 4);
    let chosen = sandbox.outside().join("elsewhere");
    let mut command = sandbox.command(&["map"]);
    command.env("XDG_CACHE_HOME", &chosen);
    assert_eq!(sandbox.finish(command, b"").quietly(0).text(), first);
    assert!(chosen.join("overspill/repo-map").is_dir());
    for name in names(&kept) {
        fs::write(kept.join(name), b"ovspmap1 but not really").unwrap();
    }
    assert_eq!(sandbox.run(&["map"]).quietly(0).text(), first);
    // Without a home there is no cache, and no trouble.
    let mut command = sandbox.command(&["map"]);
    command.env_remove("HOME");
    assert_eq!(sandbox.finish(command, b"").quietly(0).text(), first);
    assert_eq!(sandbox.snapshot(), before);
}

#[test]
fn several_processes_share_the_cache() {
    let sandbox = project();
    for n in 0..40 {
        sandbox.write(
            &format!("src/m{n}.rs"),
            format!(
                "pub struct Thing{n};\npub fn use_{n}() {{ crate::Thing{}; }}\n",
                (n + 1) % 40
            ),
        );
    }
    let mut plain = sandbox.command(&["map"]);
    plain.env_remove("HOME");
    let plain = sandbox.finish(plain, b"").quietly(0).text();
    for _ in 0..3 {
        let children: Vec<_> = (0..6)
            .map(|_| {
                let mut command = sandbox.command(&["map"]);
                command
                    .stdout(std::process::Stdio::piped())
                    .stderr(std::process::Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        for child in children {
            assert_eq!(sandbox.end(child).quietly(0).text(), plain);
        }
    }
    let kept = names(&sandbox.home().join(".cache/overspill/repo-map"));
    assert!(kept.iter().all(|name| !name.ends_with(".new")), "{kept:?}");
}

#[test]
fn nothing_outside_the_root_is_in_the_map() {
    let sandbox = project();
    fs::write(
        sandbox.outside().join("secret.rs"),
        "pub struct TheSecret;\n",
    )
    .unwrap();
    fs::create_dir(sandbox.outside().join("dir")).unwrap();
    fs::write(
        sandbox.outside().join("dir/secret.py"),
        "class TheSecret: pass\n",
    )
    .unwrap();
    symlink("../../secret.rs", sandbox.root().join("src/link.rs")).unwrap();
    symlink("../../dir", sandbox.root().join("src/dir")).unwrap();
    sandbox.write("src/user.rs", "fn f() { TheSecret; }\n");
    let envelope = call(&sandbox, &[], &json!({ "query": "TheSecret" }));
    assert!(!envelope.to_string().contains("secret."), "{envelope}");
    assert!(!envelope["text"].as_str().unwrap().contains("TheSecret"));
}

#[test]
fn a_call_returns_when_its_time_is_over() {
    let sandbox = Sandbox::new();
    for n in 0..300 {
        let text: String = (0..300)
            .map(|m| format!("pub fn function_{n}_{m}(a: u8) -> u8 {{ a + {m} }}\n"))
            .collect();
        sandbox.write(&format!("src/m{n}.rs"), text);
    }
    let envelope = call(&sandbox, &["--search-timeout-ms", "60"], &json!({}));
    match envelope["status"].as_str().unwrap() {
        "partial" => {
            assert_eq!(envelope["data"]["aborted_reason"], "timeout");
            assert!(
                envelope["text"]
                    .as_str()
                    .unwrap()
                    .contains("time limit of 60ms"),
                "{envelope}"
            );
        }
        "error" => assert_eq!(envelope["error"]["code"], "TIMEOUT"),
        other => panic!("{other}: 90,000 definitions in 60 ms"),
    }
    // What was parsed is not lost: with enough calls all is known.
    let known = |envelope: &Value| envelope["stats"]["cached_files"].as_u64().unwrap_or(0);
    let whole = call(&sandbox, &[], &json!({}));
    assert_eq!(
        (&whole["status"], &whole["data"]["files"]),
        (&json!("success"), &json!(300))
    );
    assert!(known(&whole) < 300);
}
