"""What the commands share: their arguments, and how they tell what came out."""

import argparse
import json
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def default_program():
    """The newest program that was built here, if there is one."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    found = [path for path in (target / "release" / "overspill", target / "debug" / "overspill") if path.exists()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def default_cache():
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "overspill-e2e"


def parser(about):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--overspill", default=default_program(), help="the program [default: the newest in target/]")
    parser.add_argument("--cache", default=default_cache(), help="where what is tested with is installed")
    parser.add_argument("--record", help="write what was seen to this file, as JSON")
    parser.add_argument("--keep", action="store_true", help="leave what the runs wrote")
    return parser


def arguments(about):
    return checked(parser(about))


def checked(parser):
    given = parser.parse_args()
    if given.overspill is None:
        parser.error("no program: run `cargo build --release` first")
    given.overspill = Path(given.overspill).resolve()
    return given


def report(rows, missing, record):
    """Prints what holds and returns the exit code."""
    for row in rows:
        print(f"  {'ok  ' if row['holds'] else 'FAIL'} {row['what']}")
    if record:
        Path(record).write_text(json.dumps(rows, indent=1, ensure_ascii=False, default=bool))
    held = sum(1 for row in rows if row["holds"])
    print(f"\n{held} of {len(rows)} checks hold")
    for what in missing:
        print(f"!!! CANNOT BE INSTALLED AND IS NOT TESTED: {what}")
    return 1 if held < len(rows) else 3 if missing else 0
