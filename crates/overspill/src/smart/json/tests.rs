mod properties;

use serde::de::IgnoredAny;

use super::*;

fn failures(text: &str) -> u32 {
    u32::from(text.contains("FAILED")) * 5
}

fn keep(json: &[u8], chunk: usize, max_kept: usize) -> Option<Tree> {
    let mut keeper = TreeKeeper::new(max_kept, failures);
    let sound = json.chunks(chunk).all(|chunk| keeper.push(chunk));
    let document = keeper.finish();
    assert!(sound || document.is_none());
    document
}

fn document(json: &str) -> Tree {
    keep(json.as_bytes(), json.len(), 1 << 20).unwrap()
}

fn shorten(json: &str, max_bytes: usize) -> String {
    document(json).shorten(max_bytes, &|_| true).unwrap()
}

/// Returns what `n` values made by `value` are, separated by commas.
fn list(n: usize, value: impl Fn(usize) -> String) -> String {
    (0..n).map(value).collect::<Vec<_>>().join(",")
}

fn numbers(n: usize) -> String {
    list(n, |i| i.to_string())
}

#[test]
fn what_fits_loses_nothing_but_space() {
    for (json, expected) in [
        ("{}", "{}"),
        (" [ ]\r\n", "[]"),
        (r#"{"a" : [ ] , "b":{ } }"#, r#"{"a":[],"b":{}}"#),
        (
            "[1e400, -0.0, 12345678901234567890.50, true,false ,null]",
            "[1e400,-0.0,12345678901234567890.50,true,false,null]",
        ),
        (
            r#"{"n":1,"n":2,"\u006e":"\/\ud83d\ude00\ud83d é"}"#,
            r#"{"n":1,"n":2,"\u006e":"\/\ud83d\ude00\ud83d é"}"#,
        ),
        ("[\n]", "[]"),
        ("[\r\n\t1,[2]]", "[\n\t1,\n\t[\n\t\t2\n\t]\n]"),
        (
            "{\n    \"a\": {},\"b\":1}",
            "{\n    \"a\": {},\n    \"b\": 1\n}",
        ),
    ] {
        assert_eq!(shorten(json, 256), expected, "{json}");
    }
}

#[test]
fn an_array_counts_its_lost_items_beside_it_or_at_its_end() {
    let items = numbers(1000);
    assert_eq!(
        shorten(&format!(r#"{{"items":[{items}],"next":null}}"#), 64),
        r#"{"items":[0,1,2,999],"items_omitted":"996 at 3-998","next":null}"#
    );
    assert_eq!(
        shorten(&format!("[{items}]"), 48),
        r#"[0,1,2,3,999,{"_omitted_items":"995 at 4-998"}]"#
    );
    assert_eq!(
        shorten(&format!(r#"{{"a":[[1,2],[{items}]]}}"#), 64),
        r#"{"a":[[1,2],[0,1,2,3,999,{"_omitted_items":"995 at 4-998"}]]}"#
    );
}

#[test]
fn an_object_counts_its_lost_members_at_its_end() {
    let members = list(100, |i| format!(r#""k{i}":{i}"#));
    assert_eq!(
        shorten(&format!("{{{members}}}"), 64),
        r#"{"k0":0,"k1":1,"k2":2,"k3":3,"k4":4,"_omitted_members":95}"#
    );
    // Small scalars are kept rather than the start of what is large, and a long key goes with its member.
    let long = "k".repeat(3000);
    assert_eq!(
        shorten(
            &format!(
                r#"{{"{long}":1,"big":{{{members}}},"huge":[[[[[[[{members_}]]]]]]],"ok":true,"n":2}}"#,
                members_ = numbers(500)
            ),
            100
        ),
        r#"{"big":{"k0":0,"k1":1,"k2":2,"k3":3,"_omitted_members":96},"ok":true,"n":2,"_omitted_members":2}"#
    );
}

#[test]
fn counts_collide_with_no_key() {
    let items = numbers(1000);
    let cut = |json: &str| shorten(json, 120);
    assert_eq!(
        cut(&format!(
            r#"{{"a":[{items}],"\u0061_omitted":1,"a_omitted_2":2}}"#
        )),
        r#"{"a":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,999],"a_omitted_3":"981 at 18-998","\u0061_omitted":1,"a_omitted_2":2}"#
    );
    assert_eq!(
        cut(&format!(r#"{{"a":[{items}],"a":[{items}]}}"#)),
        r#"{"a":[0,1,2,3,4,5,6,7,8,9,10,999],"a_omitted":"988 at 11-998","a":[0,1,2,3,4,5,6,7,8,999],"a_omitted_2":"990 at 9-998"}"#
    );
    // The key that is in the way was lost itself.
    let members = list(100, |i| format!(r#""k{i}":"{}""#, "x".repeat(20)));
    assert_eq!(
        cut(&format!(r#"{{{members},"_omitted_members_7":[]}}"#)),
        r#"{"k0":"xxxxxxxxxxxxxxxxxxxx","k1":"xxxxxxxxxxxxxxxxxxxx","k2":"xxxxxxxxxxxxxxxxxxxx","_omitted_members_8":98}"#
    );
}

#[test]
fn what_weighs_most_is_kept_wherever_it_is() {
    let status = |i| if i == 5000 { "FAILED" } else { "ok" };
    let tests = list(10_000, |i| {
        format!(r#"{{"id":{i},"status":"{}"}}"#, status(i))
    });
    assert_eq!(
        shorten(&format!("[{tests}]"), 130),
        r#"[{"id":0,"status":"ok"},{"id":5000,"status":"FAILED"},{"id":9999,"status":"ok"},{"_omitted_items":"9997 at 1-4999,5001-9998"}]"#
    );
    // Also when the memory is far too small for all of them.
    let kept = keep(format!("[{tests}]").as_bytes(), 1000, 20_000).unwrap();
    assert_eq!(
        kept.shorten(130, &|_| true).unwrap(),
        r#"[{"id":0,"status":"ok"},{"id":5000,"status":"FAILED"},{"id":9999,"status":"ok"},{"_omitted_items":"9997 at 1-4999,5001-9998"}]"#
    );
    let members = list(1000, |i| {
        let status = if i == 700 { "\\nFAILED" } else { "ok" };
        format!(r#""m{i}":{{"status":"{status}"}}"#)
    });
    assert_eq!(
        shorten(&format!("{{{members}}}"), 100),
        r#"{"m0":{"status":"ok"},"m1":{"status":"ok"},"m700":{"status":"\nFAILED"},"_omitted_members":997}"#
    );
}

#[test]
fn a_string_is_cut_between_graphemes_and_counts_its_lost_chars() {
    let cut = |text: &str| shorten(&format!(r#"["{text}"]"#), 64);
    assert_eq!(
        cut(&"x".repeat(1000)),
        format!(r#"["{}... [966 chars omitted]"]"#, "x".repeat(34))
    );
    assert_eq!(
        cut(&r"\ud83d\ude00".repeat(100)),
        r#"["\ud83d\ude00\ud83d\ude00\ud83d\ude00... [97 chars omitted]"]"#
    );
    assert_eq!(
        cut(&r"\u00e9\n".repeat(100)),
        r#"["\u00e9\n\u00e9\n\u00e9\n\u00e9\n... [192 chars omitted]"]"#
    );
    // A char and its accent stay together, written either way.
    assert_eq!(
        cut(&format!("{}{}", "x".repeat(33), "e\u{301}".repeat(50))),
        format!(r#"["{}... [100 chars omitted]"]"#, "x".repeat(33))
    );
    assert_eq!(
        cut(&format!("{}{}", "x".repeat(33), r"e\u0301".repeat(50))),
        format!(r#"["{}... [100 chars omitted]"]"#, "x".repeat(33))
    );
    assert_eq!(
        cut(&format!("ab{}", "👩‍👩‍👧".repeat(20))),
        r#"["ab👩‍👩‍👧👩‍👩‍👧... [90 chars omitted]"]"#
    );
    // Lone surrogates are a char each.
    assert_eq!(
        cut(&r"\ud83d".repeat(30)),
        r#"["\ud83d\ud83d\ud83d\ud83d\ud83d\ud83d... [24 chars omitted]"]"#
    );
}

#[test]
fn the_layout_of_the_document_is_kept() {
    let json = format!(
        "{{\n\t\"items\": [{}],\n\t\"meta\": {{\"a\": [], \"b\": 2}}\n}}\n",
        list(100, |i| format!("[{i},{i}]"))
    );
    assert_eq!(
        shorten(&json, 130),
        "{\n\t\"items\": [\n\t\t[\n\t\t\t0,\n\t\t\t0\n\t\t],\n\t\t[\n\t\t\t99,\n\t\t\t99\n\t\t]\n\t],\n\t\"items_omitted\": \"98 at 1-98\",\n\t\"meta\": {\n\t\t\"a\": [],\n\t\t\"b\": 2\n\t}\n}"
    );
    let json = format!("[\n  {}]", numbers(1000));
    assert_eq!(
        shorten(&json, 56),
        "[\n  0,\n  999,\n  {\"_omitted_items\": \"998 at 1-998\"}\n]"
    );
    let one_line = document(&json).shorten(1000, &|text| text.lines().count() == 1);
    assert_eq!(one_line.unwrap(), "[{\"_omitted_items\": 1000}]");
}

#[test]
fn beyond_some_depth_there_are_only_counts() {
    let nested = |depth: usize| "[".repeat(depth) + "1,2" + &"]".repeat(depth);
    assert_eq!(shorten(&nested(63), 256), nested(63));
    assert_eq!(
        shorten(&nested(100), 256),
        format!(
            r#"{}{{"_omitted_items":1}}{}"#,
            "[".repeat(64),
            "]".repeat(64)
        )
    );
    let deepest = "[".repeat(100_000) + &"]".repeat(100_000);
    assert!(keep(deepest.as_bytes(), 4096, 10_000).is_some());
    assert!(!TreeKeeper::new(1000, failures).push("[".repeat(100_001).as_bytes()));
    let objects = r#"{"a":"#.repeat(70) + "[]" + &"}".repeat(70);
    assert!(shorten(&objects, 1000).contains(r#"{"_omitted_members":1}"#));
    // What is below counts when it is weighed.
    let hot = "[".repeat(80) + "\"FAILED\"" + &"]".repeat(80);
    let members = |from| list(100, |i| format!(r#""k{}":[{}]"#, from + i, numbers(50)));
    let text = format!(r#"{{{},"hot":{hot},{}}}"#, members(0), members(100));
    assert!(shorten(&text, 256).contains(r#""hot":[["#));
}

#[test]
fn the_smallest_is_small_whatever_the_document() {
    let long_key = format!(r#"{{"{}":1}}"#, "k".repeat(9000));
    let long_number = format!("[{}]", "7".repeat(9000));
    let deep = "[[".repeat(30) + &list(3000, |i| i.to_string()) + &"]]".repeat(30);
    for (json, smallest) in [
        (long_key.as_str(), r#"{"_omitted_members":1}"#),
        (long_number.as_str(), r#"[{"_omitted_items":1}]"#),
        (deep.as_str(), r#"[{"_omitted_items":1}]"#),
    ] {
        assert_eq!(shorten(json, 30), smallest);
        assert!(shorten(json, 256).len() <= 256);
        assert_eq!(document(json).shorten(10, &|_| true), None);
    }
}

#[test]
fn little_is_kept_of_much() {
    let text = |n: usize| format!(r#""{}""#, "lorem \\n ipsum ".repeat(n));
    for (json, expected) in [
        (format!("[{}]", numbers(500_000)), 500_000),
        (format!("[{}]", list(300_000, |_| "[]".to_owned())), 300_000),
        (format!("[{}]", text(300_000)), 1),
        (
            format!("[{}]", list(30, |_| format!("[{}]", text(5000)))),
            30,
        ),
        (
            format!("{{{}}}", list(200_000, |i| format!(r#""k{i}":{i}"#))),
            200_000,
        ),
        (
            format!("[{}]", list(50_000, |i| format!(r#"["FAILED",{i}]"#))),
            50_000,
        ),
    ] {
        let mut keeper = TreeKeeper::new(64 << 10, failures);
        for chunk in json.as_bytes().chunks(8 << 10) {
            assert!(keeper.push(chunk));
            let kept = keeper.live.as_ref().unwrap().builder.tape.bytes();
            assert!(kept <= 64 << 10, "{kept}");
        }
        let document = keeper.finish().unwrap();
        let root = document.tape.node(0).unwrap();
        let kept = document.tape.children(0).count() as u64;
        assert_eq!(kept + root.lost, expected);
        let shortened = document.shorten(5000, &|_| true).unwrap();
        assert!((800..=5000).contains(&shortened.len()), "{shortened}");
        serde_json::from_str::<IgnoredAny>(&shortened).unwrap();
    }
}

#[test]
fn what_is_no_document_is_refused_at_once() {
    for text in [
        "\u{feff}1",
        "[1\u{feff}]",
        "1",
        "\"a\"",
        "null",
        "x",
        "[01",
        "[1.]",
        "[.5",
        "[+",
        "[1e]",
        "[-]",
        "[1,]",
        "[,",
        "{,",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a",
        "[}",
        "{]",
        "[] []",
        "[]x",
        "[nul]",
        "[True",
        "[\"\t\"]",
        "[\"\\x\"]",
        "[\"\\u12g4\"]",
        "[\"\\u123\"]",
        "{1",
        "[\"a\":",
        "[INFO] started",
    ] {
        let mut keeper = TreeKeeper::new(1 << 20, failures);
        assert!(!keeper.push(text.as_bytes()), "{text}");
        assert!(!keeper.push(b" "));
        assert!(keeper.live.is_none());
        assert!(keeper.finish().is_none());
    }
    for bytes in [
        &b"[\xc3\xa9]"[..],
        b"\xef\xbb{}",
        b"\xef\xbb\xbf\xef{}",
        b"[\"\xff\t\"]",
        b"[\"\xff\\x\"]",
    ] {
        assert!(keep(bytes, 1, 1 << 20).is_none());
    }
    for text in ["", " ", "\u{feff}", "[", "[1", "{\"a\":[]", "[\"a", "[tru"] {
        assert!(keep(text.as_bytes(), 10, 1 << 20).is_none(), "{text}");
    }
}
#[test]
fn an_item_of_which_nothing_would_be_left_is_left_out() {
    let long = "k".repeat(600);
    // Neither what could not be kept, nor what there is no room for.
    assert_eq!(
        shorten(&format!(r#"[1,{{"{long}":1}},[[{{"{long}":1}}]],2]"#), 256),
        r#"[1,2,{"_omitted_items":"2 at 1-2"}]"#
    );
    let key = "k".repeat(60);
    let items = list(8, |i| format!(r#"{{"{key}":[{},{i}]}}"#, numbers(50)));
    let text = shorten(&format!("[{items}]"), 300);
    assert!(
        !text.contains("[{\"_o") && !text.contains("{\"_omitted_members"),
        "{text}"
    );
    // Unless there is nothing else.
    assert_eq!(
        shorten(&format!(r#"[{{"{long}":1}},[]]"#), 256),
        r#"[[],{"_omitted_items":"1 at 0"}]"#
    );
    assert_eq!(
        shorten(&format!(r#"[{{"{long}":1}},[{{"{long}":1}}]]"#), 256),
        r#"[[{"_omitted_members":1}],{"_omitted_items":"1 at 0"}]"#
    );
    // The key of a member says something.
    assert_eq!(
        shorten(&format!(r#"[{{"a":{{"{long}":1}}}},2]"#), 256),
        r#"[{"a":{"_omitted_members":1}},2]"#
    );
}

#[test]
fn short_lines_are_filled() {
    let narrow = |json: &str, max_bytes, max_line: usize| {
        let fits = |text: &str| text.lines().all(|line| line.chars().count() <= max_line);
        document(json)
            .narrow(max_line)
            .shorten(max_bytes, &fits)
            .unwrap()
    };
    // Nothing is lost but the long line.
    let item = |i| format!(r#"{{"id":{i},"tags":["a","b"],"ok":true}}"#);
    assert_eq!(
        narrow(
            &format!(r#"{{"items":[{}],"next":null}}"#, list(3, item)),
            1000,
            50
        ),
        concat!(
            "{\n\"items\":[\n",
            "{\"id\":0,\"tags\":[\"a\",\"b\"],\"ok\":true},\n",
            "{\"id\":1,\"tags\":[\"a\",\"b\"],\"ok\":true},\n",
            "{\"id\":2,\"tags\":[\"a\",\"b\"],\"ok\":true}\n",
            "],\n\"next\":null\n}"
        )
    );
    // A string is shortened to its line, also where it has few bytes for its chars, or many.
    for letter in ["x", "é", "截"] {
        let text = narrow(
            &format!(r#"{{"id":1,"log":"{}"}}"#, letter.repeat(500)),
            5000,
            60,
        );
        let start = letter.repeat(28);
        assert_eq!(
            text,
            format!("{{\n\"id\":1,\n\"log\":\"{start}... [472 chars omitted]\"\n}}")
        );
    }
    assert_eq!(
        narrow(&format!("[{}]", numbers(30)), 1000, 40),
        "[\n0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,\n16,17,18,19,20,21,22,23,24,25,26,27,28,\n29\n]"
    );
    // What cannot be on a line is left out, and an indent that leaves no room is given up.
    let json = format!(
        "{{\n\t\"{}\":1,\"n\":{},\"a\":[2]}}",
        "k".repeat(90),
        "7".repeat(90)
    );
    assert_eq!(
        narrow(&json, 1000, 60),
        "{\n\t\"a\": [\n\t\t2\n\t],\n\t\"_omitted_members\": 2\n}"
    );
    let deep = format!(
        "{}\n        {}{}",
        "[".repeat(12),
        numbers(9),
        "]".repeat(12)
    );
    assert_eq!(
        narrow(&deep, 1000, 60),
        format!("{}{}{}", "[".repeat(12), numbers(9), "]".repeat(12))
    );
}

#[test]
fn a_byte_order_mark_and_blank_lines_may_come_first() {
    for json in [
        "\u{feff}[1, 2]",
        "\u{feff}\r\n\n [1, 2]",
        "\n \t\n\u{feff}[1, 2]\n\n",
    ] {
        for chunk in [1, 2, 100] {
            let tree = keep(json.as_bytes(), chunk, 1 << 20).unwrap();
            assert_eq!(tree.shorten(256, &|_| true).unwrap(), "[1,2]");
        }
    }
}

#[test]
fn what_is_not_utf8_in_a_string_is_replaced() {
    for (bytes, expected) in [
        (&b"[\"\xff\"]"[..], "[\"\u{fffd}\"]"),
        (
            b"[\"a\xc3\", \"\xf0\x9f\\n\"]",
            "[\"a\u{fffd}\",\"\u{fffd}\\n\"]",
        ),
        (
            b"{\"k\xe9y\": \"\xed\xa0\x80\"}",
            "{\"k\u{fffd}y\":\"\u{fffd}\u{fffd}\u{fffd}\"}",
        ),
    ] {
        for chunk in [1, 3, 100] {
            let tree = keep(bytes, chunk, 1 << 20).unwrap();
            assert_eq!(tree.shorten(256, &|_| true).unwrap(), expected);
        }
    }
    // Wherever the pieces of a long one end.
    let mut long = [b"[\"".as_slice(), &b"\xf0\x9f\x98x".repeat(5000), b"\"]"].concat();
    for start in 0..4 {
        let tree = keep(&long, 777, 1 << 20).unwrap();
        let cut = tree.shorten(300, &|_| true).unwrap();
        let chars = 10_000 + start;
        assert!(
            cut.contains(&format!(
                "[{} chars omitted]",
                chars
                    - cut[2..]
                        .find("...")
                        .map_or(0, |end| cut[2..2 + end].chars().count())
            )),
            "{cut}"
        );
        long.insert(2, b'y');
    }
}
