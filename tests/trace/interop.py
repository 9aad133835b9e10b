# SPDX-License-Identifier: Apache-2.0
"""Other people's programs and our traces: zstd and pyarrow see what our reader sees, and our reader
sees what pyarrow wrote.

    interop.py MAKE_TRACE TRACE_DUMP DOCUMENT VENV

pyarrow is installed from PyPI into VENV at the first run. Exit 77 (skipped) where that can't be done.
The container is taken apart and put together here from the words of doc/trace.md alone.
"""

import json
import os
import pathlib
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import pypi

pypi.run_with(sys.argv[4], ["pyarrow"])
import pyarrow as pa
import pyarrow.ipc as ipc

MAKE_TRACE, TRACE_DUMP, DOCUMENT = sys.argv[1:4]
RUNNER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))
ZSTD = shutil.which("zstd")


# ---- the container, from the document ----


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def crc_table():
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        yield value


CRC_TABLE = list(crc_table())
assert crc32c(b"123456789") == 0xE3069283

ZSTD_MAGIC, MARK, FACTS = 0xFD2FB528, 0x184D2A57, 0x184D2A58


def frame_edges(trace):
    """Where each frame of a trace ends, H included (M and its D count as one), by its marks."""
    at = trace.index(struct.pack("<I", FACTS))
    edges = []
    while at < len(trace):
        magic, size = struct.unpack_from("<II", trace, at)
        if magic == MARK:
            tag, _, _, length, crc = struct.unpack_from("<8sIIII", trace, at + 8)
            assert (size, tag) == (56, b"MHCSMRK1")
            assert crc32c(trace[at : at + 60]) == struct.unpack_from("<I", trace, at + 60)[0]
            data = trace[at + 64 : at + 64 + length]
            assert length == 0 or (crc32c(data) == crc and data.startswith(struct.pack("<I", ZSTD_MAGIC)))
            size += length
        else:
            assert magic == FACTS
        at += 8 + size
        edges.append(at)
    assert at == len(trace)
    return edges


def build_trace(messages):
    """A trace of these Arrow messages: the schema's, then one for each batch and its rows."""
    frames = [pa.Codec("zstd").compress(message, asbytes=True) for message, _ in messages]
    head = struct.pack("<III", FACTS, 8 + 2, crc32c(frames[0]))
    trace = frames[0] + head + struct.pack("<I", crc32c(head + b"{}")) + b"{}"
    marks = [(len(frame), rows, crc32c(frame), 0) for frame, (_, rows) in zip(frames[1:], messages[1:])]
    for seq, (length, rows, crc, flags) in enumerate(marks + [(0, 0, 0, 1 | 1 << 8)]):
        mark = struct.pack("<II8sIIIIQQQI", MARK, 56, b"MHCSMRK1", seq, rows, length, crc, 0, 0, 0, flags)
        trace += mark + struct.pack("<I", crc32c(mark))
        if length:
            trace += frames[seq + 1]
    return trace


def messages_of(table, rows_per_batch):
    """pyarrow's own messages for a table, with the number of rows in each."""
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, rows_per_batch)
    reader = ipc.MessageReader.open_stream(sink.getvalue())
    rows = [0] + [len(batch) for batch in table.to_batches(rows_per_batch)]
    return [(message.serialize(alignment=8).to_pybytes(), n) for message, n in zip(reader, rows)]


# ---- reading and comparing ----


def make_trace(folder, *arguments):
    done = subprocess.run([*RUNNER, MAKE_TRACE, folder, *arguments], check=True, capture_output=True, text=True)
    return pathlib.Path(done.stdout.strip())


def dump(trace):
    """Events of our reader, and its columns: name -> values of all batches."""
    done = subprocess.run([*RUNNER, TRACE_DUMP, "-"], input=trace, capture_output=True)
    assert done.returncode in (0, 3), done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    columns = {}
    for event in events:
        for name, values in event.get("columns", {}).items():
            columns.setdefault(name, []).extend(values)
    return events, columns


def decompress(trace):
    if ZSTD:
        subprocess.run([ZSTD, "-q", "-t"], input=trace, check=True)
        return subprocess.run([ZSTD, "-q", "-dc"], input=trace, check=True, capture_output=True).stdout
    return pa.CompressedInputStream(pa.BufferReader(trace), "zstd").read()


def read_arrow(trace):
    table = ipc.open_stream(decompress(trace)).read_all()
    table.validate(full=True)
    return table


def exact(value):
    """Floats as the bits of a float32, all NaN alike."""
    if isinstance(value, float):
        return "nan" if value != value else struct.pack("<f", value)
    if isinstance(value, list):
        return [exact("nan" if item is None else item) for item in value]
    return value


def pyarrow_values(column):
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return [exact(value) for value in column.to_pylist()]


def compare(table, columns):
    for name in table.column_names:
        theirs, ours = pyarrow_values(table[name]), [exact(value) for value in columns[name]]
        for row, (a, b) in enumerate(zip(theirs, ours)):
            assert a == b, f"column {name}, row {row}: pyarrow reads {a}, our reader {b}"
        assert len(theirs) == len(ours), name


# ---- the tests ----


def check_schema(table):
    """The schema is the table in the document."""
    words = {"float": "float32", "string": "utf8", "timestamp[ns, tz=UTC]": "timestamp[ns, UTC]",
             "fixed_size_list<item: float>[24]": "fixed_size_list<float32>[24]"}
    rows = [line for line in pathlib.Path(DOCUMENT).read_text().splitlines() if line.startswith("| `")]
    for field in table.schema:
        name = words.get(str(field.type), str(field.type))
        row = f"| `{field.name}` | {name} | {'yes' if field.nullable else ''} | {field.metadata[b'doc'].decode()} |"
        assert row in rows, row


def traces_read_the_same(folder):
    variants = {
        "batches and heads": ["calls=40", "rows=16"],
        "no checkpoint, odd names": ["checkpoint=0", "path=bf16 \u5c42 \U0001f525 \"q\\"],
        "infinities": ["operands_rel=1e300"],
        "no rows": ["calls=0"],
    }
    for what, arguments in variants.items():
        trace = make_trace(folder, *arguments).read_bytes()
        table = read_arrow(trace)
        events, columns = dump(trace)
        check_schema(table)
        if table.num_rows:
            compare(table, columns)
        assert table.num_rows == sum(event.get("rows", 0) for event in events)
        assert events[-2]["event"] == "closed" and events[-1]["event"] == "eof"
        print(f"{what}: {table.num_rows} rows, {table.num_columns} columns alike")


def prefixes_read_the_same(folder):
    trace = make_trace(folder, "calls=45", "rows=16").read_bytes()
    edges = frame_edges(trace)
    assert len(edges) >= 4
    for edge in edges:
        table = read_arrow(trace[:edge])
        events, columns = dump(trace[:edge])
        assert events[-1]["event"] == "eof"
        if table.num_rows:
            compare(table.slice(max(0, table.num_rows - 10)), {n: v[-10:] for n, v in columns.items()})
        torn, _ = dump(trace[: edge + 10])
        rows = sum(event.get("rows", 0) for event in torn)
        assert rows == table.num_rows
        print(f"prefix of {edge} bytes: {rows} rows alike")


def pyarrow_writes_what_we_read(folder):
    """Columns in another order, more of them, and lists with nulls in them."""
    table = read_arrow(make_trace(folder, "calls=3").read_bytes())
    odd_list = [[1.0] * 23 + [None], None] * (table.num_rows // 2)
    checkpoint = pa.array(odd_list, pa.list_(pa.float32(), 24))
    columns = dict(zip(table.column_names, table.columns), checkpoint=checkpoint)
    rows = range(table.num_rows)
    more = {
        "a_null": pa.nulls(table.num_rows),
        "a_struct": pa.array([{"a": i, "b": str(i)} for i in rows]),
        "a_list": pa.array([["x"] * (i % 3) for i in rows], pa.large_list(pa.string())),
        "a_map": pa.array([[("k", i)] for i in rows], pa.map_(pa.string(), pa.int32())),
        "a_blob": pa.array([b"four"] * table.num_rows, pa.binary(4)),
        "a_name": pa.array(["n"] * table.num_rows, pa.large_utf8()),
        "a_uint": pa.array(rows, pa.uint32()),
        "a_list_of_3": pa.array([[1.0, 2.0, 3.0]] * table.num_rows, pa.list_(pa.float32(), 3)),
        "a_date": pa.array([19000] * table.num_rows, pa.date32()),
    }
    order = list(reversed(columns))
    fields = [(name, more[name]) for name in list(more)[:5]]
    fields += [(name, columns[name]) for name in order]
    fields += [(name, more[name]) for name in list(more)[5:]]
    rewritten = pa.table(dict(fields)).replace_schema_metadata(table.schema.metadata)

    events, read = dump(build_trace(messages_of(rewritten, 100)))
    assert [event["event"] for event in events][-2:] == ["closed", "eof"], events[-1]
    compare(rewritten.select(order), read)
    print(f"pyarrow's own messages: {rewritten.num_rows} rows, {rewritten.num_columns} columns alike")

    dictionary = rewritten.append_column("d", pa.array(["a"] * table.num_rows).dictionary_encode())
    events, _ = dump(build_trace(messages_of(dictionary, 1000)[:1]))
    assert events[-1]["kind"] == 3 and "step over" in events[-1]["what"], events[-1]


with tempfile.TemporaryDirectory() as scratch:
    traces_read_the_same(scratch)
    prefixes_read_the_same(scratch)
    pyarrow_writes_what_we_read(scratch)
print("pyarrow", pa.__version__, "with" if ZSTD else "without", "the zstd tool: alike")
