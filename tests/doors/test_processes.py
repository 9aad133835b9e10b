#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fork, spawn, exec and sudden death under the library: the same output and exit codes as without it, no hang, and
whole traces whose counts are those of the process that wrote them."""
import os
import re
import shutil
import signal
import subprocess
import time

import e2e

SETTINGS = {"SHAPES": "24x64", "SAMPLE": "all", "MEM_MB": "16", "HEADROOM_MB": "0", "ROWS": "1"}


def environment(traces, library=e2e.LIBRARY, **settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MHCSHADOW_")}
    env.update(SIMCUDA_QUIET="1", LD_PRELOAD=library, MHCSHADOW_DIR=traces, MHCSHADOW_BUDGET="0")
    env.update({f"MHCSHADOW_{name}": value for name, value in {**SETTINGS, **settings}.items()})
    return env


def counts(traces, killed=False):
    """What each trace counted, by the file's name; every file must be whole, but for what a kill may have torn off."""
    result = {}
    for file in e2e.trace_files(traces):
        with e2e.scratch() as alone:
            shutil.copy(file, alone)
            e2e.expect_whole(alone, f"  {os.path.basename(file)}", killed)
            _, facts = e2e.dump(alone)
            last = [f["counters"] for f in facts if "counters" in f]
            result[os.path.basename(file)] = last[-1] if last else {}
    return result


def adds_up(count):
    return count["matched"] == count["sampled"] + count["dropped"] + count["captured"] + count["failed"]


def same_as_without(what, arguments, traces, **settings):
    plain = e2e.client(arguments, check=False)
    run = e2e.client(arguments, traces, check=False, **{**SETTINGS, **settings})
    # Parent and child print as they come.
    same_output = sorted(run.stdout.splitlines()) == sorted(plain.stdout.splitlines())
    e2e.expect(same_output and run.returncode == plain.returncode,
               f"{what}: the same output and exit code")
    e2e.expect("simcuda:" not in run.stderr, f"{what}: no fault {run.stderr}")
    return run


def a_fork_before_any_cuda_leaves_two_traces():
    with e2e.scratch() as traces:
        same_as_without("fork before", ["fork-before"], traces)
        seen = counts(traces)
        e2e.expect([count["seen"] for count in seen.values()] == [5, 5] and all(map(adds_up, seen.values())),
                   f"fork before: five calls each: {seen}")


def a_fork_after_cuda_leaves_the_parents_trace_alone():
    for how in ["exit", "_exit", "exec"]:
        with e2e.scratch() as traces:
            same_as_without(f"fork after, {how}", ["fork-after", how], traces)
            seen = counts(traces)
            parents = [count for count in seen.values() if count.get("seen") == 10]
            e2e.expect(len(parents) == 1 and adds_up(parents[0]),
                       f"fork after, {how}: the parent counts its ten calls: {seen}")
            others = [count for count in seen.values() if count.get("seen") != 10]
            e2e.expect(all(count.get("seen", 3) == 3 for count in others),
                       f"fork after, {how}: the child counts its own: {others}")


def a_vfork_is_not_noticed():
    with e2e.scratch() as traces:
        same_as_without("vfork", ["vfork"], traces)
        seen = counts(traces)
        e2e.expect([count["seen"] for count in seen.values()] == [10], f"vfork: one trace: {seen}")


def a_spawned_child_has_a_trace_of_its_own():
    with e2e.scratch() as traces:
        same_as_without("spawn", ["spawn"], traces)
        seen = counts(traces)
        e2e.expect(sorted(count["seen"] for count in seen.values()) == [3, 5], f"spawn: two traces: {seen}")


def an_exec_storm_leaves_whole_traces():
    with e2e.scratch() as traces:
        same_as_without("exec", ["exec", "6"], traces)
        seen = counts(traces)
        # An exec is a sudden end; the last program ends in order.
        e2e.expect(2 in [count.get("seen") for count in seen.values()],
                   f"exec: the last one's trace is complete: {seen}")


def an_exec_inherits_no_descriptor():
    with e2e.scratch() as traces:
        run = same_as_without("descriptors", ["fds"], traces)
        e2e.expect("inherited" not in run.stdout, f"descriptors: none is inherited: {run.stdout}")
        e2e.expect(len(e2e.trace_files(traces)) == 1, "descriptors: a trace was open at the exec")


def start(mode, traces, **settings):
    process = subprocess.Popen([e2e.CLIENT, mode], env=environment(traces, **settings), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while "ready" not in process.stdout.readline():
        if process.poll() is not None:
            break
    return process


def end(process, what):
    """(exit code, stderr), within what a server's supervisor would wait."""
    begin = time.monotonic()
    try:
        _, stderr = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        e2e.expect(False, f"{what}: hangs")
        return None, ""
    e2e.expect(True, f"{what}: ended after {time.monotonic() - begin:.1f} s")
    return process.returncode, stderr


def a_killed_process_leaves_a_whole_trace():
    for delay in [0, 0.3]:
        with e2e.scratch() as traces:
            process = start("loop", traces)
            time.sleep(delay)  # not waited for: any moment will do
            process.kill()
            code, _ = end(process, "SIGKILL")
            e2e.expect(code == -signal.SIGKILL, f"SIGKILL: {code}")
            counts(traces, killed=True)


def what_was_flushed_before_a_kill_is_there():
    with e2e.scratch() as traces:
        process = start("loop", traces)
        deadline = time.monotonic() + 30
        while not e2e.dump(traces)[0] and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill()
        end(process, "SIGKILL after a flush")
        rows, _ = e2e.dump(traces)
        e2e.expect(len(rows) > 0, f"SIGKILL after a flush: {len(rows)} rows are there")
        (count,) = counts(traces, killed=True).values()
        e2e.expect(count["seen"] > 0 and adds_up(count), f"SIGKILL after a flush: and counters: {count}")


def exit_from_a_signal_handler_keeps_its_code():
    for delay in [0, 0.11, 0.23]:
        with e2e.scratch() as traces:
            process = start("signal", traces)
            time.sleep(delay)
            process.terminate()
            code, stderr = end(process, "exit from a signal handler")
            e2e.expect(code == 3, f"exit from a signal handler: status {code} {stderr}")
            counts(traces)


def exit_with_threads_in_the_middle_of_calls_keeps_its_code():
    with e2e.scratch() as traces:
        process = subprocess.Popen([e2e.CLIENT, "threads"], env=environment(traces), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        code, stderr = end(process, "exit among threads")
        e2e.expect(code == 3, f"exit among threads: status {code} {stderr}")
        counts(traces)


def the_library_may_be_replaced_on_disk():
    with e2e.scratch() as traces, e2e.scratch() as place:
        library = os.path.join(place, "libmhcshadow.so")
        shutil.copy(e2e.LIBRARY, library)
        process = subprocess.Popen([e2e.CLIENT, "signal"], env=environment(traces, library), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while "ready" not in process.stdout.readline():
            pass
        with open(library + ".new", "wb") as other:
            other.write(b"another file\n" * 1000)
        os.rename(library + ".new", library)
        for _ in range(20):
            process.stdout.readline()
        process.terminate()
        code, stderr = end(process, "replaced library")
        e2e.expect(code == 3 and not re.search("Segmentation|simcuda:", stderr),
                   f"replaced library: status {code} {stderr}")
        e2e.expect(len(counts(traces)) == 1, "replaced library: one trace")


def a_relative_path_is_lost_with_the_directory_and_harms_nothing():
    with e2e.scratch() as traces:
        env = environment(traces, "./" + os.path.basename(e2e.LIBRARY))
        run = subprocess.run(["/bin/sh", "-c", "cd / && sh -c 'exit 5'"], cwd=os.path.dirname(e2e.LIBRARY), env=env,
                             text=True, capture_output=True, check=False)
        e2e.expect(run.returncode == 5 and run.stdout == "", f"relative path: status {run.returncode}")
        e2e.expect("cannot be preloaded" in run.stderr and "mhcshadow:" not in run.stderr,
                   f"relative path: ld.so says so: {run.stderr}")


def run(command, env):
    return subprocess.run(command, env=env, text=True, capture_output=True, timeout=120, check=False)


def preloading(libraries, traces):
    env = environment(traces)
    if libraries:
        env["LD_PRELOAD"] = ":".join(libraries)
    else:
        del env["LD_PRELOAD"]
    return env


def a_plugin_that_brought_cublas_may_be_closed_under_us():
    command = [os.environ["MHCSHADOW_TEST_PLUGIN_HOST"], os.environ["MHCSHADOW_TEST_PLUGIN"]]
    with e2e.scratch() as traces:
        plain = run(command, preloading([], traces))
        shadowed = run(command, preloading([e2e.LIBRARY], traces))
        e2e.expect(plain.returncode == 0 and (shadowed.returncode, shadowed.stdout) == (0, plain.stdout),
                   f"closed plugin: the same output {shadowed.stderr}")
        (count,) = counts(traces).values()
        e2e.expect(count["seen"] == count["matched"] == 30 and adds_up(count),
                   f"closed plugin: all are counted: {count}")
        e2e.expect(count["failed"] == 0, "closed plugin: those in flight are not lost")


def another_preloaded_library_before_or_behind_us_sees_what_it_saw_without_us():
    saver = os.environ["MHCSHADOW_TEST_MEMORY_SAVER"]
    command = [e2e.CLIENT, "work", "5"]
    for order in [[saver, e2e.LIBRARY], [e2e.LIBRARY, saver]]:
        with e2e.scratch() as traces:
            plain = run(command, preloading([saver], traces))
            shadowed = run(command, preloading(order, traces))
            e2e.expect("saver: " in plain.stdout and (shadowed.returncode, shadowed.stdout) == (0, plain.stdout),
                       f"another library: the same output {shadowed.stdout} {shadowed.stderr}")
            (count,) = counts(traces).values()
            e2e.expect(count["matched"] == 5, f"another library: all are counted: {count}")


e2e.run_each([
    a_fork_before_any_cuda_leaves_two_traces,
    a_fork_after_cuda_leaves_the_parents_trace_alone,
    a_vfork_is_not_noticed,
    a_spawned_child_has_a_trace_of_its_own,
    an_exec_storm_leaves_whole_traces,
    an_exec_inherits_no_descriptor,
    a_killed_process_leaves_a_whole_trace,
    what_was_flushed_before_a_kill_is_there,
    exit_from_a_signal_handler_keeps_its_code,
    exit_with_threads_in_the_middle_of_calls_keeps_its_code,
    the_library_may_be_replaced_on_disk,
    a_relative_path_is_lost_with_the_directory_and_harms_nothing,
    a_plugin_that_brought_cublas_may_be_closed_under_us,
    another_preloaded_library_before_or_behind_us_sees_what_it_saw_without_us,
])
e2e.finish()
