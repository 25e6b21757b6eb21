//! Settings: file, environment, flags, and what is said of a wrong one.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use serde_json::Value;

use crate::support::{Sandbox, make_fifo, seq};

/// The block under 配置建议 of seed S2, as it stands there.
const SEED: &str = r#"# 工具输出限制配置
tool_output_limits:
  # 全局默认限制
  default:
    max_chars: 8000
    max_lines: 500
    truncation_strategy: "head_tail"  # head_tail | head_only | summarize
  
  # 特定工具的限制
  tools:
    repo_map:
      max_chars: 10000
      max_lines: 1000
    
    read_file:
      max_chars: 5000
      max_lines: 200
    
    grep_search:
      max_lines: 100
      show_context: 2  # 每个匹配显示前后2行
    
    get_repo_structure:
      max_depth: 3
      max_files: 500

# 智能摘要配置（可选）
summarization:
  enabled: false  # 默认关闭，因为有额外成本
  model: "qwen-turbo"  # 使用便宜的模型
  max_input_chars: 50000  # 传递给摘要模型的最大字符数
  trigger_threshold: 20000  # 超过这个长度才触发摘要
"#;

/// What holds for a tool: key, value, origin.
fn settings(sandbox: &Sandbox, flags: &[&str]) -> Vec<(String, String, String)> {
    let shown = sandbox
        .run(&[&["config", "show", "--json"], flags].concat())
        .quietly(0)
        .json();
    let word = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    shown
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, entry)| (key.clone(), word(&entry["value"]), word(&entry["origin"])))
        .collect()
}

/// The value of one setting with its origin.
fn setting(sandbox: &Sandbox, flags: &[&str], key: &str) -> (String, String) {
    let found = settings(sandbox, flags)
        .into_iter()
        .find(|(known, ..)| known == key);
    found
        .map(|(_, value, origin)| (value, origin))
        .unwrap_or_else(|| panic!("no `{key}` for {flags:?}"))
}

#[test]
fn what_is_built_in() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.run(&["config", "show"]).quietly(0).text(), @"
    max_lines                        2000            built in
    max_bytes                        51200           built in
    max_chars                        off             built in
    max_tokens                       off             built in
    max_line_chars                   off             built in
    strategy                         head            built in
    preset                           off             built in
    encoding                         o200k_base      built in
    max_result_chars                 off             built in
    store_dir                        tool-output     built in
    retention_days                   7               built in
    max_store_bytes                  off             built in
    journal                          on              built in
    language                         en              built in
    summarization.enabled            off             built in
    summarization.base_url           off             built in
    summarization.model              qwen-turbo      built in
    summarization.api_key_env        OPENAI_API_KEY  built in
    summarization.max_input_chars    50000           built in
    summarization.trigger_threshold  20000           built in
    summarization.timeout_ms         30000           built in
    ");
    insta::assert_snapshot!(sandbox.run(&["config", "show", "--tool", "Grep"]).quietly(0).text(), @"
    max_lines                        2000            built in for Grep
    max_bytes                        off             built in for Grep
    max_chars                        262144          built in for Grep
    max_tokens                       25000           built in for Grep
    max_line_chars                   2000            built in for Grep
    strategy                         head            built in
    preset                           off             built in
    encoding                         o200k_base      built in
    show_context                     0               built in
    search_timeout_ms                2000            built in
    max_result_chars                 off             built in
    store_dir                        tool-output     built in
    retention_days                   7               built in
    max_store_bytes                  off             built in
    journal                          on              built in
    language                         en              built in
    summarization.enabled            off             built in
    summarization.base_url           off             built in
    summarization.model              qwen-turbo      built in
    summarization.api_key_env        OPENAI_API_KEY  built in
    summarization.max_input_chars    50000           built in
    summarization.trigger_threshold  20000           built in
    summarization.timeout_ms         30000           built in
    ");
}

#[test]
fn three_values_from_three_places_name_their_origins() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "overspill.yaml",
        "tool_output_limits:\n  default:\n    max_lines: 123\n",
    );
    let mut command = sandbox.command(&["config", "show", "--max-chars", "789"]);
    command.env("TOOL_OUTPUT_MAX_BYTES", "4KiB");
    let shown = sandbox.finish(command, b"").quietly(0).text();
    let three: Vec<&str> = shown.lines().take(3).collect();
    assert_eq!(
        three,
        [
            "max_lines                        123             file overspill.yaml line 3",
            "max_bytes                        4096            environment TOOL_OUTPUT_MAX_BYTES",
            "max_chars                        789             flag --max-chars",
        ]
    );
}

#[test]
fn who_wins() {
    let sandbox = Sandbox::new();
    let file = "default:\n  max_lines: 1\ntools:\n  mcp__*:\n    max_lines: 2\n  mcp__git__log:\n    max_lines: 3\n";
    sandbox.write("overspill.yaml", file);
    let cases: [(&[&str], Option<&str>, &str, &str); 6] = [
        (&[], None, "1", "file overspill.yaml line 2"),
        (
            &["--tool", "mcp__slack__read"],
            None,
            "2",
            "file overspill.yaml line 5",
        ),
        (
            &["--tool", "mcp__git__log"],
            None,
            "3",
            "file overspill.yaml line 7",
        ),
        (
            &["--tool", "MCP__Git__Log"],
            None,
            "3",
            "file overspill.yaml line 7",
        ),
        (
            &["--tool", "mcp__git__log"],
            Some("4"),
            "4",
            "environment TOOL_OUTPUT_MAX_LINES",
        ),
        (
            &["--tool", "mcp__git__log", "--max-lines", "5"],
            Some("4"),
            "5",
            "flag --max-lines",
        ),
    ];
    for (flags, variable, value, origin) in cases {
        let mut command = sandbox.command(&[&["config", "show"], flags].concat());
        command.envs(variable.map(|value| ("TOOL_OUTPUT_MAX_LINES", value)));
        let shown = sandbox.finish(command, b"").quietly(0).text();
        let fields: Vec<&str> = shown.lines().next().unwrap().splitn(2, ' ').collect();
        let (shown_value, shown_origin) = fields[1].trim_start().split_once(' ').unwrap();
        assert_eq!(
            (shown_value, shown_origin.trim_start()),
            (value, origin),
            "{flags:?} {variable:?}"
        );
    }
    // And it is not only shown: it holds.
    let text = sandbox
        .pipe(&["truncate", "--tool", "mcp__slack__read"], seq(9))
        .quietly(0)
        .text();
    assert!(
        text.starts_with("1\n2\n\n...7 lines truncated..."),
        "{text}"
    );
}

#[test]
fn which_file_is_read() {
    let sandbox = Sandbox::new();
    let line = |n: u32| format!("default: {{max_lines: {n}}}\n");
    let write = |path: &Path, n: u32| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, line(n)).unwrap();
    };
    let (xdg, other) = (
        sandbox.outside().join("xdg"),
        sandbox.outside().join("other.yaml"),
    );
    let show = |environment: &[(&str, &Path)], flags: &[&str]| {
        let mut command = sandbox.command(&[&["config", "show"], flags].concat());
        command.envs(environment.iter().copied());
        let text = sandbox.finish(command, b"").quietly(0).text();
        text.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(show(&[], &[]), "2000", "none");
    write(&sandbox.home().join(".config/overspill/overspill.yaml"), 1);
    assert_eq!(show(&[], &[]), "1", "the home's");
    write(&xdg.join("overspill/overspill.yaml"), 2);
    assert_eq!(
        show(&[("XDG_CONFIG_HOME", &xdg)], &[]),
        "2",
        "the configuration directory's"
    );
    write(&sandbox.root().join("overspill.yaml"), 3);
    assert_eq!(show(&[("XDG_CONFIG_HOME", &xdg)], &[]), "3", "the root's");
    write(&sandbox.root().join("named.yaml"), 4);
    assert_eq!(
        show(&[("OVERSPILL_CONFIG", Path::new("named.yaml"))], &[]),
        "4",
        "the environment's"
    );
    write(&other, 5);
    assert_eq!(
        show(
            &[("OVERSPILL_CONFIG", Path::new("named.yaml"))],
            &["--config", other.to_str().unwrap()]
        ),
        "5",
        "the flag's"
    );
}

#[test]
fn environment_variables() {
    let sandbox = Sandbox::new();
    let cases = [
        ("TOOL_OUTPUT_MAX_LINES", "7", "max_lines", "7"),
        ("TOOL_OUTPUT_MAX_BYTES", "off", "max_bytes", "off"),
        ("TOOL_OUTPUT_MAX_CHARS", "9", "max_chars", "9"),
        ("TOOL_OUTPUT_MAX_TOKENS", "10", "max_tokens", "10"),
        ("TOOL_OUTPUT_MAX_LINE_CHARS", "11", "max_line_chars", "11"),
        (
            "TOOL_OUTPUT_TRUNCATE_DIRECTION",
            "head_tail",
            "strategy",
            "head_tail",
        ),
        ("TOOL_OUTPUT_TRUNCATE_DIRECTION", "tail", "strategy", "tail"),
        ("TOOL_OUTPUT_DIR", "elsewhere", "store_dir", "elsewhere"),
        ("TOOL_OUTPUT_RETENTION_DAYS", "0", "retention_days", "0"),
        (
            "TOOL_OUTPUT_MAX_STORE_BYTES",
            "1GiB",
            "max_store_bytes",
            "1073741824",
        ),
        (
            "TOOL_OUTPUT_MAX_RESULT_CHARS",
            "8000",
            "max_result_chars",
            "8000",
        ),
        ("TOOL_OUTPUT_LANGUAGE", "zh", "language", "zh"),
        ("TOOL_OUTPUT_MAX_LINES", "", "max_lines", "2000"),
    ];
    for (variable, text, key, value) in cases {
        let mut command = sandbox.command(&["config", "show", "--json"]);
        command.env(variable, text);
        let shown = sandbox.finish(command, b"").quietly(0).json();
        let found = &shown[key]["value"];
        assert_eq!(
            found
                .as_str()
                .map_or_else(|| found.to_string(), str::to_owned),
            value,
            "{variable}={text}"
        );
        let origin = if text.is_empty() {
            "built in".to_owned()
        } else {
            format!("environment {variable}")
        };
        assert_eq!(shown[key]["origin"], origin, "{variable}={text}");
    }
}

#[test]
fn the_yaml_of_the_seed_is_accepted_and_means_what_it_says() {
    let sandbox = Sandbox::new();
    sandbox.write("overspill.yaml", SEED);
    assert_eq!(
        sandbox.run(&["config", "check"]).quietly(0).stable(),
        "[root]/overspill.yaml: no mistakes\n"
    );

    let cases: [(&str, &[(&str, &str)]); 9] = [
        (
            "",
            &[
                ("max_chars", "8000"),
                ("max_lines", "500"),
                ("strategy", "head_tail"),
            ],
        ),
        (
            "Run",
            &[
                ("max_chars", "8000"),
                ("max_lines", "500"),
                ("strategy", "head_tail"),
            ],
        ),
        (
            "repo_map",
            &[
                ("max_chars", "10000"),
                ("max_lines", "1000"),
                ("strategy", "head_tail"),
            ],
        ),
        ("RepoMap", &[("max_chars", "10000"), ("max_lines", "1000")]),
        (
            "read_file",
            &[
                ("max_chars", "5000"),
                ("max_lines", "200"),
                ("strategy", "head_tail"),
            ],
        ),
        ("Read", &[("max_chars", "5000"), ("max_lines", "200")]),
        (
            "grep_search",
            &[
                ("max_lines", "100"),
                ("show_context", "2"),
                ("max_chars", "8000"),
            ],
        ),
        (
            "search_code",
            &[("max_lines", "100"), ("show_context", "2")],
        ),
        (
            "get_repo_structure",
            &[
                ("max_depth", "3"),
                ("max_files", "500"),
                ("max_lines", "500"),
            ],
        ),
    ];
    for (tool, expected) in cases {
        for (key, value) in expected {
            let (found, origin) = setting(&sandbox, &["--tool", tool], key);
            assert_eq!(&found, value, "{tool}.{key}");
            assert!(
                origin.starts_with("file overspill.yaml line "),
                "{tool}.{key}: {origin}"
            );
        }
    }
    assert_eq!(
        setting(&sandbox, &[], "summarization.model"),
        (
            "qwen-turbo".to_owned(),
            "file overspill.yaml line 30".to_owned()
        )
    );
    insta::assert_snapshot!(sandbox.run(&["config", "show", "--tool", "read_file"]).quietly(0).text(), @"
    max_lines                        200             file overspill.yaml line 17
    max_bytes                        off             built in for Read
    max_chars                        5000            file overspill.yaml line 16
    max_tokens                       25000           built in for Read
    max_line_chars                   2000            built in for Read
    strategy                         head_tail       file overspill.yaml line 7
    preset                           off             built in
    encoding                         o200k_base      built in
    search_timeout_ms                20000           built in for Read
    max_result_chars                 off             built in
    store_dir                        tool-output     built in
    retention_days                   7               built in
    max_store_bytes                  off             built in
    journal                          on              built in
    language                         en              built in
    summarization.enabled            off             file overspill.yaml line 29
    summarization.base_url           off             built in
    summarization.model              qwen-turbo      file overspill.yaml line 30
    summarization.api_key_env        OPENAI_API_KEY  built in
    summarization.max_input_chars    50000           file overspill.yaml line 31
    summarization.trigger_threshold  20000           file overspill.yaml line 32
    summarization.timeout_ms         30000           built in
    ");

    // S2's numbers: 40 % of 10000 - 200 at either end.
    let input = "x".repeat(20_000);
    let arguments = ["truncate", "--tool", "repo_map", "--format", "json"];
    let preview = sandbox.pipe(&arguments, &input).quietly(0).json()["preview"].take();
    let end = &input[..3920];
    let expected = format!("{end}\n\n... [truncated 12160 chars / 0 lines] ...\n\n{end}");
    assert!(preview == expected, "not the two ends");
}

#[test]
fn a_file_to_start_with() {
    let sandbox = Sandbox::new();
    let built_in = settings(&sandbox, &[]);
    assert_eq!(
        sandbox.run(&["config", "init"]).quietly(0).stable(),
        "wrote [root]/overspill.yaml\n"
    );
    assert_eq!(
        sandbox.run(&["config", "check"]).quietly(0).stable(),
        "[root]/overspill.yaml: no mistakes\n"
    );
    assert_eq!(settings(&sandbox, &[]), built_in, "it changes nothing");

    let written = fs::read_to_string(sandbox.root().join("overspill.yaml")).unwrap();
    for (key, ..) in &built_in {
        let is_summary = key.starts_with("summarization.");
        assert!(
            is_summary || written.contains(&format!("# {key}: ")),
            "`{key}` is not in it"
        );
    }

    let output = sandbox.run(&["config", "init", "--profile", "compact"]);
    assert_eq!(
        (output.code, output.complaint().as_str()),
        (
            2,
            "overspill: `overspill.yaml` exists already; `--force` writes over it"
        )
    );
    assert_eq!(
        fs::read_to_string(sandbox.root().join("overspill.yaml")).unwrap(),
        written
    );
    sandbox
        .run(&["config", "init", "--profile", "compact", "--force"])
        .quietly(0);
    assert_eq!(
        sandbox.run(&["config", "check"]).quietly(0).stable(),
        "[root]/overspill.yaml: no mistakes\n"
    );
}

#[test]
fn each_commented_value_of_the_file_to_start_with_is_valid() {
    let sandbox = Sandbox::new();
    sandbox.run(&["config", "init"]).quietly(0);
    let path = sandbox.root().join("overspill.yaml");
    let text = fs::read_to_string(&path).unwrap();
    // What a user would do: take the mark off every line that has a value.
    let uncommented: String = text
        .lines()
        .map(|line| {
            let inner = line.trim_start().strip_prefix("# ").unwrap_or("");
            let is_key = |key: &str| {
                key.chars()
                    .all(|c| c.is_ascii_lowercase() || "_*".contains(c))
            };
            let is_setting =
                |(key, value): (&str, &str)| is_key(key) && !value.trim().contains(' ');
            let is_value = inner.trim_start().split_once(':').is_some_and(is_setting)
                || inner.trim_start().starts_with("- {");
            if is_value {
                format!("{}\n", line.replacen("# ", "", 1))
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    assert!(
        uncommented.contains("\ntool_output_limits:\n"),
        "{uncommented}"
    );
    fs::write(&path, &uncommented).unwrap();
    let output = sandbox.run(&["config", "check"]);
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (0, ""),
        "{uncommented}"
    );
}

#[test]
fn the_compact_profile_has_the_numbers_of_the_seed() {
    let (seed, compact) = (Sandbox::new(), Sandbox::new());
    seed.write("overspill.yaml", SEED);
    compact
        .run(&["config", "init", "--profile", "compact"])
        .quietly(0);
    let values = |sandbox: &Sandbox, tool: &str| -> Vec<(String, String)> {
        settings(sandbox, &["--tool", tool])
            .into_iter()
            .map(|(key, value, _)| (key, value))
            .collect()
    };
    for tool in [
        "",
        "Run",
        "repo_map",
        "read_file",
        "grep_search",
        "get_repo_structure",
        "mcp__git__log",
    ] {
        assert_eq!(values(&compact, tool), values(&seed, tool), "{tool}");
    }
}

#[test]
fn checking_a_file() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.run(&["config", "check"]).quietly(0).text(),
        "no configuration file; the built-in values hold\n"
    );
    sandbox.write("mine.yaml", "default:\n  max_lines: 5\n");
    assert_eq!(
        sandbox
            .run(&["config", "check", "mine.yaml"])
            .quietly(0)
            .text(),
        "mine.yaml: no mistakes\n"
    );
    sandbox.write("mine.yaml", "default:\n  max_lnes: 5\n");
    let output = sandbox.run(&["config", "check", "mine.yaml"]);
    assert_eq!((output.code, output.text().as_str()), (2, ""));
    assert!(
        output
            .complaint()
            .contains("`mine.yaml` line 2: unknown key `max_lnes`"),
        "{}",
        output.stderr
    );

    let mut command = sandbox.command(&["config", "check"]);
    command.env("TOOL_OUTPUT_MAX_LINE", "5");
    let text = sandbox.finish(command, b"").quietly(0).text();
    assert!(
        text.ends_with("environment variable `TOOL_OUTPUT_MAX_LINE` is none of overspill's\n"),
        "{text}"
    );
}

/// Runs `truncate` on an output that would be spilled; the call must fail with one line and touch nothing.
#[track_caller]
fn complaint(sandbox: &Sandbox, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let before = sandbox.snapshot();
    let mut command = sandbox.command(arguments);
    command.envs(environment.iter().copied());
    let output = sandbox.finish(command, seq(9999).as_bytes());
    assert_eq!(
        (output.code, output.text().as_str()),
        (2, ""),
        "{arguments:?}"
    );
    assert_eq!(
        sandbox.snapshot(),
        before,
        "{arguments:?}: something was written"
    );
    let complaint = output.complaint();
    assert!(complaint.len() <= 600, "{arguments:?}: {complaint}");
    complaint
}

#[test]
fn a_wrong_file_is_named_with_line_key_and_what_is_expected() {
    let cases = [
        "max_lnes: 5\n",
        "tool_output_limits:\n  default:\n    max_line: 5\n",
        "tool_output_limits:\n  defaults:\n    max_lines: 5\n",
        "default:\n  max_lines: ten\n",
        "default:\n  max_lines: 0\n",
        "default:\n  max_lines: -3\n",
        "default:\n  max_lines: 1.5\n",
        "default:\n  max_lines: [1, 2]\n",
        "default:\n  max_lines:\n",
        "default:\n  max_bytes: 10k\n",
        "default:\n  strategy: middle\n",
        "default:\n  max_lines: 1\n  max_lines: 2\n",
        "default:\n  strategy: head\n  direction: tail\n",
        "max_lines: 5\n",
        "tools:\n  Run:\n    show_context: 2\n",
        "tools:\n  \"a b\":\n    max_lines: 2\n",
        "tools: 5\n",
        "- a\n- b\n",
        "just words\n",
        "default:\n\tmax_lines: 5\n",
        "default: {max_lines: 5\n",
        "language: fr\n",
        "retention_days: -1\n",
        "summarization:\n  enabled: maybe\n",
        "permissions:\n  - {permission: task, action: allow}\n",
        "permissions:\n  - {permission: task, pattern: \"*\", action: maybe}\n",
        "default:\n  max_lines: 5\n---\ndefault:\n  max_lines: 6\n",
        "a: &a [x]\nb: [*a, *a]\n",
    ];
    let complaints: Vec<String> = cases
        .iter()
        .map(|file| {
            let sandbox = Sandbox::new();
            sandbox.write("overspill.yaml", file);
            let said = complaint(&sandbox, &["truncate"], &[]);
            assert_eq!(
                complaint(&sandbox, &["run", "--", "true"], &[]),
                said,
                "{file}"
            );
            assert_eq!(
                complaint(&sandbox, &["config", "check"], &[]),
                said,
                "{file}"
            );
            format!("{}\n  {said}", file.trim_end().escape_debug())
        })
        .collect();
    insta::assert_snapshot!(complaints.join("\n"), @r#"
    max_lnes: 5
      overspill: `overspill.yaml` line 1: unknown key `max_lnes`, expected `max_result_chars`, `store_dir`, `retention_days`, `max_store_bytes`, `journal`, `language`, `tool_output_limits`, `default`, `tools`, `clients`, `summarization` or `permissions`; did you mean `max_lines`?
    tool_output_limits:\n  default:\n    max_line: 5
      overspill: `overspill.yaml` line 3: unknown key `max_line`, expected `max_lines`, `max_bytes`, `max_chars`, `max_tokens`, `max_line_chars`, `strategy`, `preset` or `encoding`; did you mean `max_lines`?
    tool_output_limits:\n  defaults:\n    max_lines: 5
      overspill: `overspill.yaml` line 2: unknown key `defaults`, expected `default` or `tools`; did you mean `default`?
    default:\n  max_lines: ten
      overspill: `overspill.yaml` line 2: `max_lines` is `ten`, expected a whole number from 1, or `off`
    default:\n  max_lines: 0
      overspill: `overspill.yaml` line 2: `max_lines` is `0`, expected a whole number from 1, or `off`
    default:\n  max_lines: -3
      overspill: `overspill.yaml` line 2: `max_lines` is `-3`, expected a whole number from 1, or `off`
    default:\n  max_lines: 1.5
      overspill: `overspill.yaml` line 2: `max_lines` is `1.5`, expected a whole number from 1, or `off`
    default:\n  max_lines: [1, 2]
      overspill: `overspill.yaml` line 2: `max_lines` is `a list`, expected a whole number from 1, or `off`
    default:\n  max_lines:
      overspill: `overspill.yaml` line 2: `max_lines` is empty, expected a whole number from 1, or `off`
    default:\n  max_bytes: 10k
      overspill: `overspill.yaml` line 2: `max_bytes` is `10k`, expected a size in bytes from 1 such as `51200` or `50KiB`, or `off`
    default:\n  strategy: middle
      overspill: `overspill.yaml` line 2: `strategy` is `middle`, expected `head`, `tail`, `head_tail`, `smart` or `summarize`
    default:\n  max_lines: 1\n  max_lines: 2
      overspill: `overspill.yaml` line 3: `max_lines` stands twice
    default:\n  strategy: head\n  direction: tail
      overspill: `overspill.yaml` line 3: `direction` says `strategy` again
    max_lines: 5
      overspill: `overspill.yaml` line 1: `max_lines` does not belong here, expected in `tool_output_limits.default` or `tool_output_limits.tools.<name>`
    tools:\n  Run:\n    show_context: 2
      overspill: `overspill.yaml` line 3: `show_context` of `Run` does not belong here, expected in `tool_output_limits.tools.Grep`
    tools:\n  \"a b\":\n    max_lines: 2
      overspill: `overspill.yaml` line 2: `a b` is not the name of a tool, expected a tool's name such as `Grep`, `Read`, `LS`, `Glob`, `RepoStructure`, `RepoMap` or `Run`, or a pattern such as `mcp__*`
    tools: 5
      overspill: `overspill.yaml` line 1: `tools`: expected `key: value` lines
    - a\n- b
      overspill: `overspill.yaml` line 1: the file: expected `key: value` lines
    just words
      overspill: `overspill.yaml` line 1: the file: expected `key: value` lines
    default:\n\tmax_lines: 5
      overspill: `overspill.yaml` line 2: not YAML: tabs disallowed within this context (block indentation)
    default: {max_lines: 5
      overspill: `overspill.yaml` line 2: not YAML: while parsing a flow mapping, did not find expected ',' or '}'
    language: fr
      overspill: `overspill.yaml` line 1: `language` is `fr`, expected `en` or `zh`
    retention_days: -1
      overspill: `overspill.yaml` line 1: `retention_days` is `-1`, expected a whole number from 0
    summarization:\n  enabled: maybe
      overspill: `overspill.yaml` line 2: `enabled` is `maybe`, expected `on` or `off`
    permissions:\n  - {permission: task, action: allow}
      overspill: `overspill.yaml` line 2: a rule of `permissions` needs `pattern`, a word
    permissions:\n  - {permission: task, pattern: \"*\", action: maybe}
      overspill: `overspill.yaml` line 2: `action` is `maybe`, expected `allow`, `ask` or `deny`
    default:\n  max_lines: 5\n---\ndefault:\n  max_lines: 6
      overspill: `overspill.yaml` line 3: a second document is not read
    a: &a [x]\nb: [*a, *a]
      overspill: `overspill.yaml` line 1: anchors and aliases are not supported
    "#);
}

#[test]
fn a_wrong_value_is_named_with_its_source_and_what_is_expected() {
    type Case = (
        &'static [&'static str],
        &'static [(&'static str, &'static str)],
    );
    let cases: [Case; 19] = [
        (&["truncate"], &[("TOOL_OUTPUT_MAX_LINES", "abc")]),
        (&["truncate"], &[("TOOL_OUTPUT_MAX_BYTES", "-1")]),
        (&["truncate"], &[("TOOL_OUTPUT_TRUNCATE_DIRECTION", "up")]),
        (&["truncate"], &[("TOOL_OUTPUT_RETENTION_DAYS", "week")]),
        (&["truncate"], &[("OVERSPILL_CONFIG", "none.yaml")]),
        (&["truncate", "--max-lines", "0"], &[]),
        (&["truncate", "--max-lines", "-5"], &[]),
        (&["truncate", "--max-lines", ""], &[]),
        (&["truncate", "--max-bytes", "1e9"], &[]),
        (
            &["truncate", "--max-tokens", "99999999999999999999999"],
            &[],
        ),
        (&["truncate", "--strategy", "middle"], &[]),
        (&["--strategy", "middle"], &[]),
        (&["truncate", "--preset", "csv"], &[]),
        (&["truncate", "--encoding", "gpt2"], &[]),
        (&["truncate", "--lang", "fr"], &[]),
        (&["truncate", "none.txt"], &[]),
        (&["truncate", "dir"], &[]),
        (&["truncate", "--config", "dir"], &[]),
        (&["truncate", "--config", "none.yaml"], &[]),
    ];
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.root().join("dir")).unwrap();
    let complaints: Vec<String> = cases
        .iter()
        .map(|(arguments, environment)| {
            let environment_shown: String = environment
                .iter()
                .map(|(name, value)| format!("{name}={value} "))
                .collect();
            format!(
                "{environment_shown}{}\n  {}",
                arguments.join(" "),
                complaint(&sandbox, arguments, environment)
            )
        })
        .collect();
    insta::assert_snapshot!(complaints.join("\n"), @"
    TOOL_OUTPUT_MAX_LINES=abc truncate
      overspill: `TOOL_OUTPUT_MAX_LINES` is `abc`, expected a whole number from 1, or `off`
    TOOL_OUTPUT_MAX_BYTES=-1 truncate
      overspill: `TOOL_OUTPUT_MAX_BYTES` is `-1`, expected a size in bytes from 1 such as `51200` or `50KiB`, or `off`
    TOOL_OUTPUT_TRUNCATE_DIRECTION=up truncate
      overspill: `TOOL_OUTPUT_TRUNCATE_DIRECTION` is `up`, expected `head`, `tail`, `head_tail`, `smart` or `summarize`
    TOOL_OUTPUT_RETENTION_DAYS=week truncate
      overspill: `TOOL_OUTPUT_RETENTION_DAYS` is `week`, expected a whole number from 0
    OVERSPILL_CONFIG=none.yaml truncate
      overspill: configuration file `none.yaml`: no such file or directory
    truncate --max-lines 0
      overspill: `--max-lines` is `0`, expected a whole number from 1, or `off`
    truncate --max-lines -5
      overspill: `--max-lines` is `-5`, expected a whole number from 1, or `off`
    truncate --max-lines 
      overspill: `--max-lines` is empty, expected a whole number from 1, or `off`
    truncate --max-bytes 1e9
      overspill: `--max-bytes` is `1e9`, expected a size in bytes from 1 such as `51200` or `50KiB`, or `off`
    truncate --max-tokens 99999999999999999999999
      overspill: `--max-tokens` is `99999999999999999999999`, expected a whole number from 1, or `off`
    truncate --strategy middle
      overspill: `--strategy` is `middle`, expected `head`, `tail`, `head_tail`, `smart` or `summarize`
    --strategy middle
      overspill: `--strategy` is `middle`, expected `head`, `tail`, `head_tail`, `smart` or `summarize`
    truncate --preset csv
      overspill: `--preset` is `csv`, expected `code`, `log`, `error` or `smart`
    truncate --encoding gpt2
      overspill: `--encoding` is `gpt2`, expected `o200k_base` or `cl100k_base`
    truncate --lang fr
      overspill: `--lang` is `fr`, expected `en` or `zh`
    truncate none.txt
      overspill: `none.txt`: no such file or directory
    truncate dir
      overspill: `dir`: is a directory, expected a file
    truncate --config dir
      overspill: configuration file `dir`: is not a file
    truncate --config none.yaml
      overspill: configuration file `none.yaml`: no such file or directory
    ");
}

#[test]
fn a_wrong_root() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "x");
    insta::assert_snapshot!(complaint(&sandbox, &["truncate", "--root", "none"], &[]), @"overspill: root `none`: no such file or directory");
    insta::assert_snapshot!(complaint(&sandbox, &["truncate", "--root", "file"], &[]), @"overspill: root `file`: is not a directory");
}

#[test]
fn a_file_that_is_no_configuration() {
    type Setup = fn(&Path);
    let cases: [(&str, Setup, &str); 6] = [
        (
            "not UTF-8",
            |path| fs::write(path, b"default:\n  max_lines: \xff\n").unwrap(),
            "is not UTF-8 text",
        ),
        (
            "huge",
            |path| fs::write(path, "# x\n".repeat(300_000)).unwrap(),
            "is larger than 1 MiB",
        ),
        (
            "endless",
            |path| symlink("/dev/zero", path).unwrap(),
            "is not a file",
        ),
        (
            "a directory",
            |path| fs::create_dir(path).unwrap(),
            "is not a file",
        ),
        ("a FIFO", |path| make_fifo(path), "is not a file"),
        (
            "a dangling link",
            |path| symlink("none", path).unwrap(),
            "no such file or directory",
        ),
    ];
    for (name, set_up, cause) in cases {
        let sandbox = Sandbox::new();
        set_up(&sandbox.root().join("overspill.yaml"));
        assert_eq!(
            complaint(&sandbox, &["truncate"], &[]),
            format!("overspill: configuration file `overspill.yaml`: {cause}"),
            "{name}"
        );
    }
}

#[test]
fn a_file_that_may_not_be_read() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("overspill.yaml", "default:\n  max_lines: 5\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(sandbox.outside(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = sandbox.command(&["truncate"]);
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let output = sandbox.finish(command, seq(9999).as_bytes());
    assert_eq!((output.code, output.text().as_str()), (2, ""));
    assert_eq!(
        output.complaint(),
        "overspill: configuration file `overspill.yaml`: permission denied"
    );
    assert_eq!(sandbox.snapshot().len(), 1);
}

#[test]
fn a_file_made_to_hurt() {
    let levels: String = (1..10)
        .map(|n| {
            format!(
                "l{n}: &l{n} [{}]\n",
                vec![format!("*l{}", n - 1); 9].join(", ")
            )
        })
        .collect();
    let cases = [
        ("a bomb of aliases", format!("l0: &l0 [lol]\n{levels}")),
        ("deep brackets", "[".repeat(100_000)),
        ("deep braces", "{a: ".repeat(100_000)),
        (
            "deep lines",
            (0..1000)
                .map(|n| format!("{}a:\n", " ".repeat(n)))
                .collect(),
        ),
        ("a long key", format!("{}: 5\n", "k".repeat(500_000))),
        (
            "a long value",
            format!("default:\n  max_lines: {}\n", "9".repeat(500_000)),
        ),
        (
            "many keys",
            format!(
                "tools:\n{}",
                (0..20_000)
                    .map(|n| format!("  t{n}: {{max_lines: 5}}\n"))
                    .collect::<String>()
                    + "  t1: {}\n"
            ),
        ),
        (
            "control characters",
            "default:\n  max_lines: \"\\e[31m\\n5\"\n".to_owned(),
        ),
        ("NUL", "store_dir: \"a\\0b\"\n".to_owned()),
        (
            "a key twice with control characters",
            "tools:\n  \"a\\e\\nb\": {}\n  \"a\\e\\nb\": {}\n".to_owned(),
        ),
        (
            "a long key twice",
            format!("? {0}\n: 5\n? {0}\n: 5\n", "k".repeat(100_000)),
        ),
        (
            "a long name of a tool",
            format!("tools:\n  ? {}\n  : {{}}\n", "t/".repeat(100_000)),
        ),
        (
            "a key with control characters where it does not belong",
            "tools:\n  \"R\\eun\":\n    show_context: 2\n".to_owned(),
        ),
    ];
    for (name, file) in cases {
        let sandbox = Sandbox::new();
        sandbox.write("overspill.yaml", &file);
        let start = std::time::Instant::now();
        let said = complaint(&sandbox, &["truncate"], &[]);
        assert!(
            said.starts_with("overspill: `overspill.yaml` line "),
            "{name}: {said}"
        );
        assert!(!said.contains(char::is_control), "{name}: {said:?}");
        assert!(
            start.elapsed() < std::time::Duration::from_secs(5),
            "{name}: {:?}",
            start.elapsed()
        );
    }
}
