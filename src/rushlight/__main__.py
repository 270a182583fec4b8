"""The `rushlight` command."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys


def main(argv: list[str] | None = None) -> int:
    """Run the command line; gives the exit status."""
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["run"] and argv[1:2] not in ([], ["-h"], ["--help"]):  # all that follows is the program's
        return run_program(argv[1:])
    parser = argparse.ArgumentParser(
        prog="rushlight", description="Rushlight, a small and fast deep learning framework."
    )
    parser.add_argument("--version", action="version", version=f"rushlight {_version('rushlight')}")
    commands = parser.add_subparsers(dest="command", metavar="command")

    demo = commands.add_parser(
        "demo",
        help="train a convolutional network to read handwritten digits",
        description="Trains a small convolutional network and writes a checkpoint, curves.png and predictions.png; "
        "with --safetensors the weights by themselves too, for programs in other languages. "
        "Ctrl-C saves at the next batch; --resume carries on from there to the same result.",
    )
    demo.add_argument("--epochs", type=_positive, metavar="N", help="passes over the training images (10)")
    demo.add_argument("--batch-size", type=_positive, metavar="N", help="images per step (64)")
    demo.add_argument("--device", default="cpu", help="where to train (cpu)")
    demo.add_argument("--seed", type=int, metavar="N", help="seed of every random number (0)")
    demo.add_argument("--data", choices=("digits", "mnist", "fashion"), help="digits comes with the package (digits)")
    demo.add_argument("--data-dir", metavar="DIR", help="where mnist and fashion are kept (~/.cache/rushlight)")
    demo.add_argument("--out", default="rushlight-demo", metavar="DIR", help="where to write (./rushlight-demo)")
    demo.add_argument("--resume", action="store_true", help="carry on from the checkpoint in --out")
    demo.add_argument(
        "--safetensors",
        action="store_true",
        help="write the trained weights to model.safetensors too; with --resume those of a run that is done",
    )

    commands.add_parser(
        "run",
        help="run a program written for PyTorch",
        usage="rushlight run [-m] PROGRAM [ARGUMENT ...]",
        description="Runs a program as python would, with Rushlight in place of torch and torchvision, in processes "
        "that it starts too. PROGRAM is a file or, after -m, a module.",
    )
    commands.add_parser("info", help="print versions and hardware, for a bug report")

    args = parser.parse_args(argv)
    if args.command == "demo":
        from .demo import run

        return run(args)
    if args.command == "info":
        print(info())
        return 0
    if args.command == "run":
        parser.error("run needs a program, such as script.py or -m package.module")
    parser.print_help()
    return 0


def run_program(arguments: list[str]) -> int:
    """Becomes ``python ARGUMENTS...`` in which ``import torch`` gives Rushlight."""
    from subprocess import _args_from_interpreter_flags  # type: ignore[attr-defined]

    from .compat import install

    if sys.flags.ignore_environment or sys.flags.no_site:
        sys.exit("rushlight run: Python's options -E, -I and -S hide what tells the program's Python of Rushlight")
    install()
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *_args_from_interpreter_flags(), *arguments])


def info() -> str:
    """Versions, instruction set and threads: what a bug report needs."""
    import rushlight

    lines = [("rushlight", f"{_version('rushlight')} ({os.path.dirname(rushlight.__file__)})")]
    lines.append(("python", f"{platform.python_version()} ({sys.executable})"))
    lines.append(("platform", platform.platform()))
    lines.append(("processor", _processor()))
    lines.append(("threads", f"{rushlight.get_num_threads()} of {os.cpu_count()} processors"))
    for package in ("numpy", "pillow", "matplotlib", "tqdm", "torch"):
        lines.append((package, _version(package)))
    return "\n".join(f"{name + ':':18}{value}" for name, value in lines)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a whole number above zero, got {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
