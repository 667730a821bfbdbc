"""The checks themselves: each kind of offence is found in a small tree that has it, and a clean tree passes."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class Check(unittest.TestCase):
    def run_check(self, check, files):
        """Exit code and output of scripts/check_<check>.py on a tree with these files."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"include/tangere/base.h": "", "src/base/a.c": "", **files}.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            command = [sys.executable, "-B", SCRIPTS / f"check_{check}.py", folder]
            result = subprocess.run(command, check=False, capture_output=True, text=True)
        assert result.stderr == ""
        return result.returncode, result.stdout

    def accept(self, check, files):
        code, output = self.run_check(check, files)
        assert code == 0, output

    def refuse(self, check, files, expected):
        code, output = self.run_check(check, files)
        assert code == 1, output
        assert expected in output


class Layers(Check):
    def test_downward_and_sideways_within_a_stage(self):
        self.accept(
            "layers",
            {
                "src/step/step.c": '#include "solve/cone.h"\n#include "step/step.h"\n#include "tangere/base.h"\n',
                "src/model/model.h": '#include "math/ltl.h"\n#include <stdio.h>\n',
            },
        )

    def test_upward(self):
        files = {"src/math/quat.c": '\n#include "model/model.h"\n'}
        self.refuse("layers", files, "src/math/quat.c:2: math may not include model")

    def test_between_siblings(self):
        files = {"src/dynamics/a.c": '#include "collision/gjk.h"\n'}
        self.refuse("layers", files, "dynamics may not include collision")

    def test_upward_through_a_public_header(self):
        files = {"src/math/a.c": '#include "tangere/model.h"\n', "include/tangere/model.h": ""}
        self.refuse("layers", files, "math may not include model")

    def test_upward_through_the_umbrella(self):
        files = {
            "src/math/a.c": '#include "tangere/tangere.h"\n',
            "include/tangere/tangere.h": '#include "tangere/step.h"\n',
            "include/tangere/step.h": "",
        }
        self.refuse("layers", files, "math may not include step")

    def test_upward_between_public_headers(self):
        files = {"include/tangere/base.h": '#include "tangere/model.h"\n', "include/tangere/model.h": ""}
        self.refuse("layers", files, "include/tangere/base.h:1: base may not include model")

    def test_relative_path(self):
        self.refuse("layers", {"src/base/b.c": '#include "../math/a.h"\n'}, "is neither")

    def test_unknown_folder(self):
        self.refuse("layers", {"src/misc/a.c": ""}, "src/misc is not a stage")

    def test_an_include_in_a_comment_does_not_count(self):
        self.accept("layers", {"src/base/b.c": '/* #include "model/model.h" is above us */\n'})

    def test_siblings_of_the_upper_stages(self):
        self.refuse("layers", {"src/read/mjcf/a.c": '#include "dynamics/work.h"\n'}, "read may not include dynamics")
        self.refuse("layers", {"src/batch/a.c": '#include "check/walk.h"\n'}, "batch may not include check")
        self.accept("layers", {"src/check/a.c": '#include "read/mjcf/mjcf.h"\n'})

    def test_the_solver_knows_no_model(self):
        self.refuse("layers", {"src/solve/a.c": '#include "model/model.h"\n'}, "solve may not include model")
        self.accept("layers", {"src/cartesian/a.c": '#include "solve/cone.h"\n#include "math/qr.h"\n'})

    def test_an_upward_prototype(self):
        for prototype in (
            "int tg_walk(int x);",
            "tg_status\ntg_walk(int x);",
            "extern double *tg_walk(void (*f)(int));",
        ):
            files = {
                "src/math/a.c": f"\n{prototype}\n",
                "src/step/walk.c": "int tg_walk(int x)\n{\n    return x;\n}\n",
            }
            self.refuse("layers", files, "math may not declare tg_walk of step")

    def test_an_upward_prototype_in_a_public_header(self):
        files = {
            "include/tangere/algebra.h": "TG_API int tg_f(void);\n",
            "src/model/f.c": "int tg_f(void) { return 0; }\n",
        }
        self.refuse("layers", files, "math may not declare tg_f of model")

    def test_an_upward_struct(self):
        higher = {"src/contact/rows.h": "struct tg_rows\n{\n    int n;\n};\n"}
        for line in ("struct tg_rows;", "typedef struct tg_rows tg_rows;", "void tg_f(struct tg_rows *r);"):
            files = {"src/model/a.h": line + "\n", **higher}
            self.refuse("layers", files, "src/model/a.h:1: model may not declare tg_rows of contact")

    def test_declarations_of_what_is_below_or_beside_in_the_stage(self):
        self.accept(
            "layers",
            {
                "src/base/pool.h": "typedef struct tg_pool tg_pool;\nvoid tg_pool_clear(tg_pool *p);\n",
                "src/base/pool.c": "struct tg_pool { int n; };\nvoid tg_pool_clear(tg_pool *p) { p->n = 0; }\n",
                "src/step/a.c": "struct tg_pool;\nvoid tg_g(void)\n{\n    tg_pool_clear(0);\n}\n",
                "src/contact/a.c": "/* struct tg_walk; int tg_g(void); */\n",
            },
        )


class Constants(Check):
    def count(self, text):
        """What is counted in one file of src/math: names, real numbers, integers."""
        code, output = self.run_check("constants", {"src/math/a.c": text})
        assert code == 0, output
        line = next(line for line in output.splitlines() if line.startswith("src/math:"))
        return tuple(int(word) for word in line.split() if word.isdigit())

    def test_numbers(self):
        assert self.count("double f(double x) { return 3 * x + 1e-3 + 0.25 + .7f + 0x10; }") == (0, 3, 2)

    def test_what_does_not_count(self):
        assert self.count("/* 3 */ v4 x3(int a1) { return 0 + 1u + 2.0 + 0.5 + 1e0; } // 7") == (0, 0, 0)
        assert self.count("const char *s = \"12\"; char c = '9';") == (0, 0, 0)

    def test_names(self):
        text = "static const double fine = 1e-7;\n#define EDGE (3 * 4)\nenum\n{\n    A,\n    B = 2,\n    C = 30\n};\n"
        assert self.count(text) == (4, 0, 0)
        assert self.count("const double *p = x;\nstatic const double table[2] = {3.5, 4};\n") == (0, 1, 1)

    def test_ceiling(self):
        self.refuse("constants", {"src/contact/a.c": "3, " * 10000}, "10000 constants: at most")


class Twins(Check):
    NEEDED = ("src/dynamics/rnea.c", "tests/dynamics/test_rnea.c", "tests/dynamics/test_rnea_deriv.c")

    def test_whole(self):
        self.accept("twins", dict.fromkeys((*self.NEEDED, "src/dynamics/rnea_deriv.c"), ""))

    def test_each_part_is_needed(self):
        for missing in self.NEEDED:
            files = dict.fromkeys((*self.NEEDED, "src/dynamics/rnea_deriv.c"), "")
            del files[missing]
            self.refuse("twins", files, f"{missing} is missing")


class Source(Check):
    def test_forbidden_calls(self):
        for call in ("printf", "fprintf", "puts", "exit", "abort", "assert", "malloc", "calloc", "realloc", "free"):
            files = {"src/math/a.c": f"\nint f(void) {{ {call}(x); }}\n"}
            self.refuse("source", files, f"src/math/a.c:2: the library may not call {call}")

    def test_harmless_look_alikes(self):
        text = """
        /* never calls malloc(n), exit(1) */
        _Static_assert(sizeof(int) == 4, "printf(x)");
        void f(char *b) { snprintf(b, 3, "abort()"); allocator->free(b, u); tg_free(0, b); }
        """
        self.accept("source", {"src/math/a.c": text})

    def test_the_allocator_is_the_one_place(self):
        text = "void *f(void) { return aligned_alloc(64, 64); }\nvoid g(void *p) { free(p); }\n"
        self.accept("source", {"src/base/arena.c": text})
        self.refuse("source", {"src/base/pool.c": text}, "may not call aligned_alloc")

    def test_the_command_may_print(self):
        self.accept("source", {"src/cli/main.c": 'int main(void) { printf("x"); exit(0); }\n'})

    def test_leftovers(self):
        for text, expected in (
            ("/* TODO: later */", "TODO in a comment"),
            ("int x; // FIXME", "FIXME in a comment"),
            ("#if 0\n#endif", "#if 0"),
            ("/* x = y + 1; */", "code in a comment"),
            ("// return 0;", "code in a comment"),
            ("// free_all(model);", "code in a comment"),
            ("/* for (int i = 0; i < n; i++) */", "code in a comment"),
        ):
            self.refuse("source", {"tests/math/test_a.c": text + "\n"}, expected)

    def test_comments_that_explain(self):
        text = """
        /* rows become columns; see section 2 */
        /* y = A x + b, where A is symmetric */
        // the bound holds for every i (not only for i = 0)
        #if defined(__clang__)
        #endif
        """
        self.accept("source", {"src/math/a.c": text})


class ApiDoc(unittest.TestCase):
    HEADER = """/* Head of the file. */
#ifndef A
#define A
/* Adds one. */
TG_API int tg_add(int x);
TG_API int tg_sub(int x); /* takes one away */

/* ---- a section ---- */
{0}
#endif
"""

    def run_generator(self, folder, *options):
        command = [sys.executable, "-B", SCRIPTS / "gen_api_doc.py", *options, folder]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    def with_header(self, extra, *runs):
        """The last run's result, and the page, for a header with these lines in its section."""
        with tempfile.TemporaryDirectory() as folder:
            header = Path(folder) / "include" / "tangere" / "base.h"
            header.parent.mkdir(parents=True)
            for lines, options in ((extra, ()), *runs):
                header.write_text(self.HEADER.replace("{0}", lines))
                result = self.run_generator(folder, *options)
            page = Path(folder) / "docs" / "api.md"
            return result, page.read_text() if page.exists() else ""

    def test_page(self):
        result, page = self.with_header("/* What it does, *twice*. */\nTG_API void tg_do(void);")
        assert result.returncode == 0, result.stderr
        assert "#### `tg_add`, `tg_sub`\n\nAdds one.\n" in page
        assert "### A section\n\n#### `tg_do`\n\nWhat it does, \\*twice\\*.\n\n```c\nvoid tg_do(void);\n```" in page

    def test_a_function_without_words(self):
        result, page = self.with_header("TG_API void tg_do(void);")
        assert result.returncode == 1
        assert "tg_do has no comment" in result.stderr
        assert page == ""

    def test_stale(self):
        lines = "/* What it does. */\nTG_API void tg_do(void);"
        result, _ = self.with_header(lines, (lines, ("--check",)))
        assert result.returncode == 0
        result, _ = self.with_header(lines, (lines.replace("do(void)", "do(int x)"), ("--check",)))
        assert result.returncode == 1
        assert "out of date" in result.stderr


if __name__ == "__main__":
    unittest.main()
