"""Run work in a child whose every change to files, and every message to a server, can be stopped.

The kernel asks us before each system call of the child that writes, syncs, names or removes a file,
or talks to a socket (seccomp's user notification, Linux 5.5 and later). We let it go on, kill the
child there, or let the call fail: SQLite, DuckDB and Arrow are seen as well as Python, whatever
threads they use, and nothing is changed in the code that is tested.

    ended = supervised(work, [folder], lambda event: KILL if event.number == 7 else None)

`Disk` models what a power cut would leave: what was synced, and of the rest as much as is said.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import platform
import select
import shutil
import signal
import socket
import stat
import struct
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

__all__ = [
    "KILL",
    "Disk",
    "Ended",
    "Event",
    "NotHere",
    "Tree",
    "lay_out",
    "mark",
    "supervised",
    "tree_of",
]

KILL = -1
"""What a decision says to end the child before the call is made.

An errno lets the call fail, and cuts the connection if it was a message.
"""

Decision: TypeAlias = "Callable[[Event], int | None]"

# x86-64: the calls that change files or move bytes of a connection, and where their paths are:
# "fd" a descriptor, "path" one argument, "at" a folder's descriptor and a path.
_CALLS: dict[int, tuple[str, str, int]] = {
    1: ("write", "fd", 0),
    18: ("write", "fd", 0),
    20: ("write", "fd", 0),
    296: ("write", "fd", 0),
    40: ("write", "fd", 0),
    326: ("write", "fd", 2),
    285: ("write", "fd", 0),
    77: ("truncate", "fd", 0),
    74: ("sync", "fd", 0),
    75: ("sync", "fd", 0),
    2: ("open", "path", 0),
    257: ("open", "at", 0),
    85: ("open", "path", 0),
    82: ("rename", "path", 0),
    264: ("rename", "at", 0),
    316: ("rename", "at", 0),
    87: ("remove", "path", 0),
    263: ("remove", "at", 0),
    84: ("remove", "path", 0),
    83: ("mkdir", "path", 0),
    258: ("mkdir", "at", 0),
    88: ("link", "path", 1),
    266: ("link", "at", 1),
    86: ("link", "path", 1),
    44: ("send", "fd", 0),
    45: ("receive", "fd", 0),
}
_OPENS = {2: 1, 257: 2}  # in which argument the flags are
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ASK, _ALLOW = 0x7FC00000, 0x7FFF0000
_RECEIVE, _ANSWER, _GO_ON = 0xC0502100, 0xC0182101, 1
_SECCOMP, _GET_DESCRIPTOR, _NO_NEW_PRIVILEGES, _AT_CWD = 317, 438, 38, -100


class NotHere(Exception):
    """Children cannot be supervised here, and why."""


@dataclass(frozen=True, slots=True)
class Event:
    """A call that the child is about to make: the how-manieth, what, on which path.

    `marks` is how many marks the child had left before it.
    """

    number: int
    call: str
    path: str
    marks: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: its result, or its error; killed or not; the events and marks it left."""

    killed: bool
    result: Any = None
    error: str | None = None
    said: str = ""
    ours: bool = False
    events: tuple[Event, ...] = ()
    marks: tuple[str, ...] = ()


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("yes", ctypes.c_ubyte),
        ("no", ctypes.c_ubyte),
        ("value", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.POINTER(_Instruction)))


def _filter(sockets: bool) -> list[tuple[int, int, int, int]]:
    """Return the program that asks for the calls above; opening only where it may change a file."""
    changing = os.O_CREAT | os.O_TRUNC
    program = [(_LOAD, 0, 0, 0)]
    for number, (call, _, _) in _CALLS.items():
        if call in ("send", "receive") and not sockets:
            continue
        if number in _OPENS:
            program += [
                (_EQUAL, 0, 4, number),
                (_LOAD, 0, 0, 16 + 8 * _OPENS[number]),
                (_ANY_BIT, 0, 1, changing),
                (_RETURN, 0, 0, _ASK),
                (_RETURN, 0, 0, _ALLOW),
            ]
        else:
            program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ASK)]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _listener(sockets: bool) -> int:
    """Have the kernel ask before the calls of this process; return the descriptor that hears it."""
    libc = ctypes.CDLL(None, use_errno=True)
    said = [_Instruction(*one) for one in _filter(sockets)]
    program = _Program(len(said), (_Instruction * len(said))(*said))
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    found = int(libc.syscall(_SECCOMP, 1, 8, ctypes.byref(program)))
    if found < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return found


_marks: int | None = None


def mark(text: str) -> None:
    """Tell the supervisor, from within the work, that something has happened."""
    if _marks is not None:
        os.write(_marks, text.encode() + b"\n")


def supervised(
    work: Callable[[], Any],
    roots: Sequence[Path],
    decide: Decision | None = None,
    *,
    sockets: bool = False,
    seconds: int = 120,
) -> Ended:
    """Run it in a child; ask `decide` at each call on a path below the roots.

    Without roots and sockets nothing is looked at: the work is run in a child, and that is all.
    """
    looked_at = bool(roots) or sockets
    if looked_at and (sys.platform != "linux" or platform.machine() != "x86_64"):
        raise NotHere("system calls are watched on Linux on x86-64 only")
    ours, theirs = socket.socketpair()
    marks, marking = os.pipe()
    os.set_blocking(marks, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads that the child never uses
        child = os.fork()
    if child == 0:
        ours.close()
        os.close(marks)
        _child(work, theirs, marking, sockets if looked_at else None, seconds)
    theirs.close()
    os.close(marking)
    try:
        return _watch(child, ours, marks, [str(Path(root).resolve()) for root in roots], decide)
    finally:
        ours.close()
        os.close(marks)


def _child(
    work: Callable[[], Any], parent: socket.socket, marking: int, sockets: bool | None, seconds: int
) -> None:
    global _marks
    _marks = marking
    told: dict[str, Any] = {}
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        if sockets is not None:
            try:
                listener = _listener(sockets)
            except OSError as problem:
                parent.sendall(b"n" + str(problem).encode())
                os._exit(1)
            socket.send_fds(parent, [b"y"], [listener])
            os.close(listener)
        else:
            parent.sendall(b"-")
        told["result"] = work()
    except BaseException as error:  # told to the parent, whatever it was
        from discreet.errors import DiscreetError

        told = {
            "error": type(error).__name__,
            "said": "".join(traceback.format_exception(error))[-4000:],
            "ours": isinstance(error, DiscreetError),
        }
    finally:
        with suppress(BaseException):
            parent.sendall(json.dumps(told).encode())
            parent.shutdown(socket.SHUT_WR)
        os._exit(0)


def _watch(
    child: int, ours: socket.socket, marks: int, roots: list[str], decide: Decision | None
) -> Ended:
    first, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    if first == b"n":
        os.waitpid(child, 0)
        raise NotHere(f"the kernel does not let children be watched: {ours.recv(200).decode()}")
    events: list[Event] = []
    seen: list[str] = []
    killed = False
    if descriptors:
        try:
            killed = _answered(child, descriptors[0], marks, roots, decide, events, seen)
        finally:
            os.close(descriptors[0])
    told = b""
    while not killed and (more := ours.recv(65536)):
        told += more
    _, status = os.waitpid(child, 0)
    seen += _read_marks(marks)
    said = json.loads(told) if told else {}
    return Ended(
        killed or not said or os.WIFSIGNALED(status),
        events=tuple(events),
        marks=tuple(seen),
        **said,
    )


def _answered(
    child: int,
    listener: int,
    marks: int,
    roots: list[str],
    decide: Decision | None,
    events: list[Event],
    seen: list[str],
) -> bool:
    """Answer the kernel until the child ends; return whether it was killed."""
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while True:
        if poll.poll()[0][1] & select.POLLHUP:
            return False
        asked = bytearray(80)
        try:
            fcntl.ioctl(listener, _RECEIVE, asked)
        except OSError as problem:
            if problem.errno in (errno.ENOENT, errno.EINTR):
                continue
            raise
        identity, thread, _, number = struct.unpack_from("QIIi", asked)
        arguments = struct.unpack_from("6Q", asked, 32)
        call, path = _CALLS[number][0], _path(thread, number, arguments)
        wanted = None
        if path is not None and _within(path, call, roots):
            seen += _read_marks(marks)
            events.append(Event(len(events) + 1, call, path, len(seen)))
            wanted = None if decide is None else decide(events[-1])
            if wanted == KILL:
                os.kill(child, signal.SIGKILL)
                return True
            if wanted is not None and call in ("send", "receive"):
                _cut(child, ctypes.c_int(arguments[0]).value)
        answer = struct.pack("QqiI", identity, 0, -wanted if wanted else 0, 0 if wanted else _GO_ON)
        with suppress(FileNotFoundError):  # the thread is gone
            fcntl.ioctl(listener, _ANSWER, bytearray(answer))


def _cut(child: int, descriptor: int) -> None:
    """Close a connection of the child for both sides, as if the network had."""
    process = os.pidfd_open(child)
    try:
        got = int(
            ctypes.CDLL(None, use_errno=True).syscall(_GET_DESCRIPTOR, process, descriptor, 0)
        )
        if got >= 0:
            with socket.socket(fileno=got) as connection, suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
    finally:
        os.close(process)


def _within(path: str, call: str, roots: list[str]) -> bool:
    if call in ("send", "receive"):
        return path.startswith("socket:")
    return any(path == root or path.startswith(root + "/") for root in roots)


def _path(thread: int, number: int, arguments: Sequence[int]) -> str | None:
    """Return the path that a call is on, or "socket:…"; None if it cannot be told."""
    _, how, place = _CALLS[number]
    try:
        if how == "fd":
            return os.readlink(f"/proc/{thread}/fd/{ctypes.c_int(arguments[place]).value}")
        folder = ctypes.c_int(arguments[place]).value if how == "at" else _AT_CWD
        text = _text(thread, arguments[place + 1 if how == "at" else place])
        if text.startswith("/"):
            return os.path.normpath(text)
        base = "cwd" if folder == _AT_CWD else f"fd/{folder}"
        return os.path.normpath(os.path.join(os.readlink(f"/proc/{thread}/{base}"), text))
    except OSError:
        return None


def _text(thread: int, address: int) -> str:
    with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        page = 4096 - address % 4096
        found = memory.read(page)
        if b"\0" not in found:
            found += memory.read(4096)
    return os.fsdecode(found.split(b"\0", 1)[0])


def _read_marks(marks: int) -> list[str]:
    try:
        return os.read(marks, 65536).decode().split()
    except BlockingIOError:
        return []


# -- what is on a disk


@dataclass(frozen=True, slots=True)
class Node:
    """A file, folder or link: its kind and mode, and a file's bytes or a link's target."""

    kind: str
    mode: int
    holds: bytes = b""
    inode: int = 0


Tree: TypeAlias = Mapping[str, Node]


def tree_of(roots: Iterable[Path]) -> dict[str, Node]:
    """Return everything at and below some folders."""
    found: dict[str, Node] = {}
    for root in roots:
        if root.is_dir():
            _add(str(root), found)
    return found


def _add(path: str, found: dict[str, Node]) -> None:
    try:
        told = os.lstat(path)
        mode = stat.S_IMODE(told.st_mode)
        if stat.S_ISLNK(told.st_mode):
            found[path] = Node("link", mode, os.fsencode(os.readlink(path)), told.st_ino)
        elif stat.S_ISDIR(told.st_mode):
            found[path] = Node("folder", mode, b"", told.st_ino)
            for name in sorted(os.listdir(path)):
                _add(os.path.join(path, name), found)
        elif stat.S_ISREG(told.st_mode):
            with open(path, "rb") as file:
                found[path] = Node("file", mode, file.read(), told.st_ino)
    except FileNotFoundError:
        return


def lay_out(roots: Iterable[Path], tree: Tree) -> None:
    """Make the folders hold exactly what a tree says."""
    for root in roots:
        shutil.rmtree(root, ignore_errors=True)
    for path, node in tree.items():
        if node.kind == "folder":
            os.makedirs(path, exist_ok=True)
            os.chmod(path, node.mode)
        elif node.kind == "link":
            os.symlink(os.fsdecode(node.holds), path)
        else:
            with open(path, "wb") as file:
                file.write(node.holds)
            os.chmod(path, node.mode)


@dataclass(slots=True)
class Disk:
    """What of some folders would survive a power cut, kept up to date at each event of a child.

    A file's bytes survive as they were when it was last synced. Names survive as they are
    (`names_kept`), or as they were when anything was last synced (`all_lost`), which is how file
    systems with a journal do it.
    """

    roots: Sequence[Path]
    synced: dict[int, bytes] = field(default_factory=dict)
    last: Tree = field(default_factory=dict)
    pending: str | None = None

    def __post_init__(self) -> None:
        self.last = tree_of(self.roots)
        self.synced = {node.inode: node.holds for node in self.last.values() if node.kind == "file"}

    def before(self, event: Event) -> Tree:
        """Take note of what the event before this one has done; return what there is now."""
        now = tree_of(self.roots)
        there = {node.inode for node in now.values()}
        self.synced = {inode: holds for inode, holds in self.synced.items() if inode in there}
        if self.pending is not None:
            node = now.get(self.pending)
            if node is not None and node.kind == "file":
                self.synced[node.inode] = node.holds
            self.last = self.names_kept(now)
        self.pending = event.path if event.call == "sync" else None
        return now

    def names_kept(self, now: Tree, keep: Callable[[str], bool] = lambda _: False) -> Tree:
        """Return what is left if bytes that were not synced are lost, but for files to `keep`."""
        return {
            path: node
            if node.kind != "file" or keep(path)
            else Node("file", node.mode, self.synced.get(node.inode, b""), node.inode)
            for path, node in now.items()
        }

    def all_lost(self) -> Tree:
        """Return what is left if everything since the last sync is lost."""
        return self.last
