"""Tables through a server's HTTP."""

from __future__ import annotations

import io
import json
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any, Iterator, Optional

import pyarrow as pa

from .errors import ShardcatError
from .request import Scan

ARROW = "application/vnd.apache.arrow.stream"


@dataclass(frozen=True)
class Server:
    """A `shardcat serve` by its URL. It can be pickled and used from any process; the token goes with it."""

    url: str
    token: Optional[str] = None
    timeout: float = 60.0
    """Seconds that the server may take over the next bytes."""
    retry_seconds: float = 60.0
    """Seconds for which requests to a busy server are retried."""

    def __repr__(self) -> str:  # without the token
        return f"Server({self.url!r})"

    def tables(self, namespace: Optional[str]) -> list[str]:
        return self._json("/v1/tables", {"namespace": namespace} if namespace else {})["tables"]

    def describe(self, table: str) -> dict[str, Any]:
        return self._json(self._path(table), {})

    def schema(self, table: str, scan: Scan) -> pa.Schema:
        with self.rows(table, scan.without_rows()) as reader:
            return reader.schema

    def plan(self, table: str, scan: Scan, split_size: Optional[int]) -> dict[str, Any]:
        return self._json(self._path(table) + "/plan", scan.plan_parameters(split_size))

    def rows(self, table: str, scan: Scan) -> pa.RecordBatchReader:
        return self._stream(self._path(table) + "/rows", scan.parameters(), None)

    def task(self, task: dict[str, Any], time_unit: Optional[str]) -> pa.RecordBatchReader:
        q = {"time-unit": time_unit} if time_unit else {}
        return self._stream(self._path(task["table"]) + "/task", q, json.dumps(task).encode())

    def append(self, table: str, reader: pa.RecordBatchReader, job_id: Optional[str], create: bool) -> dict[str, Any]:
        if create:
            raise ShardcatError("a server makes no tables: use `shardcat table create`, or connect(warehouse=...)", "usage")
        path = self._path(table) + "/rows"
        body = _chunks(reader)
        q = {"job-id": job_id} if job_id else {}
        with self._open(path, q, body, {"Content-Type": ARROW}, tries=1) as answer:
            return json.load(answer)

    def write(self, table: str, reader: pa.RecordBatchReader, job_id: str, part: Optional[str]) -> dict[str, Any]:
        # Requests to a busy server are retried, so the rows must be kept: each try is a run of its own, and one of them is committed.
        with tempfile.TemporaryFile() as rows:
            for chunk in _chunks(reader):
                rows.write(chunk)
            size = rows.tell()
            q = {"part": part} if part else {}
            headers = {"Content-Type": ARROW, "Content-Length": str(size)}
            with self._open(self._job(table, job_id) + "/runs", q, rows, headers) as answer:
                return json.load(answer)

    def commit(self, table: str, job_id: str, runs: list[str]) -> dict[str, Any]:
        with self._open(self._job(table, job_id) + "/commit", {}, json.dumps({"runs": runs}).encode(), {"Content-Type": "application/json"}) as answer:
            return json.load(answer)

    def discard(self, table: str, job_id: str) -> dict[str, Any]:
        with self._open(self._job(table, job_id), {}, None, {}, method="DELETE") as answer:
            return json.load(answer)

    @classmethod
    def _job(cls, table: str, job_id: str) -> str:
        return cls._path(table) + "/jobs/" + urllib.parse.quote(job_id, safe="")

    @staticmethod
    def _path(table: str) -> str:
        return "/v1/tables/" + urllib.parse.quote(table, safe="")

    def _json(self, path: str, q: dict[str, str]) -> Any:
        with self._open(path, q, None, {}) as answer:
            return json.load(answer)

    def _stream(self, path: str, q: dict[str, str], body: Optional[bytes]) -> pa.RecordBatchReader:
        answer = self._open(path, q, body, {"Accept": ARROW, "Content-Type": "application/json"})
        return streamed(Answer(answer))

    def _open(self, path: str, q: dict[str, str], body: Any, headers: dict[str, str], tries: int = 1000, method: Optional[str] = None) -> Any:
        url = self.url.rstrip("/") + path + ("?" + urllib.parse.urlencode(q) if q else "")
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        until = time.monotonic() + self.retry_seconds
        while True:
            tries -= 1
            if hasattr(body, "seek"):
                body.seek(0)
            request = urllib.request.Request(url, data=body, headers=headers, method=method)
            try:
                return urllib.request.urlopen(request, timeout=self.timeout)
            except urllib.error.HTTPError as e:
                wait = _retry_after(e)
                if e.code == 503 and tries > 0 and time.monotonic() + wait < until:
                    time.sleep(wait)
                    continue
                raise _problem(e) from None
            except urllib.error.URLError as e:
                raise ShardcatError(f"{self.url}: {e.reason}") from e


def _retry_after(e: urllib.error.HTTPError) -> float:
    try:
        return float(e.headers.get("Retry-After", ""))
    except ValueError:
        return 1.0


def _problem(e: urllib.error.HTTPError) -> ShardcatError:
    try:
        said = json.load(e)
        return ShardcatError(said["detail"], said["code"])
    except (ValueError, KeyError, TypeError):
        return ShardcatError(f"HTTP {e.code} {e.reason}")


def _chunks(reader: pa.RecordBatchReader) -> Iterator[bytes]:
    """An Arrow stream in pieces, made as they are sent."""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, reader.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        for batch in reader:
            writer.write_batch(batch)
            if out.tell():
                yield out.getvalue()
                out.seek(0)
                out.truncate()
    yield out.getvalue()


class Answer:
    """Where an Arrow stream comes from."""

    def __init__(self, source: Any):
        self.source = source

    def ended(self) -> None:
        """Called behind the last batch: raises if it was not the last one meant."""

    def broken(self) -> None:
        """Called when the stream can't be read further: raises if more is known about why."""

    def close(self) -> None:
        """Called at the end, whichever it was, also if nobody reads on."""
        self.source.close()


def streamed(answer: Answer) -> pa.RecordBatchReader:
    """A reader over an Arrow stream."""
    try:
        stream = pa.ipc.open_stream(answer.source)
    except Exception as e:
        try:
            answer.broken()
        finally:
            answer.close()
        raise ShardcatError(f"the response is not an Arrow stream: {e}") from e

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            while True:
                try:
                    batch = stream.read_next_batch()
                except StopIteration:
                    answer.ended()
                    return
                except Exception as e:
                    answer.broken()
                    raise ShardcatError(f"the answer broke off, and rows are missing: {e}") from e
                yield batch
        finally:
            answer.close()

    return pa.RecordBatchReader.from_batches(stream.schema, batches())
