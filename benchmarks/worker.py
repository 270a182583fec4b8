"""A process that holds one framework and times the statements of rows for the process that asks.

Requests and answers are JSON, a line each: {"prepare": row, "threads": n}, then {"repeat": n} as often as wished.
"""

import importlib
import json
import subprocess
import sys
import timeit

from .rows import ROWS

COLD = "import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"


def serve(name: str) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a framework prints stays out of the answers
    T = timer = None
    for line in sys.stdin:
        request = json.loads(line)
        if "prepare" in request:
            row = ROWS[request["prepare"]]
            if row.cold:
                timer = ColdTimer(f"import {name}")
                answer = {}
            else:
                T = T or importlib.import_module(name)
                T.set_num_threads(request["threads"])
                T.manual_seed(0)
                statement, names = row.prepare(T)
                timer = timeit.Timer(statement, setup="gc.enable()", globals={**names, "gc": __import__("gc")})
                answer = {"version": T.__version__}
        else:
            answer = {"seconds": timer.timeit(request["repeat"])}
        print(json.dumps(answer), file=answers, flush=True)


class ColdTimer:
    """Times a statement in new interpreters, from after their own start."""

    def __init__(self, statement: str):
        self.code = COLD.format(statement=statement)

    def timeit(self, repeat: int) -> float:
        return sum(
            float(subprocess.run([sys.executable, "-c", self.code], capture_output=True, text=True, check=True).stdout)
            for _ in range(repeat)
        )


if __name__ == "__main__":
    serve(sys.argv[1])
