//! Ways out of the root. Every tool that takes a path is sent along all of them, and none may bring back a byte from outside.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;

use serde_json::{Map, Value, json};

use crate::grep::{grep, places};
use crate::support::{Output, Sandbox, meanwhile, seq, valid_envelope};

/// Stands in every file outside and in the name of one, and in nothing that a call says.
const SECRET: &str = "kq7-secret-41x";

/// A tool that takes a path.
struct Way {
    tool: String,
    /// The parameter that takes it.
    parameter: &'static str,
    /// The other parameters it needs.
    others: Map<String, Value>,
}

impl Way {
    fn call(&self, sandbox: &Sandbox, path: &str) -> Output {
        let mut params = self.others.clone();
        params.insert(self.parameter.to_owned(), path.into());
        sandbox.run(&["call", &self.tool, &Value::Object(params).to_string()])
    }
}

/// Returns every tool that takes a path.
fn ways(sandbox: &Sandbox) -> Vec<Way> {
    let tools = sandbox.run(&["tools", "--json"]).quietly(0).text();
    let tools: Vec<Value> = serde_json::from_str(&tools).unwrap();
    let ways = tools.iter().filter_map(|tool| {
        let schema = tool.get("parameters").or(tool.get("inputSchema"));
        let known = schema
            .and_then(|schema| schema["properties"].as_object())
            .expect("a schema");
        let parameter = ["path", "cwd"]
            .into_iter()
            .find(|name| known.contains_key(*name))?;
        // What shows the most of whatever is reached.
        let others = [("pattern", "*"), ("command", "cat * .* */*; ls -la; pwd")];
        let mut others: Map<String, Value> = others
            .into_iter()
            .filter(|(name, _)| known.contains_key(*name))
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        if tool["name"] == "Grep" {
            others.insert("pattern".to_owned(), ".".into());
        }
        let tool = tool["name"].as_str().unwrap().to_owned();
        Some(Way {
            tool,
            parameter,
            others,
        })
    });
    let ways: Vec<Way> = ways.collect();
    assert!(ways.iter().any(|way| way.tool == "Grep"));
    ways
}

/// A root with links that lead out of it, and what must not be seen beside it.
fn besieged() -> Sandbox {
    let sandbox = Sandbox::new();
    let (root, outside) = (sandbox.root(), sandbox.outside());
    for dir in ["beside", "beside/below", "root2"] {
        fs::create_dir(outside.join(dir)).unwrap();
    }
    for file in [
        "beside/file.txt",
        "beside/below/file.txt",
        "root2/file.txt",
        "file.txt",
        "home/file.txt",
    ] {
        fs::write(outside.join(file), format!("{SECRET}\n")).unwrap();
    }
    fs::write(outside.join(format!("beside/{SECRET}.txt")), SECRET).unwrap();
    sandbox.write("inside/file.txt", "ordinary\n");
    sandbox.write("inside/deep/file.txt", "ordinary\n");
    let beside = outside.join("beside").canonicalize().unwrap();
    for (target, link) in [
        (beside.join("file.txt").to_str().unwrap(), "file-link"),
        (beside.to_str().unwrap(), "dir-link"),
        ("/etc", "etc"),
        ("..", "up"),
        ("../beside", "relative-link"),
        ("inside/../../beside", "winding-link"),
        ("../../beside", "inside/leaves"),
        ("dir-link", "chain-1"),
        ("chain-1", "chain-2"),
        ("chain-2/below", "chain-3"),
        ("inside/leaves/file.txt", "chain-4"),
        ("../beside/nothing", "dangling"),
        ("dangling", "dangling-chain"),
        ("/proc/self/root", "proc-root"),
        ("loop-b", "loop-a"),
        ("loop-a", "loop-b"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    sandbox
}

/// Panics if anything from outside is in what a call printed.
#[track_caller]
fn keeps_the_secret(output: &Output, what: &str) {
    for stream in [&output.stdout[..], output.stderr.as_bytes()] {
        let text = String::from_utf8_lossy(stream);
        assert!(
            !text.contains(SECRET) && !text.contains("root:x:0"),
            "{what}: {text}"
        );
    }
}

#[test]
fn no_path_leads_outside() {
    let sandbox = besieged();
    let outside = sandbox.outside().canonicalize().unwrap();
    let (root, outside) = (sandbox.root(), outside.to_str().unwrap());
    let root = root.to_str().unwrap();
    let (long, longer) = ("x".repeat(300), "x/".repeat(2500));
    let denied = [
        "..".to_owned(),
        "../file.txt".to_owned(),
        "../beside".to_owned(),
        "../beside/file.txt".to_owned(),
        "./../root2".to_owned(),
        "../root2/file.txt".to_owned(),
        "../missing".to_owned(),
        "inside/../../beside/file.txt".to_owned(),
        "inside/deep/../../../file.txt".to_owned(),
        "missing/../../beside/file.txt".to_owned(),
        "../../../../../../../../../../etc/passwd".to_owned(),
        "/".to_owned(),
        "/etc/passwd".to_owned(),
        "//etc/passwd".to_owned(),
        "/etc/missing".to_owned(),
        "/dev/null".to_owned(),
        "/dev/stdin".to_owned(),
        "/proc/self/environ".to_owned(),
        "/proc/self/root/etc/passwd".to_owned(),
        "/proc/self/cwd/..".to_owned(),
        "/proc/self/cwd/../beside/file.txt".to_owned(),
        "/proc/self/fd/0".to_owned(),
        format!("{root}2"),
        format!("{root}2/file.txt"),
        format!("{root}/.."),
        format!("{root}/../beside/file.txt"),
        format!("{root}/dir-link/file.txt"),
        outside.to_owned(),
        format!("{outside}/beside/file.txt"),
        format!("{outside}/beside/missing"),
        "file-link".to_owned(),
        "dir-link".to_owned(),
        "dir-link/".to_owned(),
        "dir-link/file.txt".to_owned(),
        "dir-link/below/../file.txt".to_owned(),
        "dir-link/..".to_owned(),
        "dir-link/../file.txt".to_owned(),
        "inside/../dir-link/file.txt".to_owned(),
        "up".to_owned(),
        "up/beside/file.txt".to_owned(),
        "up/root/../beside/file.txt".to_owned(),
        "relative-link/file.txt".to_owned(),
        "winding-link".to_owned(),
        "inside/leaves".to_owned(),
        "inside/leaves/below/file.txt".to_owned(),
        "chain-1".to_owned(),
        "chain-2/file.txt".to_owned(),
        "chain-3".to_owned(),
        "chain-4".to_owned(),
        "etc".to_owned(),
        "etc/passwd".to_owned(),
        "proc-root/etc/passwd".to_owned(),
        // Whether it exists is nobody's business either.
        "dir-link/missing".to_owned(),
        "dir-link/missing/further/down".to_owned(),
        "chain-2/missing".to_owned(),
        "etc/missing".to_owned(),
        format!("dir-link/{long}"),
        format!("../{long}"),
    ];
    let refused = [
        "dangling".to_owned(),
        "dangling/x".to_owned(),
        "dangling-chain".to_owned(),
        "file-link/".to_owned(),
        "file-link/..".to_owned(),
        "file-link/../file.txt".to_owned(),
        "loop-a".to_owned(),
        "loop-a/file.txt".to_owned(),
        "~".to_owned(),
        "~/file.txt".to_owned(),
        "~root".to_owned(),
        "$HOME/file.txt".to_owned(),
        "%2e%2e%2ffile.txt".to_owned(),
        "%2e%2e%2fetc%2fpasswd".to_owned(),
        "..%2ffile.txt".to_owned(),
        "%252e%252e/file.txt".to_owned(),
        "．．／file.txt".to_owned(),
        "\u{2025}/file.txt".to_owned(),
        "..\u{2215}file.txt".to_owned(),
        "..\\file.txt".to_owned(),
        "..\\..\\file.txt".to_owned(),
        "inside\\..\\..\\file.txt".to_owned(),
        "file:///etc/passwd".to_owned(),
        "file://../file.txt".to_owned(),
        "...".to_owned(),
        ".. /file.txt".to_owned(),
        "a\0b".to_owned(),
        "../file.txt\0.rs".to_owned(),
        "dir-link/file.txt\0".to_owned(),
        "inside/file.txt\n../file.txt".to_owned(),
        "*/../../file.txt".to_owned(),
        long.clone(),
        format!("inside/{long}"),
        longer,
        "x".repeat(5000),
    ];
    for way in ways(&sandbox) {
        for (paths, codes) in [
            (&denied[..], &["ACCESS_DENIED"][..]),
            (&refused[..], &["ACCESS_DENIED", "NOT_FOUND"][..]),
        ] {
            for path in paths {
                let what = format!("{} {:.80}", way.tool, path.escape_debug().to_string());
                let output = way.call(&sandbox, path);
                keeps_the_secret(&output, &what);
                let envelope = valid_envelope(&output);
                let code = envelope["error"]["code"].as_str().unwrap_or("no error");
                assert!(codes.contains(&code), "{what}: {code}");
                if code == "ACCESS_DENIED" {
                    let message = "Access denied. Path must be within project root.";
                    assert_eq!(envelope["error"]["message"], message, "{what}");
                }
                output.quietly(1);
            }
        }
    }
}

#[test]
fn what_stays_inside_is_reached_however_it_is_written() {
    let sandbox = besieged();
    let root = sandbox.root();
    for (target, link) in [
        ("inside/file.txt", "inner-file"),
        ("inside", "inner-dir"),
        ("inner-dir/deep", "inner-chain"),
        ("../inside/deep/../file.txt", "inside/winding"),
        (root.join("inside").to_str().unwrap(), "inner-absolute"),
        ("../root/inside", "out-and-back"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    let root = root.to_str().unwrap();
    for (path, resolved) in [
        ("inner-file", "inside/file.txt"),
        ("inner-dir", "inside"),
        ("inner-dir/file.txt", "inside/file.txt"),
        ("inner-dir/../inside", "inside"),
        ("inner-chain", "inside/deep"),
        ("inner-chain/file.txt", "inside/deep/file.txt"),
        ("inside/winding", "inside/file.txt"),
        ("inner-absolute/deep", "inside/deep"),
        ("out-and-back", "inside"),
        ("../root/inside", "inside"),
        ("./inside//deep/./", "inside/deep"),
        ("inside/deep/..", "inside"),
        (&format!("{root}/inside"), "inside"),
        ("/proc/self/cwd/inside", "inside"),
        ("", "."),
        ("./", "."),
        (root, "."),
    ] {
        let envelope = grep(&sandbox, &json!({ "pattern": "ordinary", "path": path }));
        assert_eq!(envelope["context"]["path_resolved"], resolved, "{path}");
        let found = places(&envelope);
        let is_below = |place: &String| resolved == "." || place.starts_with(resolved);
        assert!(
            !found.is_empty() && found.iter().all(is_below),
            "{path}: {found:?}"
        );
    }
}

#[test]
fn a_search_follows_no_link_out_of_the_tree() {
    let sandbox = besieged();
    for params in [
        json!({ "pattern": "." }),
        json!({ "pattern": ".", "hidden": true, "no_ignore": true }),
        json!({ "pattern": ".", "output_mode": "files_with_matches", "hidden": true, "no_ignore": true }),
    ] {
        let output = sandbox.run(&["call", "Grep", &params.to_string()]);
        keeps_the_secret(&output, "Grep");
        let envelope = valid_envelope(&output);
        assert_eq!(envelope["stats"]["matched_files"], 2, "{envelope:#}");
    }
    // A command may follow what links it likes; the others may not.
    for way in ways(&sandbox).iter().filter(|way| way.tool != "Run") {
        for path in [".", "inside"] {
            keeps_the_secret(&way.call(&sandbox, path), &format!("{} {path}", way.tool));
        }
    }
}

#[test]
fn a_glob_leads_nowhere_a_path_does_not() {
    let sandbox = besieged();
    for way in ways(&sandbox)
        .iter()
        .filter(|way| ["Grep", "Glob"].contains(&&*way.tool))
    {
        let parameter = if way.tool == "Grep" {
            "include"
        } else {
            "pattern"
        };
        for glob in [
            "../*",
            "../**/*.txt",
            "/etc/*",
            "dir-link/*",
            "**/../../*",
            "inside/../../beside/*",
            "etc/pass*",
            "{..,inside}/*",
        ] {
            let mut params = way.others.clone();
            params.insert(parameter.to_owned(), glob.into());
            let output = sandbox.run(&["call", &way.tool, &Value::Object(params).to_string()]);
            keeps_the_secret(&output, &format!("{} {glob}", way.tool));
            let text = valid_envelope(&output)["text"].to_string();
            assert!(!text.contains("passwd"), "{glob}: {text}");
        }
    }
}

#[test]
fn rules_are_not_read_through_links() {
    let sandbox = besieged();
    fs::write(sandbox.outside().join("rules"), "file.txt\n").unwrap();
    symlink("../rules", sandbox.root().join(".gitignore")).unwrap();
    let envelope = grep(&sandbox, &json!({ "pattern": "ordinary" }));
    assert_eq!(
        envelope["stats"]["matched_files"], 2,
        "what the rules outside say would show in what is found"
    );
}

#[test]
fn a_directory_that_turns_into_a_link_leads_nowhere() {
    let sandbox = besieged();
    let root = sandbox.root();
    sandbox.write("turning/file.txt", "ordinary\n");
    sandbox.write("turning/below/file.txt", "ordinary\n");
    symlink("../beside", root.join("link")).unwrap();
    let ways: Vec<Way> = ways(&sandbox)
        .into_iter()
        .filter(|way| ["Grep", "Read"].contains(&&*way.tool))
        .collect();
    let [turning, link, away] = ["turning", "link", "away"].map(|name| root.join(name));
    let turn = || {
        for (from, to) in [
            (&turning, &away),
            (&link, &turning),
            (&turning, &link),
            (&away, &turning),
        ] {
            fs::rename(from, to).unwrap();
        }
    };
    let paths = [
        "turning",
        "turning/file.txt",
        "turning/below",
        "turning/below/file.txt",
        ".",
    ];
    meanwhile(turn, || {
        for way in &ways {
            for path in paths.iter().cycle().take(200) {
                let output = way.call(&sandbox, path);
                keeps_the_secret(&output, &format!("{} {path}", way.tool));
                valid_envelope(&output);
            }
        }
    });
}

#[test]
fn the_store_is_no_way_out() {
    let sandbox = besieged();
    // A spill that is a link.
    sandbox
        .pipe(&["truncate", "--max-lines", "2"], seq(50))
        .quietly(0);
    let fake = "tool_20260101_000000_abcdefgh_x.txt";
    symlink("../../file.txt", sandbox.store().join(fake)).unwrap();
    let paths = [
        fake.to_owned(),
        "abcdefgh".to_owned(),
        format!("tool-output/{fake}"),
    ];
    let check = |what: &str| {
        for way in ways(&sandbox) {
            for path in &paths {
                let output = way.call(&sandbox, path);
                keeps_the_secret(&output, &format!("{} {path}, {what}", way.tool));
                let envelope = valid_envelope(&output);
                assert_eq!(
                    envelope["status"], "error",
                    "{} {path}, {what}: {envelope:#}",
                    way.tool
                );
            }
        }
    };
    check("a spill that is a link");
    // A store that is a link.
    fs::remove_dir_all(sandbox.store()).unwrap();
    fs::write(sandbox.outside().join("beside").join(fake), SECRET).unwrap();
    symlink("../beside", sandbox.store()).unwrap();
    check("a store that is a link");
}

#[test]
fn a_name_from_another_mount_namespace_is_no_way_out() {
    let sandbox = Sandbox::new();
    let root = sandbox.root();
    // A process that sees something else where the root is, and whose view is reachable by /proc.
    let script = "mount -t tmpfs none \"$0\" && echo outside-the-root > \"$0/secret.txt\" && echo ready && read -r _";
    let other = std::process::Command::new("unshare")
        .args(["-m", "sh", "-c", script])
        .arg(&root)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn();
    let Ok(mut other) = other else {
        let _ = writeln!(std::io::stderr(), "NOT TESTED: no `unshare`");
        return;
    };
    let mut ready = String::new();
    let mut stdout = std::io::BufReader::new(other.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut ready).unwrap();
    if ready == "ready\n" {
        let through = format!("/proc/{}/root{}/secret.txt", other.id(), root.display());
        std::os::unix::fs::symlink(&through, root.join("link")).unwrap();
        for path in [through.as_str(), "link"] {
            let params = serde_json::json!({ "path": path }).to_string();
            let output = sandbox.run(&["call", "Read", &params]);
            assert_eq!(output.code, 1, "{}", output.text());
            assert!(!output.text().contains("outside-the-root"));
        }
    } else {
        let _ = writeln!(
            std::io::stderr(),
            "NOT TESTED: no mount namespace may be made"
        );
    }
    drop(other.stdin.take());
    other.wait().unwrap();
}

#[test]
fn a_path_of_any_length_is_refused_at_once() {
    let sandbox = Sandbox::new();
    let long = "a/".repeat(300_000);
    for (path, code) in [
        (long.clone(), "NOT_FOUND"),
        (format!("../{long}"), "ACCESS_DENIED"),
    ] {
        let params = serde_json::json!({ "path": path }).to_string();
        let output = sandbox.pipe(&["call", "Read", "-"], params);
        assert_eq!(valid_envelope(&output)["error"]["code"], code);
    }
}
