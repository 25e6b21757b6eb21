use std::collections::HashSet;

use super::*;
use crate::{Limits, Strategy};

/// The configuration of seed S2, as it stands there.
const SEED: &str = r#"
# 工具输出限制配置
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

fn file(text: &str) -> Settings {
    Settings::new().with_file(FileSettings::parse("overspill.yaml", text).unwrap())
}

fn origin(settings: &Settings, tool: &str, key: &str) -> String {
    let effective = settings.effective(tool);
    let (_, value, origin) = effective
        .iter()
        .find(|(setting, ..)| setting.key == key)
        .unwrap();
    format!("{value} from {origin}")
}

#[test]
fn the_table_is_sound() {
    let mut names = HashSet::new();
    let mut variables = HashSet::new();
    for setting in SETTINGS {
        assert!(
            !setting.doc.is_empty() && !setting.expected().is_empty(),
            "{}",
            setting.key
        );
        for name in std::iter::once(&setting.key).chain(setting.aliases) {
            assert!(names.insert(*name), "{name} stands twice");
        }
        if let Some(variable) = setting.variable {
            assert!(
                variables.insert(variable) && variable.starts_with("TOOL_OUTPUT_"),
                "{variable}"
            );
        }
        let default = setting.kind.parse(setting.default);
        assert!(
            default.is_some(),
            "the default of {} is no value of its kind",
            setting.key
        );
    }
    let known = |values: &[(&str, &str)]| {
        values.iter().all(|(key, text)| {
            setting(key).is_some_and(|setting| setting.kind.parse(text).is_some())
        })
    };
    assert!(PRESETS.iter().all(|preset| known(preset.values)));
    assert!(KNOWN_TOOLS.iter().all(|tool| known(tool.values)));
}

#[test]
fn built_in_values_are_those_of_the_contract() {
    let settings = Settings::new();
    assert_eq!(settings.effective("LS").limits(), Limits::default());
    assert_eq!(settings.effective("LS").strategy(), Strategy::Head);
    let paging = Limits::none()
        .lines(2000)
        .line_chars(2000)
        .chars(262_144)
        .tokens(25_000);
    for name in ["Grep", "grep", "grep_search", "SearchCode", "read_file"] {
        assert_eq!(settings.effective(name).limits(), paging, "{name}");
    }
}

#[test]
fn the_seeds_file_means_what_it_says() {
    let settings = file(SEED);
    let limits = |tool: &str| settings.effective(tool).limits();
    let default = Limits::none().chars(8000).lines(500).bytes(51_200);
    assert_eq!(limits("anything"), default);
    assert_eq!(limits("RepoMap"), default.chars(10_000).lines(1000));
    assert_eq!(limits("Read").max_chars(), Some(5000));
    assert_eq!(limits("Grep").max_lines(), Some(100));
    assert_eq!(settings.effective("Read").strategy(), Strategy::HeadTail);
    assert_eq!(
        origin(&settings, "Grep", "show_context"),
        "2 from file overspill.yaml line 22"
    );
    assert_eq!(
        origin(&settings, "RepoStructure", "max_depth"),
        "3 from file overspill.yaml line 25"
    );
}

#[test]
fn the_stronger_source_wins() {
    let text = "default:\n  max_lines: 1\n  max_bytes: 1KiB\n  max_chars: 7\ntools:\n  mcp__*:\n    max_lines: 2\n  mcp__git__log:\n    max_lines: 3\n";
    let settings = file(text)
        .with_environment(|name| (name == "TOOL_OUTPUT_MAX_BYTES").then(|| "99".into()))
        .unwrap();
    let settings = settings
        .with_option("max_chars", "off", "--max-chars")
        .unwrap();
    assert_eq!(
        origin(&settings, "x", "max_lines"),
        "1 from file overspill.yaml line 2"
    );
    assert_eq!(
        origin(&settings, "mcp__a__b", "max_lines"),
        "2 from file overspill.yaml line 7"
    );
    assert_eq!(
        origin(&settings, "mcp__git__log", "max_lines"),
        "3 from file overspill.yaml line 9"
    );
    assert_eq!(
        origin(&settings, "x", "max_bytes"),
        "99 from environment TOOL_OUTPUT_MAX_BYTES"
    );
    assert_eq!(
        origin(&settings, "x", "max_chars"),
        "off from flag --max-chars"
    );
    assert_eq!(
        origin(&settings, "Grep", "max_tokens"),
        "25000 from built in for Grep"
    );
}

#[test]
fn a_preset_gives_way_to_what_its_own_layer_says() {
    let settings = file("default:\n  preset: log\n  max_lines: 9\n");
    assert_eq!(
        origin(&settings, "x", "max_lines"),
        "9 from file overspill.yaml line 3"
    );
    assert_eq!(
        origin(&settings, "x", "max_bytes"),
        "20480 from preset log (file overspill.yaml line 2)"
    );
    let settings = settings.with_option("preset", "error", "--preset").unwrap();
    assert_eq!(
        origin(&settings, "x", "max_lines"),
        "100 from preset error (flag --preset)"
    );
    assert_eq!(settings.effective("x").strategy(), Strategy::Tail);
    let settings = file("default:\n  preset: log\n")
        .with_option("preset", "off", "--preset")
        .unwrap();
    assert_eq!(origin(&settings, "x", "max_lines"), "2000 from built in");
}

#[test]
fn a_pattern_minds_underscores() {
    let settings = file("tools:\n  mcp__git__*: {max_lines: 9}\n");
    assert_eq!(
        settings.effective("mcp__git__log").limits().max_lines(),
        Some(9)
    );
    assert_eq!(
        settings.effective("MCP__Git__log").limits().max_lines(),
        Some(9)
    );
    assert_eq!(
        settings
            .effective("mcp__github__search")
            .limits()
            .max_lines(),
        Some(2000)
    );
}

#[test]
fn mistakes_in_a_file_are_named_in_one_line() {
    let cases = [
        (
            "default:\n  max_lines: ten\n",
            "line 2: `max_lines` is `ten`, expected a whole number from 1, or `off`",
        ),
        (
            "default:\n  max_lines: 0\n",
            "line 2: `max_lines` is `0`, expected a whole number from 1, or `off`",
        ),
        (
            "default:\n  max_bytes: 10k\n",
            "line 2: `max_bytes` is `10k`, expected a size in bytes from 1 such as `51200` or `50KiB`, or `off`",
        ),
        (
            "default:\n  max_lines: [1]\n",
            "line 2: `max_lines` is `a list`, expected a whole number from 1, or `off`",
        ),
        (
            "default:\n  strategy: middle\n",
            "line 2: `strategy` is `middle`, expected `head`, `tail`, `head_tail`, `smart` or `summarize`",
        ),
        (
            "default:\n  store_dir: x\n",
            "line 2: `store_dir` does not belong here, expected in the top of the file",
        ),
        (
            "max_lines: 3\n",
            "line 1: `max_lines` does not belong here, expected in `tool_output_limits.default` or `tool_output_limits.tools.<name>`",
        ),
        (
            "summarization:\n  enabled: maybe\n",
            "line 2: `enabled` is `maybe`, expected `on` or `off`",
        ),
        (
            "tools:\n  Read:\n    max_depth: 2\n",
            "line 3: `max_depth` of `Read` does not belong here, expected in `tool_output_limits.tools.RepoStructure`",
        ),
        (
            "default:\n  strategy: head\n  direction: tail\n",
            "line 3: `direction` says `strategy` again",
        ),
        (
            "default: 5\n",
            "line 1: `default`: expected `key: value` lines",
        ),
        ("- a\n", "line 1: the file: expected `key: value` lines"),
        ("a: &x 1\n", "line 1: anchors and aliases are not supported"),
        (
            "language: de\n",
            "line 1: `language` is `de`, expected `en` or `zh`",
        ),
        (
            "default: {}\ndefault: {}\n",
            "line 2: `default` stands twice",
        ),
        (
            "permissions:\n  - {permission: task, action: allow}\n",
            "line 2: a rule of `permissions` needs `pattern`, a word",
        ),
        (
            "permissions:\n  - {permission: task, pattern: x, action: no}\n",
            "line 2: `action` is `no`, expected `allow`, `ask` or `deny`",
        ),
        (
            "---\nlanguage: en\n---\nlanguage: zh\n",
            "line 3: a second document is not read",
        ),
        (
            "tools:\n  \"a b\":\n    max_lines: 1\n",
            "line 2: `a b` is not the name of a tool, expected a tool's name",
        ),
    ];
    for (text, expected) in cases {
        let error = FileSettings::parse("overspill.yaml", text)
            .map_or_else(|error| error.to_string(), |file| format!("{file:?}"));
        assert!(
            error.starts_with(&format!("`overspill.yaml` {expected}")),
            "{text:?} gives {error}"
        );
        assert!(!error.contains('\n'), "{error}");
    }
    let error = FileSettings::parse("c.yaml", "default:\n  max_line: 3\n")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("`c.yaml` line 2: unknown key `max_line`, expected `max_lines`, ")
            && error.ends_with("did you mean `max_lines`?"),
        "{error}"
    );
    let long = "x".repeat(100_000);
    for text in [
        format!("? {long}\n: 1\n"),
        format!("tools:\n  ? {long}\n  : {{}}\n"),
        format!("default:\n  max_lines: {long}\n"),
        "tools:\n  \"a\\nb\": {}\n  \"a\\nb\": {}\n".into(),
    ] {
        let error = FileSettings::parse("c.yaml", &text)
            .unwrap_err()
            .to_string();
        assert!(error.len() < 1000 && !error.contains('\n'), "{error}");
    }
    let error = FileSettings::parse("c.yaml", "a: [")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("`c.yaml` line ") && error.contains(": not YAML: "),
        "{error}"
    );
}

#[test]
fn mistakes_elsewhere_name_their_source() {
    let error = Settings::new()
        .with_environment(|name| (name == "TOOL_OUTPUT_MAX_LINES").then(|| "abc".into()))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`TOOL_OUTPUT_MAX_LINES` is `abc`, expected a whole number from 1, or `off`"
    );
    let error = Settings::new()
        .with_option("strategy", "middle", "--strategy")
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`--strategy` is `middle`, expected `head`, `tail`, `head_tail`, `smart` or `summarize`"
    );
}

#[test]
fn new_files_are_right() {
    let default = file(&init_file(Profile::Default));
    let built_in = Settings::new();
    for (ours, theirs) in default
        .effective("x")
        .iter()
        .zip(built_in.effective("x").iter())
    {
        assert_eq!(ours.1, theirs.1);
    }
    let compact = file(&init_file(Profile::Compact));
    let seed = file(SEED);
    for tool in [
        "",
        "repo_map",
        "read_file",
        "grep_search",
        "get_repo_structure",
        "Run",
    ] {
        assert_eq!(
            compact.effective(tool).limits(),
            seed.effective(tool).limits(),
            "{tool}"
        );
        assert_eq!(
            compact.effective(tool).strategy(),
            seed.effective(tool).strategy(),
            "{tool}"
        );
    }
    // A user who takes the comment marks away gets a file that is right as well.
    let top = |line: &&str| {
        setting(line.split(':').next().unwrap_or(""))
            .is_some_and(|setting| setting.scope == Scope::Top)
    };
    let text = init_file(Profile::Default);
    let uncommented: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(top)
        .collect();
    assert!(uncommented.contains(&"store_dir: tool-output"));
    file(&uncommented.join("\n"));
}

#[test]
fn documentation_names_every_setting() {
    let (reference, schema) = (reference(), schema());
    for setting in SETTINGS {
        assert!(
            reference.contains(&format!("| `{}`", setting.full_key())),
            "{}",
            setting.key
        );
        assert!(
            schema.contains(&format!("\"{}\": {{", setting.key)),
            "{}",
            setting.key
        );
    }
}
