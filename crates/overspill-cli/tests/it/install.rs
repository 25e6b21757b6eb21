//! `overspill install` and `overspill uninstall` on the files of every agent.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Mount, PROGRAM, Sandbox, make_fifo, names};

/// Three servers as each agent writes them: started with variables, started by npx, behind an address with headers.
const CONFIGS: [(&str, &str, &str); 5] = [
    (
        "claude",
        ".mcp.json",
        r#"{
  "mcpServers": {
    "db": {
      "command": "db-server",
      "env": { "TOKEN": "s3cret" }
    },
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]
    },
    "hub": {
      "type": "http",
      "url": "https://hub.test/mcp",
      "headers": {
        "Authorization": "Bearer ${HUB}"
      }
    }
  }
}
"#,
    ),
    (
        "codex",
        ".codex/config.toml",
        r#"model = "m"   # the model

[mcp_servers.db]
command = "db-server"
env = { TOKEN = "s3cret" }

[mcp_servers.files]
command = "npx"
args = [
    "-y", # yes
    "@modelcontextprotocol/server-filesystem",
]

[mcp_servers.hub]
url = "https://hub.test/mcp"

[mcp_servers.hub.http_headers]
Authorization = "Bearer x"
"#,
    ),
    (
        "opencode",
        "opencode.jsonc",
        r#"{
	// servers
	"mcp": {
		"db": { "type": "local", "command": ["db-server"], "environment": { "TOKEN": "s3cret" }, },
		"files": {
			"type": "local",
			"command": [
				"npx",
				"-y", /* yes */
				"x"
			],
			"enabled": false
		},
		"hub": { "type": "remote", "url": "https://hub.test/mcp", "enabled": true, "headers": { "A": "{env:HUB}" } }
	}
}"#,
    ),
    (
        "gemini",
        ".gemini/settings.json",
        r#"{"theme":"x","mcpServers":{"db":{"command":"db-server","env":{"TOKEN":"s3cret"}},"files":{"command":"npx","args":["-y","x"],"timeout":1e4},"hub":{"httpUrl":"https://hub.test/mcp","headers":{"A":"$HUB"},"trust":true}}}"#,
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        "{\r\n  \"mcpServers\": {\r\n    \"db\": {\r\n      \"command\": \"db-server\", \"env\": {\"TOKEN\": \"s3cret\"}\r\n    },\r\n    \"files\": {\"command\": \"npx\",   \"args\": [ ]},\r\n    \"hub\": {\r\n      \"headers\": {\"A\": \"b\"},\r\n      \"url\": \"https://hub.test/mcp\"\r\n    }\r\n  }\r\n}\r\n",
    ),
];

fn backup(file: &Path) -> PathBuf {
    PathBuf::from(format!("{}.overspill-backup", file.display()))
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}

#[test]
fn every_format_comes_back_byte_for_byte() {
    for (agent, path, config) in CONFIGS {
        for mark in ["", "\u{feff}"] {
            let sandbox = Sandbox::new();
            let config = format!("{mark}{config}");
            let file = sandbox.write(path, &config);
            let before = sandbox.snapshot();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();

            let listing = sandbox.run(&["install", agent]).quietly(0).text();
            assert!(listing.contains("nothing was written"), "{listing}");
            assert_eq!(sandbox.snapshot(), before, "{agent}: a listing writes");

            sandbox.run(&["install", agent, "--write"]).quietly(0);
            let there = text(&file);
            assert_eq!(there.matches("--name").count(), 3, "{there}");
            assert_eq!(text(&backup(&file)), config);
            for file in [&file, &backup(&file)] {
                let mode = fs::metadata(file).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o640);
            }

            let again = sandbox.run(&["install", agent, "--write"]).quietly(0);
            assert!(again.text().contains("already"), "{}", again.text());
            assert_eq!(text(&file), there, "{agent}: twice is once");

            let done = sandbox.run(&["uninstall", "--write"]).quietly(0);
            assert!(done.text().contains("as it was"), "{}", done.text());
            assert_eq!(sandbox.snapshot(), before, "{agent}");

            // Without the backup it is as exact.
            sandbox.run(&["install", agent, "--write"]).quietly(0);
            fs::remove_file(backup(&file)).unwrap();
            sandbox.run(&["uninstall", agent, "--write"]).quietly(0);
            assert_eq!(sandbox.snapshot(), before, "{agent}");
        }
    }
}

#[test]
fn the_listing_is_a_diff_that_patch_takes() {
    for (agent, path, config) in CONFIGS {
        let sandbox = Sandbox::new();
        let file = sandbox.write(path, config);
        let listing = sandbox.run(&["install", agent]).quietly(0);
        if Command::new("patch").arg("--version").output().is_err() {
            loudly("NOT TESTED: there is no `patch`");
            return;
        }
        let mut patch = Command::new("patch");
        patch.args(["--binary", "-s"]).arg(&file);
        sandbox.finish(patch, &listing.stdout).quietly(0);
        let patched = text(&file);
        fs::write(&file, config).unwrap();
        sandbox.run(&["install", agent, "--write"]).quietly(0);
        assert_eq!(patched, text(&file), "{agent}");
    }
}

fn loudly(text: &str) {
    use std::io::Write as _;
    // Past the capture of the test harness, which would hide it.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
fn a_listing_in_full() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".mcp.json",
        CONFIGS[0].2.replace("\"npx\"", "\"overspill\""),
    );
    insta::assert_snapshot!(sandbox.run(&["install"]).report(), @r#"
    exit 0
    --- stdout
    `[root]/.mcp.json`: `files` is left alone: it is overspill itself
    --- [root]/.mcp.json
    +++ [root]/.mcp.json
    @@ -1,7 +1,8 @@
     {
       "mcpServers": {
         "db": {
    -      "command": "db-server",
    +      "command": "overspill",
    +      "args": ["proxy", "--name=db", "--", "db-server"],
           "env": { "TOKEN": "s3cret" }
         },
         "files": {
    @@ -9,11 +10,9 @@
           "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]
         },
         "hub": {
    -      "type": "http",
    -      "url": "https://hub.test/mcp",
    -      "headers": {
    -        "Authorization": "Bearer ${HUB}"
    -      }
    +      "type": "stdio",
    +      "command": "overspill",
    +      "args": ["proxy", "--name", "hub", "--url", "https://hub.test/mcp", "--header", "Authorization: Bearer ${HUB}"]
         }
       }
     }
    nothing was written: `--write` makes these changes
    "#);
}

#[test]
fn the_program_is_named_so_that_the_client_finds_it() {
    let sandbox = Sandbox::new();
    let file = sandbox.write(".mcp.json", CONFIGS[0].2);
    sandbox.run(&["install", "--write"]).quietly(0);
    assert!(text(&file).contains(&format!("\"command\": \"{PROGRAM}\"")));
    sandbox.run(&["uninstall", "--write"]).quietly(0);
    // On the `PATH` its name is enough.
    let bin = sandbox.outside().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(PROGRAM, bin.join("overspill")).unwrap();
    let mut command = sandbox.command(&["install", "--write"]);
    command.env("PATH", &bin);
    sandbox.finish(command, b"").quietly(0);
    assert!(text(&file).contains("\"command\": \"overspill\""));
}

#[test]
fn a_program_of_any_name_installs_and_uninstalls() {
    for name in ["overspill-0.1", "osp"] {
        let sandbox = Sandbox::new();
        let program = sandbox.outside().join(name);
        fs::hard_link(PROGRAM, &program)
            .or_else(|_| fs::copy(PROGRAM, &program).map(drop))
            .unwrap();
        let run = |arguments: &[&str]| {
            let mut command = Command::new(&program);
            command.args(arguments).current_dir(sandbox.root());
            command.env_clear().env("HOME", sandbox.home());
            sandbox.finish(command, b"").quietly(0).text()
        };
        for (agent, path, config) in CONFIGS {
            let file = sandbox.write(path, config);
            run(&["install", agent, "--write"]);
            let there = text(&file);
            assert!(there.contains(&format!("/{name}\"")), "{there}");
            assert_eq!(there.matches("--name").count(), 3, "{there}");
            assert!(run(&["install", agent, "--write"]).contains("already"));
            run(&["uninstall", agent, "--write"]);
            assert_eq!(text(&file), config, "{agent}");
        }
    }
}

#[test]
fn all_agents_are_found_and_some_servers_can_be_chosen() {
    let sandbox = Sandbox::new();
    let files: Vec<PathBuf> = CONFIGS
        .iter()
        .map(|(_, path, config)| sandbox.write(path, config))
        .collect();
    sandbox
        .run(&["install", "--write", "--only", "db", "--only", "hub"])
        .quietly(0);
    for file in &files {
        assert_eq!(
            text(file).matches("--name").count(),
            2,
            "{}",
            file.display()
        );
    }
    // The rest later: the backup stays the first one.
    sandbox.run(&["install", "--write"]).quietly(0);
    for (file, (_, _, config)) in files.iter().zip(CONFIGS) {
        assert_eq!(text(file).matches("--name").count(), 3);
        assert_eq!(text(&backup(file)), config);
    }
    sandbox
        .run(&["uninstall", "--write", "--only", "db"])
        .quietly(0);
    assert_eq!(text(&files[0]).matches("--name").count(), 2);
    assert!(backup(&files[0]).exists());
    sandbox.run(&["uninstall", "--write"]).quietly(0);
    for (file, (_, _, config)) in files.iter().zip(CONFIGS) {
        assert_eq!(text(file), config);
        assert!(!backup(file).exists());
    }
    let unknown = sandbox.run(&["install", "codex", "--only", "nope", "--write"]);
    insta::assert_snapshot!(unknown.report(), @r#"
    exit 2
    --- stderr
    overspill: `--only nope`: no such server in `[root]/.codex/config.toml`
    "#);
}

#[test]
fn files_of_the_user_are_found_too() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    let write = |path: &str, text: &str| {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let local = r#"{"numStartups": 1, "projects": {"/p": {"mcpServers": {"l": {"command": "x"}}}}, "mcpServers": {"u": {"command": "y"}}}"#;
    let files = [
        (write(".claude.json", local), 2),
        (write(".codex/config.toml", CONFIGS[1].2), 3),
        (write(".config/opencode/opencode.json", CONFIGS[2].2), 3),
        (write(".gemini/settings.json", CONFIGS[3].2), 3),
        (write(".cursor/mcp.json", CONFIGS[4].2), 3),
    ];
    sandbox.run(&["install", "--write"]).quietly(0);
    for (file, servers) in &files {
        assert_eq!(text(file).matches("--name").count(), *servers);
    }
    sandbox.run(&["uninstall", "--write"]).quietly(0);
    assert_eq!(text(&files[0].0), local);
    // Variables move them.
    let codex = sandbox.outside().join("codex");
    fs::create_dir(&codex).unwrap();
    fs::write(codex.join("config.toml"), CONFIGS[1].2).unwrap();
    let mut command = sandbox.command(&["install", "codex", "--write"]);
    command.env("CODEX_HOME", &codex);
    sandbox.finish(command, b"").quietly(0);
    assert_eq!(
        text(&codex.join("config.toml")).matches("--name").count(),
        3
    );
    assert_eq!(text(&files[1].0), CONFIGS[1].2);
}

#[test]
fn what_the_user_changed_meanwhile_stays() {
    for (agent, path, config) in CONFIGS {
        let sandbox = Sandbox::new();
        let file = sandbox.write(path, config);
        sandbox.run(&["install", agent, "--write"]).quietly(0);
        let change = |text: &str| text.replace("s3cret", "other  value");
        fs::write(&file, change(&text(&file))).unwrap();
        let done = sandbox.run(&["uninstall", agent, "--write"]).quietly(0);
        assert!(done.text().contains("since stays"), "{}", done.text());
        assert_eq!(text(&file), change(config), "{agent}");
        assert!(!backup(&file).exists());
    }
}

#[test]
fn a_proxy_of_the_users_own_stays_his() {
    let sandbox = Sandbox::new();
    let config = r#"{"mcpServers": {"own": {"command": "overspill", "args": ["proxy", "--", "x"]}, "a": {"command": "y"}}}"#;
    let file = sandbox.write(".mcp.json", config);
    sandbox.run(&["install", "--write"]).quietly(0);
    sandbox.run(&["uninstall", "--write"]).quietly(0);
    assert_eq!(text(&file), config);
    assert!(!backup(&file).exists());
}

#[test]
fn an_older_backup_is_never_written_over() {
    let sandbox = Sandbox::new();
    let file = sandbox.write(".mcp.json", CONFIGS[0].2);
    fs::write(backup(&file), "precious").unwrap();
    let before = sandbox.snapshot();
    let refused = sandbox.run(&["install", "--write"]);
    insta::assert_snapshot!(refused.report(), @r#"
    exit 2
    --- stderr
    overspill: `[root]/.mcp.json.overspill-backup` is left from an earlier install and is not what `[root]/.mcp.json` is now: compare them, then move or remove it
    "#);
    assert_eq!(sandbox.snapshot(), before);
    // One that is the same will do.
    fs::write(backup(&file), CONFIGS[0].2).unwrap();
    sandbox.run(&["install", "--write"]).quietly(0);
}

#[test]
fn a_link_stays_a_link() {
    let sandbox = Sandbox::new();
    let real = sandbox.outside().join("dotfiles.json");
    fs::write(&real, CONFIGS[0].2).unwrap();
    let link = sandbox.root().join(".mcp.json");
    symlink(&real, &link).unwrap();
    sandbox.run(&["install", "--write"]).quietly(0);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(text(&real).contains("proxy") && backup(&real).exists());
    sandbox.run(&["uninstall", "--write"]).quietly(0);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(text(&real), CONFIGS[0].2);
}

#[test]
fn what_cannot_be_read_is_not_touched() {
    let garbage: [(&str, &[u8]); 5] = [
        (".mcp.json", b"{ // no comments here\n}"),
        (".mcp.json", b"{\"mcpServers\": {"),
        (".mcp.json", b"\xff\xfe{}"),
        ("opencode.json", b"{\"mcp\": {},,}"),
        (".codex/config.toml", b"[mcp_servers.a\ncommand = 1"),
    ];
    let mut told = String::new();
    for (path, bytes) in garbage {
        let sandbox = Sandbox::new();
        sandbox.write(path, bytes);
        let good = sandbox.write(".cursor/mcp.json", CONFIGS[4].2);
        let before = sandbox.snapshot();
        let output = sandbox.run(&["install"]);
        told += &format!("exit {}: {}", output.code, output.stderr);
        told = told.replace(&format!("{}/", sandbox.root().display()), "");
        assert_eq!(sandbox.snapshot(), before);
        // The others are served all the same.
        sandbox.run(&["install", "--write"]);
        assert!(text(&good).contains("proxy"));
        assert_eq!(fs::read(sandbox.root().join(path)).unwrap(), bytes);
    }
    insta::assert_snapshot!(told, @r#"
    exit 2: overspill: `.mcp.json` (Claude Code) stays as it is: line 1, column 3: a comment, which this client does not read
    exit 2: overspill: `.mcp.json` (Claude Code) stays as it is: line 1, column 17: expected a key in double quotes
    exit 2: overspill: `.mcp.json`: is not UTF-8 text
    exit 2: overspill: `opencode.json` (opencode) stays as it is: line 1, column 12: expected a key in double quotes
    exit 2: overspill: `.codex/config.toml` (Codex) stays as it is: line 1, column 15: unclosed table, expected `]`
    "#);
}

#[test]
fn what_is_no_file_is_told_and_a_missing_one_is_nothing_to_do() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.run(&["install", "cursor", "--root", "."]).report().replace(&sandbox.home().display().to_string(), "[home]"), @r#"
    exit 0
    --- stdout
    nothing to do: there is no `[root]/.cursor/mcp.json` (Cursor)
    nothing to do: there is no `[home]/.cursor/mcp.json` (Cursor)
    "#);
    for command in ["install", "uninstall"] {
        for flags in [&[][..], &["--write"]] {
            let named = [&[command, "--file", "none.json"], flags].concat();
            insta::allow_duplicates! {
                insta::assert_snapshot!(sandbox.run(&named).report(), @r#"
                exit 2
                --- stderr
                overspill: `--file none.json`: there is no such file; without `--file` the usual ones of your agents are looked for
                "#);
            }
        }
    }
    make_fifo(&sandbox.root().join("fifo.json"));
    insta::assert_snapshot!(sandbox.run(&["install", "--file", "fifo.json"]).report(), @r#"
    exit 2
    --- stderr
    overspill: `fifo.json`: is not a file
    "#);
    symlink("nowhere", sandbox.root().join(".mcp.json")).unwrap();
    insta::assert_snapshot!(sandbox.run(&["install", "claude"]).report(), @r#"
    exit 2
    --- stderr
    overspill: `[root]/.mcp.json`: is a symbolic link that leads nowhere
    "#);
    sandbox.write("empty.json", "{}");
    insta::assert_snapshot!(sandbox.run(&["install", "--file", "empty.json"]).report(), @r#"
    exit 0
    --- stdout
    `empty.json` (Cursor): nothing to do: it names no MCP servers
    "#);
}

#[test]
fn a_disk_that_takes_nothing_leaves_the_file() {
    let sandbox = Sandbox::new();
    let dir = sandbox.root().join(".cursor");
    fs::create_dir(&dir).unwrap();
    let Some(_mount) = Mount::tmpfs(&dir, "size=64k,mode=700") else {
        return;
    };
    let file = sandbox.write(".cursor/mcp.json", CONFIGS[4].2);
    let remounted = Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(&dir)
        .status();
    assert!(remounted.unwrap().success());
    let refused = sandbox.run(&["install", "--write"]);
    insta::assert_snapshot!(refused.report(), @r#"
    exit 2
    --- stderr
    overspill: `[root]/.cursor/mcp.json` stays as it is: cannot write `[root]/.cursor/mcp.json.overspill-backup`: read-only file system
    "#);
    assert_eq!(text(&file), CONFIGS[4].2);
    let mut remount = Command::new("mount");
    remount.args(["-o", "remount,rw"]).arg(&dir);
    assert!(remount.status().unwrap().success());
    // Full: room for the backup, none for the new file.
    let room = 64 * 1024 - 4096 - 4096;
    fs::write(dir.join("filler"), vec![b'x'; room]).unwrap();
    let refused = sandbox.run(&["install", "--write"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("stays as it is"), "{refused:?}");
    assert_eq!(text(&file), CONFIGS[4].2);
    assert_eq!(names(&dir), ["filler", "mcp.json"]);
}

#[test]
fn hostile_sizes_are_read_or_refused() {
    let sandbox = Sandbox::new();
    // A history of megabytes beside the servers, as Claude Code keeps it.
    let history = "[[],{},\"x\"],".repeat(100_000);
    let config =
        format!("{{\"history\": [{history}0], \"mcpServers\": {{\"a\": {{\"command\": \"x\"}}}}}}");
    let file = sandbox.write(".mcp.json", &config);
    sandbox.run(&["install", "--write"]).quietly(0);
    sandbox.run(&["uninstall", "--write"]).quietly(0);
    assert!(text(&file) == config);
    let many: String = (0..2000)
        .map(|n| format!("\"s{n}\": {{\"command\": \"x\", \"args\": [\"{n}\"]}},\n"))
        .collect();
    let config = format!("{{\"mcpServers\": {{{many}\"u\": {{\"url\": \"http://h\"}}}}}}");
    fs::write(&file, &config).unwrap();
    sandbox.run(&["install"]).quietly(0);
    sandbox.run(&["install", "--write"]).quietly(0);
    sandbox.run(&["uninstall", "--write"]).quietly(0);
    assert!(text(&file) == config);
    fs::write(&file, "[".repeat(1 << 20)).unwrap();
    insta::assert_snapshot!(sandbox.run(&["install"]).report(), @r#"
    exit 2
    --- stderr
    overspill: `[root]/.mcp.json` (Claude Code) stays as it is: line 1, column 129: values nested more than 128 deep
    "#);
    let sparse = fs::File::create(&file).unwrap();
    sparse.set_len(1 << 40).unwrap();
    insta::assert_snapshot!(sandbox.run(&["install"]).report(), @r#"
    exit 2
    --- stderr
    overspill: `[root]/.mcp.json`: is larger than 64 MiB
    "#);
}
