"""Too little memory, told in one line: before compiled libraries end the process, and whatever error they raise."""

from deniable.core.errors import InputError

_BASE_MEGABYTES, _MEGABYTES_PER_CORE = 2_000, 250
"""Address space of the interpreter with its libraries, and of the threads that these start."""
_SIGNS = (
    "can't start new thread",
    "failed to map segment",
    "cannot allocate memory",
    "can't allocate memory",
    "unable to allocate",
    "out of memory",
    "not enough memory",
)
"""What errors of other kinds say where memory is meant."""


def check_address_space() -> None:
    """Raise `InputError` where a limit (ulimit -v) leaves too little for the libraries, which would abort."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return
    from deniable.core.parallel import count_cores

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = _BASE_MEGABYTES + _MEGABYTES_PER_CORE * count_cores()
    if limit != resource.RLIM_INFINITY and limit < needed * 1_000_000:
        raise InputError(
            f"The address space is limited to {limit // 1_000_000:,} MB, and at least {needed:,} MB are needed: raise "
            "the limit, with ulimit -v."
        )


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or one that it came from, is that memory is short, whatever its kind."""
    while error is not None:
        text = str(error).lower()
        if isinstance(error, MemoryError) or any(sign in text for sign in _SIGNS):
            return True
        error = error.__cause__ or error.__context__
    return False
