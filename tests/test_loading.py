"""Machine code is read from files or made by another process; what goes wrong neither hangs nor raises."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tape.kernels import loading, making
from tape.kernels.availability import Unavailable
from tape.kernels.loading import Native, NotReady, packed, unpacked
from tape.kernels.making import received, sent
from tape.system import cache
from tests.forks import forks, in_a_fork

GROUP = "sliding"  # the smallest of all
WAIT = 60  # seconds, on a busy computer


class Work:
    """A cache folder of one's own, and another process that takes its answer from a file.

    Attributes
    ----------
    objects : dict
        The code of `GROUP`.
    started : list of str
        The groups that processes have been started for.
    folder : Path
        The cache.
    script : str
        What the other process runs: it writes ``answer``, a file.
    """

    def __init__(self, folder, answer, objects):
        self.folder, self.answer, self.objects = folder, answer, objects
        self.started = []
        self.script = "import shutil; shutil.copyfileobj(open(answer, 'rb'), sys.stdout.buffer)"
        self.processes = []
        with answer.open("wb") as stream:
            sent(stream, GROUP, objects)

    def start(self, function, *arguments, environment=None):
        self.started.append(arguments[0])
        code = f"import os, sys, time\nanswer = {str(self.answer)!r}\n{self.script}"
        process = making.Helper([sys.executable, "-I", "-S", "-c", code], dict(os.environ))
        self.processes.append(process)
        return process

    @property
    def file(self):
        return self.folder / loading.file_of(GROUP)


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Nothing of `GROUP` is loaded; compiling takes as long as starting Python."""
    objects = loading._on_disk(GROUP)
    folder = tmp_path / "cache"
    monkeypatch.setenv("TAPE_CACHE_DIR", str(folder))
    work = Work(cache.cache_folder(), tmp_path / "answer", objects)
    monkeypatch.delitem(loading._loaded, GROUP, raising=False)
    monkeypatch.setattr(loading, "_maker", None)
    monkeypatch.setattr(making, "helper", work.start)
    monkeypatch.setattr(loading.shipped, "read", lambda group: None)
    yield work
    loading._loaded.pop(GROUP, None)
    for process in work.processes:
        process.kill()
        assert until(lambda process=process: process.stdout.closed)


@pytest.fixture
def reasons(monkeypatch):
    """Why code cannot run; without the warning, and without an effect on other tests."""
    found = []
    monkeypatch.setattr(loading, "give_up", found.append)
    return found


def until(claim, seconds=WAIT):
    deadline = time.monotonic() + seconds
    while not (found := claim()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def found_later():
    return until(lambda: loading.find(GROUP))


# ---- from the disk -----------------------------------------------------------------------------------


def test_code_on_disk_is_loaded_at_once_and_no_process_is_started(work):
    cache.write(work.file.name, packed(work.objects), 8)
    native = loading.find(GROUP)
    assert set(native.addresses) == set(work.objects)
    assert all(native.addresses.values())
    assert loading.find(GROUP) is loading.native(GROUP) is native
    assert not work.started


def damages(data):
    yield b""
    yield data[:10]
    yield data[:-1]
    yield data + b"\0"
    yield bytes(len(data))
    yield b"another file" + data
    for at in (0, len(cache._MAGIC), len(cache._MAGIC) + 31, len(cache._MAGIC) + 33, len(data) // 2, -1):
        changed = bytearray(data)
        changed[at] ^= 1
        yield bytes(changed)


def test_nothing_of_a_damaged_file_is_loaded(work):
    cache.write(work.file.name, packed(work.objects), 8)
    data = work.file.read_bytes()
    assert loading._on_disk(GROUP) == work.objects
    for damaged in damages(data):
        work.file.write_bytes(damaged)
        assert loading._on_disk(GROUP) is None
    assert found_later()
    assert work.started == [GROUP]


def test_a_whole_file_that_holds_no_code_counts_as_missing(work):
    """A digest says that a file is whole, not what it is."""
    for content in (b"", b"\xff" * 40, packed(work.objects)[:-1], b"\0" * 8, packed({})):
        cache.write(work.file.name, content, 8)
        assert cache.read(work.file.name) == content
        assert loading._on_disk(GROUP) is None


def test_code_of_other_sources_is_not_used(work, monkeypatch):
    cache.write(work.file.name, packed(work.objects), 8)
    monkeypatch.setattr(loading, "fingerprint", lambda: "0" * 24)
    assert loading._on_disk(GROUP) is None


def test_without_sources_nothing_is_read_and_code_is_made(work, monkeypatch):
    """As where the package is imported from a zip file."""
    monkeypatch.setattr(loading, "fingerprint", lambda: None)
    assert loading.file_of(GROUP) is None
    assert found_later()


@pytest.mark.parametrize("spoil", ["a file", "others may write", "a link in a circle"])
def test_without_a_folder_to_trust_code_is_made(work, spoil):
    work.folder.rmdir()
    if spoil == "a file":
        work.folder.write_bytes(b"")
    elif spoil == "others may write":
        work.folder.mkdir()
        work.folder.chmod(0o777)
    else:
        work.folder.symlink_to(work.folder)
    assert cache.cache_folder() is None
    assert found_later()
    assert work.started == [GROUP]


def test_code_that_another_process_writes_meanwhile_is_found(work):
    work.script = "time.sleep(600)"
    assert loading.find(GROUP) is None
    cache.write(work.file.name, packed(work.objects), 8)
    assert found_later()
    assert work.started == [GROUP]


@pytest.mark.parametrize("objects", [{"a": ("b", b"code"), "c": ("d", b"")}, {"e": ("f", bytes(1000))}])
def test_packing_is_undone_and_every_cut_is_noticed(objects):
    content = packed(objects)
    assert unpacked(content) == objects
    assert all(unpacked(content[:k]) is None for k in range(len(content)))
    assert unpacked(content + b"\0") is None


# ---- another process ---------------------------------------------------------------------------------


def test_find_returns_at_once_and_loads_what_has_been_made(work):
    work.script = f"while not os.path.exists(answer + '.go'): time.sleep(0.01)\n{work.script}"
    assert loading.find(GROUP) is None
    assert not loading.is_ready(GROUP)
    work.answer.with_name("answer.go").touch()
    assert found_later()
    assert loading.is_ready(GROUP)
    assert work.started == [GROUP]


def test_native_waits_and_says_so_once(work, monkeypatch, capsys):
    monkeypatch.setattr(loading, "_NOTED", 0.1)
    work.script = f"time.sleep(0.5)\n{work.script}"
    assert set(loading.native(GROUP).addresses) == set(work.objects)
    assert capsys.readouterr().err.count(f"waiting for machine code ({GROUP})") == 1
    assert loading.wait(GROUP)
    assert capsys.readouterr().err == ""


def test_without_waiting_native_says_what_is_missing(work, monkeypatch):
    monkeypatch.delenv("TAPE_WAIT", raising=False)
    work.script = f"time.sleep(600)\n{work.script}"
    begin = time.monotonic()
    with loading.without_waiting(), pytest.raises(NotReady, match=GROUP):
        loading.native(GROUP)
    assert time.monotonic() - begin < 5


def test_a_variable_of_the_environment_makes_everything_wait(work, monkeypatch):
    monkeypatch.setenv("TAPE_WAIT", "1")
    work.script = f"time.sleep(0.3)\n{work.script}"
    with loading.without_waiting():
        assert loading.native(GROUP)


def test_without_waiting_concerns_this_thread_only(work):
    found = []
    with loading.without_waiting():
        thread = threading.Thread(target=lambda: found.append(loading.native(GROUP)))
        thread.start()
        thread.join()
    assert found == [loading.find(GROUP)]


def test_threads_that_need_the_same_code_start_one_process_and_get_the_same(work):
    work.script = f"time.sleep(0.3)\n{work.script}"
    found = []
    threads = [threading.Thread(target=lambda: found.append(loading.native(GROUP))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [loading.find(GROUP)] * 6
    assert work.started == [GROUP]


def test_several_groups_come_from_one_process(work, monkeypatch):
    other = "writing"
    before = loading._loaded.get(other)
    monkeypatch.delitem(loading._loaded, other, raising=False)
    with work.answer.open("ab") as stream:
        sent(stream, other, work.objects)
    try:
        assert loading.native(GROUP)
        assert set(loading.native(other).addresses) == set(work.objects)
    finally:
        if before is not None:
            loading._loaded[other] = before
        else:
            del loading._loaded[other]
    assert work.started == [GROUP]


# ---- a process that fails ----------------------------------------------------------------------------

FAILURES = {
    "an error": ("sys.exit('the last line says why')", "the last line says why"),
    "nothing": ("", "status 0"),
    "killed": ("os.kill(os.getpid(), 9)", "status -9"),
    "no code": ("print('[\"sliding\", 5]\\n12345')", "status 0"),
    "cut": ("sys.stdout.buffer.write(open(answer, 'rb').read()[:-5])", "status 0"),
    "other text": ("print('hello')", "JSONDecodeError"),
    "other bytes": ("os.write(1, b'\\xff' * 100)", "Error"),
    "a number": ("print(1)", "Error"),
    "other lists": ("print('[[], \"x\"]')", "Error"),
}


@pytest.mark.parametrize(("script", "reason"), FAILURES.values(), ids=FAILURES)
def test_a_process_that_says_something_else_is_why_there_is_no_code(work, reasons, script, reason):
    work.script = script
    with pytest.raises(Unavailable):
        until(lambda: loading.find(GROUP))
    assert len(reasons) == 1
    assert reason in reasons[0]
    assert GROUP in reasons[0]


def test_waiting_ends_when_the_process_fails(work, reasons):
    work.script = "sys.exit('why')"
    assert not loading.wait(GROUP)
    assert len(reasons) == 1


def test_code_that_came_before_a_failure_is_used(work, reasons):
    work.script += "; sys.stdout.flush(); sys.exit('why')"
    assert loading.native(GROUP)
    assert not reasons


def test_a_process_that_complains_at_length_does_not_hang(work):
    """More than a pipe holds: as all imports do where Python is told to list them."""
    work.script = f"sys.stderr.write('import ...\\n' * 100_000); sys.stderr.flush()\n{work.script}"
    assert found_later()


def test_no_process_can_be_started(work, monkeypatch, reasons):
    def fail(*_, **__):
        raise OSError("no more processes")

    monkeypatch.setattr(making, "helper", fail)
    assert not loading.wait(GROUP)
    assert "no more processes" in reasons[0]


def test_code_that_is_none_to_llvm_is_no_error(work, monkeypatch, reasons):
    def fail(*_):
        raise RuntimeError("no object file")

    monkeypatch.setattr(loading, "Native", fail)
    cache.write(work.file.name, packed(work.objects), 8)
    assert not loading.wait(GROUP)
    assert "no object file" in reasons[0]


# ---- forks -------------------------------------------------------------------------------------------


@forks
def test_a_forked_process_starts_one_of_its_own(work):
    """It cannot read what the other one writes to its parent, and no thread of it reads."""
    go = work.answer.with_name("answer.go")
    work.script = f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\n{work.script}"
    assert loading.find(GROUP) is None

    def claim():
        if loading.find(GROUP) is not None:
            return False
        time.sleep(2 * loading.POLL)
        begun = loading.find(GROUP) is None
        go.touch()
        return begun and found_later() and work.started == [GROUP, GROUP]

    assert in_a_fork(claim)
    assert found_later()
    assert work.started == [GROUP]


@forks
def test_a_process_that_is_forked_while_a_thread_loads_does_not_hang(work):
    cache.write(work.file.name, packed(work.objects), 8)
    held = threading.Event()

    def hold():
        with loading._lock:
            held.set()
            time.sleep(0.5)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(WAIT)
    assert in_a_fork(lambda: loading.find(GROUP))
    thread.join()
    assert loading.find(GROUP)


@forks
def test_loaded_code_is_there_after_a_fork(work):
    cache.write(work.file.name, packed(work.objects), 8)
    native = loading.find(GROUP)
    assert in_a_fork(lambda: loading.find(GROUP) is native)


# ---- the real process --------------------------------------------------------------------------------


def is_alive(pid):
    """Whether a process still runs; one that has ended and that nobody asked about does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


WITHOUT_WORK = making._HELPER.partition("from tape")[0]


def test_a_process_that_hangs_ends_by_itself(monkeypatch):
    monkeypatch.setattr(making, "_HELPER", WITHOUT_WORK + "time.sleep(600)")
    monkeypatch.setattr(making, "SECONDS", 0.5)
    with making.helper("compile_groups", GROUP) as process:
        assert "line" in process.complaint()
    assert process.returncode == 1


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
def test_a_process_that_compiles_ends_with_its_parent():
    """However that ends."""
    code = """
        import time
        from tape.kernels import loading, making
        making._HELPER = making._HELPER.partition("from tape")[0] + "time.sleep(600)"
        with making.helper("compile_groups", "sliding") as process:
            print(process.pid, flush=True)
            time.sleep(600)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        process = int(parent.stdout.readline())
        try:
            assert is_alive(process)
        finally:
            parent.send_signal(signal.SIGKILL)
    assert until(lambda: not is_alive(process))


def test_the_process_does_not_see_variables_of_numba_that_it_is_not_given(monkeypatch):
    """Code that numba was told to compile without optimisation, or for debugging, would be kept for all."""
    monkeypatch.setenv("NUMBA_OPT", "0")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.setenv("ANOTHER", "3")
    printing = "print(sorted(n for n in os.environ if n.startswith(('NUMBA_', 'ANOTHER'))), {arguments!r})"
    monkeypatch.setattr(making, "_HELPER", WITHOUT_WORK + printing)
    with making.helper("build", "there", environment={"NUMBA_CPU_NAME": "generic"}) as process:
        out = process.stdout.read()
    assert out.decode() == "['ANOTHER', 'NUMBA_CPU_NAME'] ('there',)\n"


@pytest.mark.parametrize("executable", ["", None, "/usr/bin/blender", "/nowhere/python3"])
def test_where_python_is_embedded_its_own_interpreter_is_found(monkeypatch, tmp_path, executable):
    monkeypatch.setattr(sys, "executable", executable)
    found = making._python()
    assert found.name.startswith("python")
    assert Path(sys.exec_prefix) in found.parents
    monkeypatch.setattr(sys, "exec_prefix", str(tmp_path))
    with pytest.raises(OSError, match="tape warm-up"):
        making._python()


def test_what_is_sent_is_received_in_order(tmp_path):
    groups = {"a": {"x": ("y", b"\n\n{")}, "b c": {"z": ("w", bytes(3000)), "v": ("u", b"code")}}
    with (tmp_path / "stream").open("wb") as stream:
        for name, objects in groups.items():
            sent(stream, name, objects)
    with (tmp_path / "stream").open("rb") as stream:
        assert list(received(stream)) == list(groups.items())


# ---- functions of Python's interface ---------------------------------------------------------------


def test_a_function_of_machine_code_is_made_once_and_called_by_python():
    native = loading.native("eager")
    sum_rows = native.as_python("sum_rows d")
    assert sum_rows is native.as_python("sum_rows d")
    assert sum_rows.__name__ == "sum_rows d"
    out = np.empty(2)
    assert sum_rows(np.arange(6.0).reshape(3, 2), out) == 0.0
    np.testing.assert_array_equal(out, [6, 9])


def test_a_function_is_all_that_is_left_of_its_code():
    """At exit Python drops objects in any order."""
    script = """
import gc
from tape.kernels import loading
native = loading.native("eager")
functions = [native.as_python(name) for name in native.addresses]
loading._loaded.clear()
del native
gc.collect()
filling = [bytearray(24 + 8 * k) for k in range(2000)]  # where the definitions were
names = [function.__name__ for function in functions]
del functions
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_code_that_is_loaded_twice_has_other_addresses(work):
    first, second = Native(work.objects), Native(work.objects)
    assert set(first.addresses) == set(second.addresses)
    assert first.addresses != second.addresses
