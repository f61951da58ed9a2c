"""Executors: they own the state of compiled patterns and call the kernels on it."""

from foretell.jit import cache_on_disk
from foretell.machine.exec.allocator import keep_freed_memory
from foretell.machine.kernels import (
    absence,
    actions,
    active_rows,
    arrival_tracking,
    arrival_walk,
    functions,
    general,
    hash_table,
    interpreter,
    lockstep,
    longest,
    probe,
    reverse_scan,
    run_checks,
    run_index,
    run_lists,
    strict,
)

# The kernels import nothing of ours, so the disk cache comes to them from here.
cache_on_disk(
    absence,
    actions,
    active_rows,
    arrival_tracking,
    arrival_walk,
    functions,
    general,
    hash_table,
    interpreter,
    lockstep,
    longest,
    probe,
    reverse_scan,
    run_checks,
    run_index,
    run_lists,
    strict,
)

keep_freed_memory()
