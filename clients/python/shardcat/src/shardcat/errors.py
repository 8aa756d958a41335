"""The one error of this package."""


class ShardcatError(Exception):
    """What a server or the program refused, or failed at.

    `code` is its class: usage, unauthorized, unsafe, not_found, conflict, unfit, corrupt, busy, interrupted,
    unknown_outcome, or failed.
    """

    def __init__(self, message: str, code: str = "failed"):
        super().__init__(message)
        self.code = code

    def __reduce__(self):
        return ShardcatError, (str(self), self.code)
