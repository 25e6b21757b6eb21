//! Claude Code's PreToolUse: has a shell command run by `overspill run`, for the user who asks for it.
//!
//! It never says that the command is allowed: whether it may run is for the user's rules, which judge the wrapped text. What
//! would not work in a shell of its own is left as it is.

use serde_json::{Value, json};

use crate::app::quoted;

/// Commands that change the shell they run in, which is to last beyond the call.
const STATEFUL: [&str; 11] = [
    "cd", "pushd", "popd", "export", "unset", "source", ".", "alias", "set", "shopt", "exec",
];

/// Returns what Claude Code is told in answer to its input. `program` is how this one is called, with its flags.
pub(super) fn reply(mut input: Value, program: &str) -> Option<Value> {
    if input["hook_event_name"] != "PreToolUse" || input["tool_name"] != "Bash" {
        return None;
    }
    let mut given = input["tool_input"].take();
    let command = given["command"].as_str()?;
    if given["run_in_background"] == true || !is_wrappable(command, program) {
        return None;
    }
    given["command"] = json!(format!("{program} run -- bash -c {}", quoted(command)));
    Some(json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "updatedInput": given } }))
}

fn is_wrappable(command: &str, program: &str) -> bool {
    let ends_word = |c: char| c.is_whitespace() || ";&|(){}`".contains(c);
    let mut words = command
        .split(ends_word)
        .filter(|word| !word.is_empty())
        .peekable();
    let name = program.split(' ').next().unwrap_or(program);
    words
        .peek()
        .is_some_and(|first| *first != name && *first != "overspill")
        && words.all(|word| !STATEFUL.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(command: &str) -> Option<String> {
        let input = json!({
            "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": { "command": command, "timeout": 5, "description": "d" },
        });
        let reply = reply(input, "overspill --root /p")?;
        let output = &reply["hookSpecificOutput"];
        assert_eq!(
            output.as_object()?.keys().collect::<Vec<_>>(),
            ["hookEventName", "updatedInput"]
        );
        assert_eq!(
            output["updatedInput"]["timeout"], 5,
            "the whole input goes back"
        );
        output["updatedInput"]["command"]
            .as_str()
            .map(str::to_owned)
    }

    #[test]
    fn a_command_is_one_word_of_the_wrapped_one() {
        assert_eq!(
            wrapped("make").unwrap(),
            "overspill --root /p run -- bash -c make"
        );
        assert_eq!(
            wrapped("echo 'it''s' | grep \"$X\"\necho b").unwrap(),
            "overspill --root /p run -- bash -c 'echo '\\''it'\\'''\\''s'\\'' | grep \"$X\"\necho b'"
        );
    }

    #[test]
    fn what_needs_the_agents_own_shell_is_left_alone() {
        for command in [
            "cd src",
            "make && cd x",
            "(cd x; make)",
            ". ./env",
            "export A=1",
            "",
            "  ",
            "overspill list",
        ] {
            assert_eq!(wrapped(command), None, "{command}");
        }
        let plain = json!({ "command": "make" });
        let background = json!({ "command": "make", "run_in_background": true });
        for (event, tool, given) in [
            ("PostToolUse", "Bash", &plain),
            ("PreToolUse", "Read", &plain),
            ("PreToolUse", "Bash", &background),
        ] {
            let input = json!({ "hook_event_name": event, "tool_name": tool, "tool_input": given });
            assert_eq!(reply(input, "overspill"), None);
        }
    }
}
