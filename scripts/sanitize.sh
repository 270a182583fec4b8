#!/usr/bin/env bash
# Builds the engine with sanitizers, beside the usual build, and runs tests on it:
#
#   scripts/sanitize.sh address,undefined            # the whole suite
#   scripts/sanitize.sh thread tests/test_loader.py  # or what is named
#
# Needs the [test] and build requirements in the environment that is active; nothing is installed into it.
set -euo pipefail
kind=${1:?which sanitizers? address,undefined or thread}
shift
cd "$(dirname "$0")/.."
here=$PWD build=$PWD/build/sanitize-${kind//,/-}

pip install --quiet --no-deps --upgrade --target "$build/site" . \
  -C build-dir="$build/objects" \
  -C cmake.define.RUSHLIGHT_SANITIZE="$kind" \
  -C cmake.define.RUSHLIGHT_WERROR=OFF \
  -C install.strip=false

case $kind in
  thread) runtime=libtsan.so ;;
  *) runtime=libasan.so ;;
esac
compiler=${CXX:-c++}
# The interpreter is not instrumented, so the run-time library goes first; libstdc++ with it, or exceptions are missed.
preload=$("$compiler" -print-file-name=$runtime):$("$compiler" -print-file-name=libstdc++.so.6)

# Python itself keeps memory to its end: leaks are looked for by tests of memory, not here.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:suppressions=$here/scripts/tsan.supp:ignore_noninstrumented_modules=1
export PYTHONMALLOC=malloc PYTHONPATH=$build/site${PYTHONPATH:+:$PYTHONPATH}
LD_PRELOAD=$preload exec python -m pytest -p no:cacheprovider "$@"
