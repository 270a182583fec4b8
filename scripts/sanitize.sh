#!/usr/bin/env bash
# Builds the engine with sanitizers, beside the usual build, and runs tests on it:
#
#   scripts/sanitize.sh address,undefined            # the whole suite but tests/oracle
#   scripts/sanitize.sh thread                       # the tests that run threads
#   scripts/sanitize.sh thread tests/test_random.py  # those named; all that pytest takes may follow
#
# Needs the [test] and build requirements in the environment that is active; nothing is installed into it.
set -euo pipefail
kind=${1:?which sanitizers? address,undefined or thread}
shift
cd "$(dirname "$0")/.."
here=$PWD build=$PWD/build/sanitize-${kind//,/-}

[[ $kind == thread ]] && portable=ON # races are the same with any instruction set
pip install --quiet --no-build-isolation --no-deps --upgrade --target "$build/site" . \
  -C build-dir="$build/objects" \
  -C cmake.define.RUSHLIGHT_SANITIZE="$kind" \
  -C cmake.define.RUSHLIGHT_WERROR=OFF \
  -C cmake.define.RUSHLIGHT_PORTABLE_ONLY=${portable:-OFF} \
  -C install.strip=false
# An editable install would come before PYTHONPATH, and the usual build would be tested.
cat >"$build/site/sitecustomize.py" <<'EOF'
import sys
sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "ScikitBuildRedirectingFinder"]
EOF

case $kind in
  thread)
    runtime=libtsan.so
    tests=(tests/test_threads.py tests/test_autograd.py tests/test_autograd_memory.py tests/test_function.py
      tests/test_memory.py tests/test_random.py tests/optim)
    # By themselves, with one thread for the engine: the run-time library gives up ("dup thread with used id") on a
    # child that starts threads of its own, as a worker does, where its parent has some.
    loader=(tests/data)
    ;;
  *)
    runtime=libasan.so
    tests=(tests --ignore=tests/oracle) # PyTorch is not instrumented, and what it allocates would be half of the work
    ;;
esac

# Left out, as they look at what a sanitizer changes:
without=(
  --deselect=tests/test_base.py                                           # compiles programs; runs by itself, see below
  --deselect=tests/test_cpp_example.py                                    # compiles programs, without sanitizers
  --deselect=tests/test_packaging.py::test_size                           # of the usual build
  --deselect=tests/test_import.py::test_import_is_quick                   # time
  --deselect=tests/test_notes.py::test_section                            # counts memory; the allocator keeps none then
  --deselect=tests/test_autograd_memory.py::test_memory_is_steady         # freed memory is kept, to catch its use
  '--deselect=tests/data/test_workers.py::test_a_worker_that_dies[crash]' # of a signal that the sanitizer takes
  --deselect=tests/compat/test_run.py::test_the_systems_sitecustomize_runs_too # this script has one of its own, above
)

compiler=${CXX:-c++}
# The interpreter is not instrumented, so the run-time library goes first; libstdc++ with it, or exceptions are missed.
preload=$("$compiler" -print-file-name=$runtime):$("$compiler" -print-file-name=libstdc++.so.6)

# Python itself keeps memory to its end: leaks are looked for by tests of memory, not here.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# The data loader's workers, and some tests, fork after threads ran.
export TSAN_OPTIONS=halt_on_error=1:die_after_fork=0:suppressions=$here/scripts/tsan.supp:ignore_noninstrumented_modules=1

run() { # Reports are written by C++: captured, they would be lost when they end the process.
  LD_PRELOAD=$preload PYTHONMALLOC=malloc PYTHONPATH=$build/site${PYTHONPATH:+:$PYTHONPATH} \
    python -m pytest -p no:cacheprovider -s "$@"
}
if (($#)); then
  run "$@"
else
  # The allocator and the thread pool by themselves; the test compiles them with the same sanitizers.
  python -m pytest -p no:cacheprovider -m slow "tests/test_base.py::test_base_under_strain[$kind]"
  run "${tests[@]}" "${without[@]}"
  [[ ! -v loader ]] || RUSHLIGHT_NUM_THREADS=1 run "${loader[@]}" "${without[@]}"
fi
