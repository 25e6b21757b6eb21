//! The pages of `Grep`: their order, what fits on one, and that each match is on one page.

use std::collections::BTreeSet;
use std::fs::File;
use std::time::{Duration, SystemTime};

use overspill::Encoding;
use serde_json::{Value, json};

use crate::grep::{Dice, HINT, body, grep, grep_with, places, put, remarks, strings};
use crate::support::{Sandbox, timeless};

#[test]
fn newest_files_come_first_and_those_of_one_moment_by_path() {
    let sandbox = Sandbox::new();
    let files = [
        ("z/old.txt", 1),
        ("b/same.txt", 5),
        ("a.txt", 5),
        ("b.txt", 5),
        ("B.txt", 5),
        ("b/a/same.txt", 5),
        ("new.txt", 9),
    ];
    for (path, second) in files {
        put(&sandbox, path, second, "hit\nhit\n");
    }
    // Less than a second apart counts too.
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_005, 1);
    let path = sandbox.write("nanosecond.txt", "hit\nhit\n");
    File::open(path).unwrap().set_modified(time).unwrap();
    let expected = [
        "new.txt",
        "nanosecond.txt",
        "B.txt",
        "a.txt",
        "b.txt",
        "b/a/same.txt",
        "b/same.txt",
        "z/old.txt",
    ];
    let lines: Vec<String> = expected
        .iter()
        .flat_map(|file| [format!("{file}:1"), format!("{file}:2")])
        .collect();
    for _ in 0..5 {
        assert_eq!(places(&grep(&sandbox, &json!({ "pattern": "hit" }))), lines);
    }
    for mode in ["files_with_matches", "count"] {
        let envelope = grep(&sandbox, &json!({ "pattern": "hit", "output_mode": mode }));
        assert_eq!(strings(&envelope["data"]["filenames"]), expected, "{mode}");
    }
}

/// Follows `next_offset` from the first page to the last.
#[track_caller]
fn all_pages(sandbox: &Sandbox, flags: &[&str], params: &Value) -> Vec<Value> {
    let mut params = params.clone();
    let mut pages = Vec::new();
    let mut offset = 0;
    loop {
        params["offset"] = offset.into();
        let page = grep_with(sandbox, flags, &params);
        let next = page["data"]["next_offset"].as_u64();
        pages.push(page);
        let Some(next) = next else { return pages };
        assert!(
            next > offset,
            "page at {offset} goes on at {next}: {params} {flags:?}"
        );
        offset = next;
    }
}

#[test]
fn pages_show_each_match_once_and_none_twice() {
    let sandbox = Sandbox::new();
    let mut dice = Dice::new(1);
    let mut files: Vec<(u64, String, Vec<usize>)> = Vec::new();
    for number in 0..30 {
        let path = format!("{}/f{number}.txt", ["a", "b", "b/c"][dice.below(3)]);
        let lines = dice.below(8);
        let text: Vec<&str> = (0..lines)
            .map(|_| *dice.pick(&["hit", "miss", "a hit"]))
            .collect();
        let second = dice.below(6) as u64;
        put(&sandbox, &path, second, text.join("\n"));
        let hits = (0..lines)
            .filter(|&at| text[at].contains("hit"))
            .map(|at| at + 1);
        files.push((second, path, hits.collect()));
    }
    files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    files.retain(|(_, _, hits)| !hits.is_empty());
    let names: Vec<&String> = files.iter().map(|(_, path, _)| path).collect();
    let lines: Vec<String> = files
        .iter()
        .flat_map(|(_, path, hits)| hits.iter().map(move |line| format!("{path}:{line}")))
        .collect();
    assert!(lines.len() > 40 && names.len() > 15, "{lines:?}");

    for (limit, total) in [(2, true), (3, false), (7, true), (1000, false)] {
        let pages = |mode: &str| {
            let params =
                json!({ "pattern": "hit", "limit": limit, "output_mode": mode, "total": total });
            all_pages(&sandbox, &[], &params)
        };
        let found: Vec<String> = pages("content").iter().flat_map(places).collect();
        assert_eq!(found, lines, "limit {limit}, total {total}");
        for mode in ["files_with_matches", "count"] {
            let pages = pages(mode);
            let found: Vec<String> = pages
                .iter()
                .flat_map(|page| strings(&page["data"]["filenames"]))
                .collect();
            assert_eq!(
                found.iter().collect::<Vec<_>>(),
                names,
                "{mode}, limit {limit}, total {total}"
            );
        }
        // Neighbours change nothing about the matches.
        let params = json!({ "pattern": "hit", "limit": limit, "context": 2 });
        let found: Vec<String> = all_pages(&sandbox, &[], &params)
            .iter()
            .flat_map(places)
            .collect();
        assert_eq!(found, lines, "limit {limit} with neighbours");
    }
}

#[test]
fn count_fills_its_page_with_files_without_a_total() {
    let sandbox = Sandbox::new();
    for number in 0..30 {
        put(
            &sandbox,
            &format!("f{number:02}.txt"),
            100 - number,
            "hit\n".repeat(50),
        );
    }
    let params = json!({ "pattern": "hit", "output_mode": "count", "limit": 10, "total": false });
    let envelope = grep(&sandbox, &params);
    let expected: Vec<Value> = (0..10)
        .map(|number| json!({ "file": format!("f{number:02}.txt"), "count": 50 }))
        .collect();
    assert_eq!(envelope["data"]["counts"], json!(expected));
    assert_eq!(
        (
            &envelope["data"]["truncated"],
            &envelope["data"]["next_offset"]
        ),
        (&json!(true), &json!(10))
    );
}

#[test]
fn without_a_total_the_numbers_are_a_lower_bound() {
    let sandbox = Sandbox::new();
    for number in 0..200 {
        put(
            &sandbox,
            &format!("f{number:03}.txt"),
            1000 - number,
            "hit\n",
        );
    }
    let params = |total: bool| json!({ "pattern": "hit", "limit": 3, "total": total });
    let (all, some) = (
        grep(&sandbox, &params(true)),
        grep(&sandbox, &params(false)),
    );
    assert_eq!(all["data"]["matches"], some["data"]["matches"]);
    assert_eq!(
        (
            &all["data"]["total_lines_before_truncation"],
            all["data"].get("total_is_lower_bound")
        ),
        (&json!(200), None)
    );
    let seen = some["data"]["total_lines_before_truncation"]
        .as_u64()
        .unwrap();
    assert!((4..=200).contains(&seen), "{seen}");
    assert_eq!(some["data"]["total_is_lower_bound"], true);
    assert_eq!(
        remarks(&some),
        [
            &format!("[At least {seen} matches: counting stopped early.]"),
            "[Truncated: Showing first 3 matches. Narrow pattern or path.]",
            "[Next: offset 3]",
        ]
    );
    // All that there is was seen: that is no lower bound.
    let few = grep(
        &sandbox,
        &json!({ "pattern": "hit", "path": "f007.txt", "total": false }),
    );
    assert_eq!(few["data"].get("total_is_lower_bound"), None);
}

/// Forty matches in four files, lines short and long, with characters of one to four bytes.
fn long_lines() -> Sandbox {
    let sandbox = Sandbox::new();
    for file in 0..4 {
        let line = |n: usize| {
            format!(
                "hit {n} {}\n",
                ["x", "é", "漢", "🦀"][n % 4].repeat(n * 7 % 150)
            )
        };
        let text: String = (0..10).map(line).collect();
        put(&sandbox, &format!("src/f{file}.txt"), 9 - file, text);
    }
    sandbox
}

#[test]
fn content_is_cut_by_each_limit_and_pages_reach_the_rest() {
    let sandbox = long_lines();
    let all = places(&grep(&sandbox, &json!({ "pattern": "hit" })));
    assert_eq!(all.len(), 40);
    let sets: &[&[&str]] = &[
        &["--max-lines", "7"],
        &["--max-line-chars", "60"],
        &["--max-chars", "140"],
        &["--max-tokens", "150"],
        &["--max-bytes", "700"],
        &[
            "--max-lines",
            "9",
            "--max-line-chars",
            "50",
            "--max-chars",
            "300",
            "--max-tokens",
            "100",
        ],
        &[
            "--max-lines",
            "3",
            "--max-line-chars",
            "2000",
            "--max-chars",
            "262144",
            "--max-tokens",
            "25000",
        ],
    ];
    for flags in sets {
        let limit = |name: &str| {
            let at = flags.iter().position(|flag| *flag == name)?;
            flags[at + 1].parse::<usize>().ok()
        };
        let pages = all_pages(&sandbox, flags, &json!({ "pattern": "hit" }));
        for page in &pages {
            let (data, body) = (&page["data"], body(page));
            let within = |name: &str, size: usize| {
                assert!(
                    limit(name).is_none_or(|max| size <= max),
                    "{name}: {size} {flags:?}"
                );
            };
            within("--max-lines", body.lines().count());
            within("--max-bytes", body.len());
            within("--max-chars", body.chars().count());
            within("--max-tokens", Encoding::O200k.count(body) as usize);
            for line in body.lines() {
                within("--max-line-chars", line.chars().count());
            }
            let matches = data["matches"].as_array().unwrap();
            assert!(!matches.is_empty(), "a page is never empty: {flags:?}");
            let lines: Vec<String> = matches
                .iter()
                .map(|found| {
                    let [file, text] = ["file", "text"].map(|key| found[key].as_str().unwrap());
                    format!("{file}:{}: {text}", found["line"])
                })
                .collect();
            assert_eq!(
                lines.join("\n"),
                body,
                "data and text show the same: {flags:?}"
            );
            assert_eq!(
                (&data["num_lines"], &data["total_lines_before_truncation"]),
                (&json!(matches.len()), &json!(40))
            );
            let offset = page["context"]["params_input"]["offset"].as_u64().unwrap();
            let next = (offset + matches.len() as u64).into();
            let is_last = next == json!(40);
            assert_eq!(
                data.get("next_offset"),
                (!is_last).then_some(&next),
                "{flags:?}"
            );
            let is_shortened = matches
                .iter()
                .any(|found| found["text"].as_str().unwrap().ends_with("..."));
            let is_truncated = !is_last || is_shortened;
            assert_eq!(data["truncated"], is_truncated, "{flags:?}");
            assert_eq!(
                data.get("hint"),
                is_truncated.then_some(&json!(HINT)),
                "{flags:?}"
            );
            assert_eq!(
                page["status"],
                if is_truncated { "partial" } else { "success" },
                "{flags:?}"
            );
        }
        let found: Vec<String> = pages.iter().flat_map(places).collect();
        assert_eq!(found, all, "{flags:?}");
    }
    assert_eq!(
        sandbox.stored(),
        [] as [String; 0],
        "what a page leaves out is not spilled"
    );
}

#[test]
fn the_limits_of_content_hold_by_default() {
    let sandbox = Sandbox::new();
    put(&sandbox, "many.txt", 3, "hit\n".repeat(3000));
    put(
        &sandbox,
        "wide.txt",
        2,
        format!("hit {}\n", "w".repeat(5000)),
    );
    put(
        &sandbox,
        "chars.txt",
        1,
        format!("hit {}\n", "é ".repeat(900)).repeat(400),
    );
    let page = |path: &str| {
        grep(
            &sandbox,
            &json!({ "pattern": "hit", "path": path, "limit": 100_000 }),
        )
    };
    let many = page("many.txt");
    assert_eq!(
        (places(&many).len(), &many["data"]["next_offset"]),
        (2000, &json!(2000))
    );
    let wide = page("wide.txt");
    let text = body(&wide);
    assert!(
        text.ends_with("www...") && text.chars().count() <= 2000,
        "{text}"
    );
    assert_eq!(
        remarks(&wide),
        ["[Truncated: 1 lines of over 2000 characters are shortened.]"]
    );
    assert_eq!(
        (&wide["data"]["truncated"], &wide["data"]["hint"]),
        (&json!(true), &json!(HINT))
    );
    assert_eq!(wide["data"].get("next_offset"), None);
    let chars = page("chars.txt");
    let text = body(&chars);
    assert!(text.chars().count() <= 262_144 && Encoding::O200k.count(text) <= 25_000);
    assert_eq!(chars["data"]["truncated"], true);
}

#[test]
fn a_long_line_is_shortened_around_its_match() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "a.js",
        1,
        format!("{}needle{}\n", "a;".repeat(40_000), "b;".repeat(40_000)),
    );
    let envelope = grep(&sandbox, &json!({ "pattern": "needle" }));
    let text = envelope["data"]["matches"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("...") && text.contains(";needleb;") && text.ends_with("..."),
        "{text}"
    );
    assert!(body(&envelope).chars().count() <= 2000);
}

#[test]
fn neighbours_never_push_the_match_off_its_page() {
    let sandbox = Sandbox::new();
    let around = "before\n".repeat(30);
    put(
        &sandbox,
        "a.txt",
        1,
        format!("{around}hit 1\n{around}hit 2\n{around}"),
    );
    for flags in [
        &["--max-lines", "3"],
        &["--max-chars", "60"],
        &["--max-tokens", "20"],
    ] {
        let params = json!({ "pattern": "hit", "context": 20 });
        let found: Vec<String> = all_pages(&sandbox, flags, &params)
            .iter()
            .flat_map(places)
            .collect();
        assert_eq!(found, ["a.txt:31", "a.txt:62"], "{flags:?}");
    }
}

#[test]
fn a_line_limit_below_the_path_treats_all_lines_alike() {
    let sandbox = Sandbox::new();
    put(&sandbox, "src/a_long_name.txt", 1, "hit\nhit\nhit\n");
    let envelope = grep_with(
        &sandbox,
        &["--max-line-chars", "10"],
        &json!({ "pattern": "hit" }),
    );
    let texts: BTreeSet<String> = envelope["data"]["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["text"].to_string())
        .collect();
    assert_eq!(texts.len(), 1, "{envelope:#}");
    assert_eq!(envelope["data"]["truncated"], true);
    assert_eq!(
        remarks(&envelope),
        ["[Truncated: 3 lines of over 10 characters are shortened.]"]
    );
}

#[test]
fn lists_of_files_are_not_cut_by_the_limits_of_content() {
    let sandbox = Sandbox::new();
    for number in 0..60 {
        put(
            &sandbox,
            &format!("a_longer_name_{number:02}.txt"),
            1,
            "hit\nhit\n",
        );
    }
    for mode in ["files_with_matches", "count"] {
        let params = json!({ "pattern": "hit", "output_mode": mode });
        let expected = timeless(grep(&sandbox, &params));
        assert_eq!(expected["data"]["num_files"], 60);
        for flags in [
            ["--max-lines", "3"],
            ["--max-line-chars", "10"],
            ["--max-chars", "100"],
            ["--max-tokens", "5"],
        ] {
            assert_eq!(
                timeless(grep_with(&sandbox, &flags, &params)),
                expected,
                "{mode} {flags:?}"
            );
        }
    }
    assert_eq!(sandbox.stored(), [] as [String; 0]);
}

#[test]
fn context_that_the_limits_drop_is_told() {
    let sandbox = Sandbox::new();
    put(&sandbox, "a.txt", 1, format!("hit\n{}", "x\n".repeat(50)));
    let found = grep_with(
        &sandbox,
        &["--max-lines", "10"],
        &json!({ "pattern": "hit", "after": 40 }),
    );
    assert_eq!(
        (
            &found["status"],
            &found["data"]["truncated"],
            found["data"].get("next_offset")
        ),
        (&json!("partial"), &json!(true), None)
    );
    assert_eq!(
        remarks(&found),
        ["[Truncated: not all lines of context are shown.]"]
    );
}

#[test]
fn large_files_are_read_once_and_their_pages_are_the_same() {
    let sandbox = Sandbox::new();
    let line = |n: usize| {
        format!(
            "{} {}\n",
            if n % 1000 == 500 { "hit" } else { "dull" },
            "x".repeat(200)
        )
    };
    let large: String = (0..12_000).map(line).collect();
    for name in ["a.txt", "b.txt", "c.txt"] {
        put(&sandbox, name, 1, &large);
    }
    let whole = grep(&sandbox, &json!({ "pattern": "hit", "context": 1 }));
    assert_eq!(whole["data"]["matches"].as_array().unwrap().len(), 36);
    let mut paged = Vec::new();
    for offset in (0..36).step_by(5) {
        let page = grep(
            &sandbox,
            &json!({ "pattern": "hit", "context": 1, "limit": 5, "offset": offset }),
        );
        let text = page["text"].as_str().unwrap();
        let shown = text.split_once("\n\n").unwrap().1;
        let near = shown.lines().filter(|line| *line != "--").count();
        let matches = page["data"]["matches"].as_array().unwrap().clone();
        assert_eq!(
            near,
            3 * matches.len(),
            "each match has its two neighbours, and no other line is there"
        );
        paged.extend(matches);
    }
    assert_eq!(json!(paged), whole["data"]["matches"]);
}

#[test]
fn within_one_large_file_the_search_stops_when_the_page_is_known() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "big.txt",
        1,
        "a line to be found\n".repeat(400_000),
    );
    let page = |params: &Value| grep(&sandbox, params);
    let first = page(&json!({ "pattern": "found", "limit": 2, "total": false }));
    let data = &first["data"];
    assert_eq!(
        (
            &data["truncated"],
            &data["next_offset"],
            &data["total_is_lower_bound"]
        ),
        (&json!(true), &json!(2), &json!(true))
    );
    assert!(first["stats"]["matched_lines"].as_u64().unwrap() < 100);
    let far = page(&json!({ "pattern": "found", "limit": 2, "offset": 300_000, "total": false }));
    assert_eq!(places(&far), ["big.txt:300001", "big.txt:300002"]);
    let last = page(&json!({ "pattern": "found", "limit": 9, "offset": 399_998, "total": false }));
    assert_eq!(
        (
            last["data"].get("next_offset"),
            last["data"].get("total_is_lower_bound")
        ),
        (None, None)
    );
}

#[test]
fn a_line_that_does_not_fit_is_on_the_next_page() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "l.txt",
        1,
        format!("needle short\nneedle {}\nneedle end\n", "long ".repeat(30)),
    );
    let first = grep_with(
        &sandbox,
        &["--max-chars", "50"],
        &json!({ "pattern": "needle" }),
    );
    assert_eq!(
        first["data"]["matches"],
        json!([{ "file": "l.txt", "line": 1, "text": "needle short" }])
    );
    let second = grep_with(
        &sandbox,
        &["--max-chars", "50"],
        &json!({ "pattern": "needle", "offset": 1 }),
    );
    let shown = second["data"]["matches"][0]["text"].as_str().unwrap();
    assert!(
        shown.starts_with("needle long") && shown.ends_with("..."),
        "{shown}"
    );
    assert_eq!(second["data"]["next_offset"], 2);
}

#[test]
fn a_match_that_fits_on_no_page_is_shown_without_its_neighbours() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "a.txt",
        1,
        "ctx line\nfoo 123456789012345678901234567890\n",
    );
    for flags in [
        ["--max-chars", "30"],
        ["--max-tokens", "12"],
        ["--max-chars", "40"],
    ] {
        let found = grep_with(&sandbox, &flags, &json!({ "pattern": "foo", "before": 1 }));
        assert_eq!(places(&found), ["a.txt:2"], "{flags:?}");
        assert_eq!(found["data"]["truncated"], true);
    }
}

#[test]
fn neighbours_of_a_match_on_the_next_page_stay_there() {
    let sandbox = Sandbox::new();
    put(&sandbox, "a.txt", 1, "foo 1\na\nb\nc\nfoo 2\n");
    let found = grep_with(
        &sandbox,
        &["--max-lines", "3"],
        &json!({ "pattern": "foo", "before": 1 }),
    );
    let text = found["text"].as_str().unwrap();
    assert!(text.ends_with("\n\na.txt:1: foo 1"), "{text}");
    assert_eq!(found["data"]["next_offset"], 1);
}

#[test]
fn a_page_without_room_is_no_page_without_time() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "a.txt",
        1,
        format!("foo {}\n", "x".repeat(1200)).repeat(1500),
    );
    for total in [false, true] {
        let found = grep(
            &sandbox,
            &json!({ "pattern": "foo", "total": total, "limit": 1400 }),
        );
        let data = &found["data"];
        assert_eq!(
            (data.get("aborted_reason"), &data["truncated"]),
            (None, &json!(true))
        );
        assert_eq!(
            data["next_offset"].as_u64().unwrap(),
            data["matches"].as_array().unwrap().len() as u64
        );
    }
}

#[test]
fn a_line_of_wide_characters_within_the_limit_is_whole() {
    let sandbox = Sandbox::new();
    let line = format!("START{} needle", "é".repeat(1500));
    put(&sandbox, "a.txt", 1, format!("{line}\n"));
    let found = grep(&sandbox, &json!({ "pattern": "needle" }));
    assert_eq!(
        (&found["status"], &found["data"]["matches"][0]["text"]),
        (&json!("success"), &json!(line))
    );
}

#[test]
fn neighbours_leave_the_match_of_a_large_file_its_room() {
    let sandbox = Sandbox::new();
    let dull = format!("{}\n", "y".repeat(150)).repeat(9_000);
    put(&sandbox, "a.txt", 1, format!("{dull}hit\n{dull}"));
    for total in [false, true] {
        let params = json!({ "pattern": "hit", "context": 2, "total": total });
        let found = grep_with(&sandbox, &["--max-chars", "40"], &params);
        assert_eq!(places(&found), ["a.txt:9001"]);
    }
}
