"""Makes aider's repo map of a tree once, as aider does it, without what aider loads for its chat."""

import os
import sys

from aider.io import InputOutput
from aider.repomap import RepoMap

ENDINGS = tuple(sys.argv[3].split(","))


class Model:
    """Counts tokens for nothing, which is in aider's favour."""

    def token_count(self, text):
        return len(text) // 4


root, out = sys.argv[1:3]
files = []
for directory, below, names in os.walk(root):
    below[:] = sorted(name for name in below if not name.startswith(".") and name != "target")
    files += [os.path.join(directory, name) for name in names if name.endswith(ENDINGS)]
made = RepoMap(
    map_tokens=2000,
    root=root,
    main_model=Model(),
    io=InputOutput(pretty=False, yes=True),
    refresh="always",
).get_repo_map([], files)
with open(out, "w") as file:
    file.write(made or "")
