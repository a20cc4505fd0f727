"""Child processes that get ready or fail with their log, and that never outlive the tests."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import SystemRandom

from harness.cache import tail
from harness.errors import HarnessError
from harness.waiting import asked


# A child's "die with your parent" is bound to the thread that forked it, so one thread that lives to the end forks them all.
_FORKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="harness-forker")
# Ports that servers of this process have, and keep while they are down.
_GIVEN: set[int] = set()


class Process:
    """A server as a child process, started and ended any number of times with the same command line.

    It logs to `log` (appended), has its own session, so that Ctrl-C reaches the tests and not it, and on Linux is
    killed by the kernel when this process dies in whatever way.
    """

    def __init__(self, argv: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.argv = [str(part) for part in argv]
        self.log = log
        self._env = os.environ | (env or {})
        self._child: subprocess.Popen[bytes] | None = None

    def set_environment(self, env: Mapping[str, str]) -> None:
        """Change variables of the next start."""
        self._env = {**self._env, **env}

    @property
    def name(self) -> str:
        """The name of the executable."""
        return Path(self.argv[0]).name

    @property
    def pid(self) -> int:
        """The running child's process id.

        :raises HarnessError: when it was not started, or was stopped.
        """
        if self._child is None:
            raise HarnessError(f"{self.name} is not running")
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether the child is running."""
        return self._child is not None and self._child.poll() is None

    def start(self, ready: Callable[[], bool], within: float = 180.0) -> None:
        """Start the child and wait until `ready()` is true, at most `within` seconds.

        :raises HarnessError: when it dies first or is not ready in time (it is killed then), with the end of its log.
        """
        if self.alive:
            raise HarnessError(f"{self.name} is running already")
        child = self._child = _FORKER.submit(self._spawn).result()

        def ready_or_died() -> bool:
            if ready():
                return True
            if not self.alive:
                raise self._error(f"{self.name} died with exit code {child.returncode}")
            return False

        if not asked(within, ready_or_died, 0.05):
            self.kill()
            raise self._error(f"{self.name} was not ready within {within:g} s")

    def stop(self, grace: float = 15.0) -> None:
        """End the child with SIGTERM, and with SIGKILL after `grace` seconds; do nothing if it does not run."""
        if self._child is not None and self.alive:
            self._child.terminate()
            try:
                self._child.wait(grace)
            except subprocess.TimeoutExpired:
                self._child.kill()
        self._reap()

    def kill(self) -> None:
        """End the child with SIGKILL, as `kill -9` does; do nothing if it does not run."""
        if self._child is not None:
            self._child.kill()
        self._reap()

    def send(self, sig: signal.Signals) -> None:
        """Send the running child a signal: SIGSTOP and SIGCONT make a server that hangs."""
        os.kill(self.pid, sig)

    def _reap(self) -> None:
        if self._child is not None:
            self._child.wait()
        self._child = None

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as out:
            return subprocess.Popen(
                [*die_with_parent(), *self.argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self._env,
                cwd=self.log.parent,
                start_new_session=True,
            )

    def _error(self, problem: str) -> HarnessError:
        return HarnessError(f"{problem}\n--- the end of {self.log}\n{tail(self.log)}")


def die_with_parent() -> list[str]:
    """The prefix of a command line, so that the kernel kills the child when the forking thread ends."""
    # setpriv (util-linux) sets PR_SET_PDEATHSIG and execs: the process id stays the child's, no Python runs after fork.
    # The shell, before it execs in turn, looks whether the parent died even before that.
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    check = ["sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(os.getpid())]
    return [setpriv, "--pdeathsig", "KILL", "--", *check] if setpriv else []


def in_own_mounts() -> list[str]:
    """The prefix of a command line of root, whose mounts and whole tree of processes end with this process."""
    namespaces = ["unshare", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"]
    return [*die_with_parent(), *namespaces, "--"]


def free_port() -> int:
    """Return a loopback TCP port that nothing listens on, and that was not given to anybody here before.

    It lies below the range from which outgoing connections get theirs: while a server is down between two starts, a
    client that keeps knocking at its port could else be given that very port, connect to itself and so take it away.
    Tests side by side have a range each, so that nobody takes the port of a server that is down in another.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10
    first = 20000 + 1000 * worker
    for _ in range(100):
        port = SystemRandom().randrange(first, first + 1000)
        if port in _GIVEN:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _GIVEN.add(port)
        return port
    raise HarnessError(f"no free port on 127.0.0.1 between {first} and {first + 1000}")
