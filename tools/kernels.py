"""Start kernels as copies of one process, which has imported what every page needs.

A kernel imports for the better part of a second, and the book needs forty: most of what its cells
would cost. A copy costs a hundredth of that, and no cell has run in the process that it is made
from: each page still has an interpreter for itself.
"""

import gc
import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

# What is installed: a warning of our own modules is for the page that imports them.
IMPORTED = [
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.debugger",
    "numpy",
    "fontTools.ttLib",
]


class Process:
    """A process that is no child of this one: what jupyter_client asks of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Return None while it runs, and then 0: its exit code is its parent's to know."""
        return 0 if select.select([self.handle], [], [], 0)[0] else None

    def wait(self) -> int:
        """Wait until it has ended; nothing is asked of it after that."""
        select.select([self.handle], [], [])
        os.close(self.handle)
        return 0

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, number)


class Copied(LocalProvisioner):
    """Asks the process that `start` has started for a kernel."""

    source: socket.socket
    process: Any = None

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Have a kernel started with the options of the command; start it if nobody answers."""
        asked = [kwargs["cwd"], *cmd[cmd.index("ipykernel_launcher") + 1 :]]
        answer, for_answer = os.pipe()
        with open(answer, "rb") as told:
            with suppress(OSError):
                socket.send_fds(self.source, ["\0".join(asked).encode()], [for_answer])
            os.close(for_answer)
            pid = told.read()
        if not pid:
            return await super().launch_kernel(cmd, **kwargs)
        self.pid = self.pgid = int(pid)  # it leads a group of its own
        self.process = Process(self.pid)
        return self.connection_info


def start() -> bool:
    """Start the process that is copied, and have this one and its copies ask it from now on.

    It ends when they all have. Where it cannot be, each kernel is started by itself: return False.
    """
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):  # not on Linux, or on one that lacks it
        return False
    factory = KernelProvisionerFactory.instance()
    factory.provisioners["copied"] = EntryPoint("copied", f"{__name__}:Copied", factory.GROUP_NAME)
    factory.default_provisioner_name = "copied"
    Copied.source, asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with asked:
        subprocess.Popen(
            # The debugger that comes with a kernel complains of modules that are frozen.
            [sys.executable, "-Xfrozen_modules=off", "-m", __name__, f"{asked.fileno()}"],
            stdin=subprocess.DEVNULL,
            pass_fds=[asked.fileno()],
        )
    return True


def copies(asked: socket.socket) -> list[str]:
    """Copy this process for whoever asks; return in each copy what it was asked for."""
    while True:
        message, answers, _, _ = socket.recv_fds(asked, 65536, 1)
        if not message:
            return []
        # Who asked may have gone; where there is no room for another, it hears nothing.
        with suppress(OSError), open(answers[0], "wb") as answer:
            pid = os.fork()
            if not pid:
                return message.decode().split("\0")
            answer.write(f"{pid}".encode())


def main(asked: socket.socket) -> None:
    """Be copied, and in a copy be a kernel, as `python -m ipykernel_launcher` would."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends when nobody asks any more
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the copies
    os.environ["JPY_PARENT_PID"] = f"{os.getpid()}"  # with which a kernel ends
    for module in IMPORTED:
        import_module(module)
    gc.freeze()
    with asked:
        wanted = copies(asked)
    if wanted:
        folder, *options = wanted
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.chdir(folder)
        del sys.path[0]
        import_module("ipykernel.kernelapp").launch_new_instance(options)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
