# SPDX-License-Identifier: MIT
"""`rxe_dm report`: makes one HTML file from a capture or from the folder of a recorded run."""

import argparse
import os
import sys

import page
import pcapng
import record

COMPLETION = "--help\n--output FILE\n-o FILE"


def arguments(argv):
    parser = argparse.ArgumentParser(prog="rxe_dm report", description="make one HTML file from a capture or from a recorded run",
                                     allow_abbrev=False)
    parser.add_argument("source", metavar="CAPTURE.pcapng|DIR", help="a file of 'rxe_dm capture', or a folder of 'rxe_dm run --record'")
    parser.add_argument("--output", "-o", metavar="FILE", help="the HTML file, - for standard output; default the source's name "
                                                                 "with .html, DIR/report.html for a folder")
    return parser.parse_args(argv)


def default_output(source):
    if os.path.isdir(source):
        return os.path.join(source, "report.html")
    return os.path.splitext(source)[0] + ".html"


def refuse(why):
    print(f"rxe_dm: no report: {why}", file=sys.stderr)
    return 1


def main(argv):
    """argv: the path of the rxe_dm command, then its arguments."""
    argv = argv[1:]
    if argv == ["--completion"]:
        print(COMPLETION)
        return 0
    given = arguments(argv)
    try:
        text = page.html_of(record.load(given.source))
        if given.output == "-":
            sys.stdout.write(text)
            return 0
        output = given.output or default_output(given.source)
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        return refuse(f"{error.filename}: {error.strerror}")
    except pcapng.NotACapture as error:
        return refuse(error)
    print(output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
