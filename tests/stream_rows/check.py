"""Reads exported streams, and the files of a data folder, with DuckDB and pandas. Compares each value with the same
streams as JSON."""

import glob
import json
import math
import sys

import duckdb
import pandas

parquet, lines, folder = sys.argv[1:]
GROUPS = ["network_timing", "page_lifecycle", "probe_overhead", "server", "page", "dropped", "layers"]
JSON = ["gaps", "defects", "marks"]
# JSON leaves these values out.
DEFAULTS = {"open": False, "rev": 0, "observed": "events", "background": False, "stalls": 0, "left_out": 0, "defects": {}}
GROUP_DEFAULTS = {
    "page_lifecycle": {"restored": False, "prerendered": False},
    "dropped": {"queue_full": 0, "send_failed": 0, "refused": 0, "early": 0},
}
LAYER_DEFAULTS = {"cached": False}
# Columns that only files of the data folder have.
OWN = {"series", "judgement", "visit"}


def flat(stream):
    row = {}
    for name, value in (DEFAULTS | stream).items():
        if name in GROUPS:
            row |= flat_group(name, value)
        else:
            row["received_at" if name == "received_ms" else name] = value
    return row


def flat_group(name, value):
    row = {}
    for field, inner in (GROUP_DEFAULTS.get(name, {}) | value).items():
        column = f"{name}_{field}"
        # Each layer of the backend is a group of its own.
        row |= flat_group(column, LAYER_DEFAULTS | inner) if isinstance(inner, dict) else {column: inner}
    return row


def is_absent(value):
    return value is None or value is pandas.NaT or isinstance(value, float) and math.isnan(value)


def plain(name, value):
    if name == "received_at":
        return int(pandas.Timestamp(value).timestamp() * 1000 + 0.5)
    return json.loads(value) if name in JSON else value


def compare(reader, columns, rows):
    assert len(rows) == len(expected), (reader, len(rows))
    for row, stream in zip(rows, expected):
        compare_row(reader, dict(zip(columns, row)), stream)


def compare_files(reader, columns, rows):
    """The rows of all files are those of some of the streams, each once."""
    by_id = {stream["id"]: stream for stream in expected}
    assert OWN < set(columns), (reader, columns)
    for row in rows:
        values = dict(zip(columns, row))
        shared = {name: rounded(name, value) for name, value in values.items() if name not in OWN}
        compare_row(reader, shared, by_id.pop(values["id"]))


def rounded(name, value):
    """Files of the data folder have durations in steps of 1/1024 ms."""
    return round(value, 3) if name.endswith("_ms") and isinstance(value, float) else value


def compare_row(reader, values, stream):
    unknown = stream.keys() - values.keys()
    assert not unknown, (reader, unknown)
    for name, value in values.items():
        told = None if is_absent(value) else plain(name, value)
        assert told == stream.get(name), (reader, name, value, stream.get(name))


expected = [flat(json.loads(line)) for line in open(lines)]
rows = "SELECT * REPLACE (epoch_ms(received_at)::BIGINT * 1000000 AS received_at) FROM"
table = duckdb.sql(f"{rows} '{parquet}'")
compare("DuckDB", table.columns, table.fetchall())
frame = pandas.read_parquet(parquet)
compare("pandas", list(frame.columns), frame.astype(object).values.tolist())

table = duckdb.sql(f"{rows} '{folder}/*.parquet'")
compare_files("DuckDB", table.columns, table.fetchall())
files = [pandas.read_parquet(path) for path in glob.glob(f"{folder}/*.parquet")]
for file in files:
    compare_files("pandas", list(file.columns), file.astype(object).values.tolist())
assert len(files) > 1 and len(table) == sum(map(len, files)), (len(files), len(table))

question = f"SELECT count(*), max(ttft_ms) FROM '{parquet}' WHERE outcome = 'complete'"
complete = [stream for stream in expected if stream["outcome"] == "complete"]
answer = duckdb.sql(question).fetchall()
assert answer == [(len(complete), max(stream.get("ttft_ms", 0) for stream in complete))], answer
print(f"{len(expected)} streams of {len(frame.columns)} columns")
