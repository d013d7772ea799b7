"""What the README shows does what it says."""

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"


def test_the_python_in_the_readme_runs_and_has_the_shapes_it_states() -> None:
    code = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert code
    names: dict[str, Any] = {}
    exec(code[1], names)
    env = names["env"]
    for name, shape in re.findall(r"^(\w+) = .*# (?:bool|int32)\[([\d, ]+)\]", code[1], re.MULTILINE):
        assert names[name].shape == tuple(map(int, shape.split(","))), name
    stated = re.search(r"(\d+) bytes each", code[1])
    assert stated
    assert int(stated[1]) == env.state_bytes
    assert names["jaxgames"].render.svg(env, names["one"]).svg.startswith("<svg")
