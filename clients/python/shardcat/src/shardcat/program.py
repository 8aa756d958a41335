"""Tables through the program, without a server: it is started for each question, and its Arrow stream read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
import threading
from dataclasses import dataclass
from typing import Any, Optional

import pyarrow as pa

from .errors import ShardcatError
from .request import Scan
from .server import Answer, streamed

_CODES = {2: "usage", 3: "corrupt", 4: "not_found", 5: "conflict", 6: "unsafe", 130: "interrupted"}


@dataclass(frozen=True)
class Program:
    """The program and the catalog that it opens. It can be pickled, and used wherever both are at the same place."""

    path: str
    catalog: Optional[str] = None
    warehouse: Optional[str] = None
    vault: Optional[str] = None
    config: Optional[str] = None

    def tables(self, namespace: Optional[str]) -> list[str]:
        return self._json("table", "list", *([namespace] if namespace else []))

    def describe(self, table: str) -> dict[str, Any]:
        d = self._json("table", "describe", table)
        return {
            "table": d["name"], "table_uuid": d["uuid"], "snapshot_id": d.get("snapshot_id", 0), "rows": d["records"],
            "bytes": d["data_bytes"], "shards": d["shards"], "partition": d.get("partition", []), "columns": d["columns"],
        }

    def schema(self, table: str, scan: Scan) -> pa.Schema:
        with self.rows(table, scan.without_rows()) as reader:
            return reader.schema

    def plan(self, table: str, scan: Scan, split_size: Optional[int]) -> dict[str, Any]:
        return self._json("plan-scan", table, *_flags(scan.plan_parameters(split_size)))

    def rows(self, table: str, scan: Scan) -> pa.RecordBatchReader:
        return self._stream(["scan", table, "--format", "arrows", *_flags(scan.parameters())], None)

    def task(self, task: dict[str, Any], time_unit: Optional[str]) -> pa.RecordBatchReader:
        unit = {"time-unit": time_unit} if time_unit else {}
        return self._stream(["scan", "--task", "-", "--format", "arrows", *_flags(unit)], json.dumps(task).encode())

    def append(self, table: str, reader: pa.RecordBatchReader, job_id: Optional[str], create: bool) -> dict[str, Any]:
        return self._ingest(table, reader, *_flags({"job-id": job_id} if job_id else {}), *(["--create"] if create else []))

    def write(self, table: str, reader: pa.RecordBatchReader, job_id: str, part: Optional[str]) -> dict[str, Any]:
        return self._ingest(table, reader, "--uncommitted", *_flags({"job-id": job_id, **({"part": part} if part else {})}))

    def commit(self, table: str, job_id: str, runs: list[str]) -> dict[str, Any]:
        return self._json("job", "commit", table, job_id, "-", "--allow-empty", given="".join(r + "\n" for r in runs).encode())

    def discard(self, table: str, job_id: str) -> dict[str, Any]:
        return self._json("job", "discard", table, job_id)

    def _ingest(self, table: str, reader: pa.RecordBatchReader, *flags: str) -> dict[str, Any]:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            run = subprocess.Popen(self._command("ingest", table, "-", "--format", "arrow", "--json", *flags),
                                   stdin=subprocess.PIPE, stdout=out, stderr=err)
            try:
                with pa.ipc.new_stream(run.stdin, reader.schema) as writer:
                    for batch in reader:
                        writer.write_batch(batch)
                run.stdin.close()
            except BrokenPipeError:
                pass  # the program reports why it takes no more
            except BaseException:
                run.kill()  # before the end of its input, so that nothing is committed
                run.wait()
                raise
            code = run.wait()
            return json.loads(_said(code, out, err))

    def _command(self, *arguments: str) -> list[str]:
        at = {"catalog": self.catalog, "warehouse": self.warehouse, "vault": self.vault, "config": self.config}
        return [self.path, *_flags({k: v for k, v in at.items() if v}), "--progress", "never", *arguments]

    def _json(self, *arguments: str, given: bytes = b"") -> Any:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = subprocess.run(self._command(*arguments, "--json"), input=given, stdout=out, stderr=err).returncode
            return json.loads(_said(code, out, err))

    def _stream(self, arguments: list[str], given: Optional[bytes]) -> pa.RecordBatchReader:
        err = tempfile.TemporaryFile()
        run = subprocess.Popen(self._command(*arguments), stdin=subprocess.PIPE if given else subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=err)
        if given:
            threading.Thread(target=_feed, args=(run.stdin, given), daemon=True).start()
        return streamed(_Run(run, err))


class _Run(Answer):
    """The standard output of the program, which is complete if the exit code of the program is 0."""

    def __init__(self, run: subprocess.Popen, err: Any):
        super().__init__(run.stdout)
        self.run, self.err = run, err

    def ended(self) -> None:
        code = self.run.wait()
        if code != 0:
            raise _failure(code, self.err)

    def broken(self) -> None:
        self.source.close()  # what still writes ends of that
        self.ended()

    def close(self) -> None:
        self.source.close()
        if self.run.poll() is None:
            self.run.terminate()
            self.run.wait()
        self.err.close()


def _feed(pipe: Any, given: bytes) -> None:
    try:
        pipe.write(given)
        pipe.close()
    except OSError:
        pass  # the program ended, and reports why


def _flags(values: dict[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in values.items()]


def _said(code: int, out: Any, err: Any) -> bytes:
    if code != 0:
        raise _failure(code, err)
    out.seek(0)
    return out.read()


def _failure(code: int, err: Any) -> ShardcatError:
    """The error in the program's last line."""
    err.seek(0)
    lines = err.read().decode(errors="replace").strip().splitlines()
    message = lines[-1] if lines else f"shardcat ended with {code}"
    try:
        message = json.loads(message)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        pass
    return ShardcatError(message, _CODES.get(code, "failed"))


def find(path: Optional[str]) -> str:
    """The program: as given, else $SHARDCAT_BINARY, else the one that the wheel installed, else as the shell finds it."""
    path = path or os.environ.get("SHARDCAT_BINARY") or _installed() or shutil.which("shardcat")
    if not path:
        raise ShardcatError("the program shardcat is not found: put it on PATH, or name it by connect(binary=...) or SHARDCAT_BINARY", "usage")
    return os.path.abspath(path)


def _installed() -> Optional[str]:
    """The program where pip puts scripts: beside this Python, in the user's folder, or below `pip install --target`."""
    name = "shardcat" + (sysconfig.get_config_var("EXE") or "")
    user = sysconfig.get_preferred_scheme("user")
    target = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin")
    for folder in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", scheme=user), target):
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    return None
