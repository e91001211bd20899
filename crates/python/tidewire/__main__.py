"""Command of this package: ``python -m tidewire ARGUMENTS`` runs the program ``tidewire`` that the wheel has installed."""

import importlib.metadata
import os
import sys


def _program() -> str | None:
    """Path of the program, or None if the wheel has none, as one for macOS or Windows."""
    for file in importlib.metadata.files("tidewire") or ():
        if file.name == "tidewire" and file.parent.name == "bin":
            return str(file.locate())
    return None


def main() -> int:
    program = _program()
    if program is None:
        print(
            "error: this package of tidewire has no command, only the module for Python\n"
            "  fix: install a wheel of a release for Linux, or build the command with cargo",
            file=sys.stderr,
        )
        return 2
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
