"""The package as it is installed."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parents[1]


def test_the_wheel_has_the_package_and_no_dependency(tmp_path: Path) -> None:
    build = ["-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(FOLDER)]
    subprocess.run([sys.executable, *build], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("llm_rum-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.split("/")[0].endswith(".dist-info")}
        sources = {path.name for path in (FOLDER / "src/llm_rum").iterdir() if path.is_file()}
        assert names == {f"llm_rum/{name}" for name in sources}
        assert "py.typed" in sources
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        text = archive.read(metadata).decode()
    assert "Requires-Python: >=3.9" in text
    assert "Requires-Dist" not in text


def test_the_source_parses_as_python_3_9() -> None:
    for path in (FOLDER / "src/llm_rum").glob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
