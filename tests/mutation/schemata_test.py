# SPDX-License-Identifier: MIT
"""Each mutant of a small function, built once and chosen at run time, gives another result; without a choice the result is that
of the original. What a macro expands to, array sizes, case labels and static tables stay as they are."""

import os
import pathlib
import subprocess
import sys
import tempfile

SAMPLE = """
#include <assert.h>
#include <stdio.h>
#define LIMIT 3
static int sum;
static void add(int n) { sum += n; }
int main(void)
{
	static const int table[] = { 1, 2 };
	int more[2] = { table[0], 0 };
	assert(sum == 0);
	for (int i = 5; i < 5 + LIMIT; i++) {
		if (i == LIMIT + 3)
			continue;
		add(more[0]);
	}
	switch (sum) {
	case 2: sum *= 10; break;
	default: sum = 77;
	}
	if (sum > 20)
		sum--;
	printf("%d\\n", sum);
}
"""
# several places with different results
ANY = object()
# kind and place: the result with this fault
EXPECTED = {
    ("statement", "sum += n;"): "76", ("constant", "0"): ANY, ("constant", "5"): "76", ("boundary", "i < 5 + LIMIT"): "76",
    ("negate", "i < 5 + LIMIT"): "76", ("negate", "i == LIMIT + 3"): "76", ("constant", "3"): "20", ("jump", "continue;"): "76",
    ("call", "add(more[0]);"): "76", ("statement", "sum *= 10;"): "2", ("constant", "10"): "18", ("jump", "break;"): "76",
    ("statement", "sum = 77;"): "20", ("constant", "77"): "20", ("boundary", "sum > 20"): "19", ("negate", "sum > 20"): "19",
    ("constant", "20"): "19", ("statement", "sum--;"): "20", ("call", 'printf("%d\\n", sum);'): "",
}

def main():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    try:
        import schemata
        schemata.cindex.Index.create()
    except (ImportError, AttributeError, OSError) as why:
        print(f"skipped: python3-clang: {why}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "sample.c"
        path.write_text(SAMPLE)
        source = schemata.Source(path, "sample.c", schemata.arguments_of([]))
        mutants = list(enumerate(source.mutants()))
        header = pathlib.Path(__file__).resolve().parent / "switch.h"
        changed, program = pathlib.Path(folder) / "changed.c", pathlib.Path(folder) / "changed"
        changed.write_bytes(f'#include "{header}"\n'.encode() + schemata.rewrite(source.data, mutants))
        subprocess.run(["cc", "-w", "-D_GNU_SOURCE", "-o", program, changed], check=True)
        outputs = {number: output(program, number) for number, _ in [(-1, None), *mutants]}
    wrong = [] if outputs[-1] == "20" else [f"without a fault: {outputs[-1]}"]
    for number, mutant in mutants:
        key = mutant.kind, mutant.place
        if key not in EXPECTED:
            wrong.append(f"unexpected: {key}")
        elif EXPECTED[key] not in (ANY, outputs[number]):
            wrong.append(f"{key}: {outputs[number]}, not {EXPECTED[key]}")
    wrong += [f"missing: {key}" for key in EXPECTED if key not in {(m.kind, m.place) for _, m in mutants}]
    print("\n".join(wrong) or f"{len(mutants)} mutants")
    return 1 if wrong else 0


def output(program, number):
    done = subprocess.run([program], env=os.environ | {"MUTANT": str(number)}, capture_output=True, text=True, check=False, timeout=20)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
