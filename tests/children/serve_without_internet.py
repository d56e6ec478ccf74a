"""Serve over stdio; the kernel kills this process if any of its code, a library's included, opens
an internet socket.

`open` as the only argument opens one instead of serving. For Linux on x86-64 and aarch64.
"""

import ctypes
import platform
import runpy
import socket
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = (
    38,
    22,
    2,
)  # Source: linux/prctl.h, linux/seccomp.h
LOAD, IS, RETURN = (
    0x20,
    0x15,
    0x06,
)  # Source: linux/bpf_common.h, the three instructions that this needs
ALLOW, KILL = 0x7FFF0000, 0x80000000
SOCKET = {"x86_64": 41, "aarch64": 198}  # the number of the system call
FAMILIES = (socket.AF_INET, socket.AF_INET6)


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def forbid() -> None:
    """Let the kernel end this process, its threads and its children at `socket(AF_INET or AF_INET6,
    …)`.
    """
    rules = [
        (LOAD, 0, 0, 0),  # the system call
        (IS, 0, 3, SOCKET[platform.machine()]),  # another one: allowed
        (LOAD, 0, 0, 16),  # its first argument
        (IS, 2, 0, FAMILIES[0]),
        (IS, 1, 0, FAMILIES[1]),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, KILL),
    ]
    code = b"".join(struct.pack("HBBI", *rule) for rule in rules)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(len(rules), code))):
        raise OSError(ctypes.get_errno(), "the filter was refused")


if __name__ == "__main__":
    forbid()
    if sys.argv[1:] == ["open"]:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    else:
        runpy.run_module("fleet_memory", run_name="__main__")
