//! Completions, manual page, help and version.

use crate::support::Sandbox;

const COMMANDS: [&str; 18] = [
    "truncate",
    "run",
    "show",
    "grep",
    "read",
    "ls",
    "glob",
    "tree",
    "map",
    "call",
    "tools",
    "list",
    "clean",
    "install",
    "uninstall",
    "config",
    "completions",
    "man",
];

#[test]
fn completions_know_every_command() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(&["completions", shell]).quietly(0).text();
        let missing: Vec<&str> = COMMANDS
            .into_iter()
            .filter(|command| !script.contains(command))
            .collect();
        assert_eq!(missing, Vec::<&str>::new(), "{shell}");
        assert!(
            script.contains("max-lines") && script.contains("task-tool"),
            "{shell}"
        );
    }
}

#[test]
fn bash_takes_its_completions() {
    let sandbox = Sandbox::new();
    let script = sandbox.run(&["completions", "bash"]).quietly(0).text();
    sandbox.write("completions.bash", script);
    let mut bash = std::process::Command::new("bash");
    bash.args(["--norc", "-ec", "source ./completions.bash; COMP_WORDS=(overspill tru); COMP_CWORD=1; _overspill overspill tru overspill; echo ${COMPREPLY[@]}"]);
    bash.current_dir(sandbox.root());
    assert_eq!(sandbox.finish(bash, b"").quietly(0).text(), "truncate\n");
}

#[test]
fn the_manual_page_has_every_command_and_setting() {
    let sandbox = Sandbox::new();
    let page = sandbox.run(&["man"]).quietly(0).text();
    assert!(
        page.contains(".TH overspill 1"),
        "{}",
        &page[..page.floor_char_boundary(200)]
    );
    let missing: Vec<&str> = COMMANDS
        .into_iter()
        .filter(|command| !page.contains(&format!("overspill\\-{command}")))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
    for flag in [
        "max\\-lines",
        "max\\-result\\-chars",
        "store\\-dir",
        "task\\-tool",
    ] {
        assert!(page.contains(flag), "{flag}");
    }
}

#[test]
fn help_and_version() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.run(&["--version"]).quietly(0).text(),
        concat!("overspill ", env!("CARGO_PKG_VERSION"), "\n")
    );
    for command in COMMANDS {
        let help = sandbox.run(&[command, "--help"]).quietly(0).text();
        assert!(
            help.contains(&format!("Usage: overspill {command}")),
            "{command}: {help}"
        );
    }
    let help = sandbox.run(&["--help"]).quietly(0).text();
    let missing: Vec<&str> = COMMANDS
        .into_iter()
        .filter(|command| !help.contains(command))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn an_unknown_flag_is_a_usage_error() {
    let sandbox = Sandbox::new();
    let cases: [&[&str]; 4] = [
        &["truncate", "--max-line", "3"],
        &["truncate", "--format", "yaml"],
        &["frobnicate"],
        &["run"],
    ];
    for arguments in cases {
        let output = sandbox.run(arguments);
        assert_eq!(
            (output.code, output.text().as_str()),
            (2, ""),
            "{arguments:?}"
        );
        assert!(
            output.stderr.starts_with("error: "),
            "{arguments:?}: {}",
            output.stderr
        );
    }
    assert!(sandbox.snapshot().is_empty());
}
