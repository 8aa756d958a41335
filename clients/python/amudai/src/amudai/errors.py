"""The one exception that reading raises for damaged, foreign or missing bytes."""


class ShardError(Exception):
    """Names the object and the byte offset at which reading stopped.

    ``kind`` is ``"corrupt"`` (the bytes contradict the format or themselves), ``"unsupported"`` (a form this package
    does not read), ``"missing"`` (an object that is referred to cannot be opened) or ``"unsafe"`` (a reference that leads
    out of the folder of the shard).
    """

    def __init__(self, obj, offset, reason, kind="corrupt"):
        super().__init__(f"{kind}: {obj} at {offset}: {reason}")
        self.object = obj
        self.offset = offset
        self.reason = reason
        self.kind = kind


class TooMany(ShardError):
    """More values than are held at once. Fewer records at a time may help."""


class Bad(Exception):
    """Internal: a fault whose object and offset the caller knows. ``at`` is relative to what the caller handed in."""

    def __init__(self, reason, at=0, kind="corrupt"):
        super().__init__(reason)
        self.reason = reason
        self.at = at
        self.kind = kind
