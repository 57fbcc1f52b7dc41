"""Each bug strategy on small texts: every result that it can give, to the character, where one place is changed."""

from __future__ import annotations

import random
import textwrap

import pytest
from attrs import evolve

from camg_coding.mutate import STRATEGIES, entities

NAMES = """
    func_pm_class_rm_base func_pm_class_rm_funcs func_pm_class_shuffle_funcs func_pm_ctrl_invert_if
    func_pm_ctrl_shuffle func_pm_remove_assign func_pm_remove_cond func_pm_remove_loop func_pm_remove_wrapper
    func_pm_op_break_chains func_pm_op_change_const func_pm_op_change func_pm_op_swap
"""


def outcomes(name: str, source: str, qualname: str | None = None) -> set[str]:
    """Every text that the strategy gives over many seeds, one place changed; the first entity unless one is named."""
    strategy = evolve(STRATEGIES[f"func_pm_{name}"], most=1)
    entity = next(e for e in entities("m.py", source) if qualname in (None, e.qualname) and e.kind in strategy.kinds)
    found = {strategy.mutate(source, entity, random.Random(seed)) for seed in range(60)}
    return {text for text in found if text is not None}


def expressions(name: str, expression: str) -> set[str]:
    """The outcomes for a function that returns the expression, likewise as expressions."""
    head = "def f(*args):\n    return "
    return {text.removeprefix(head).removesuffix("\n") for text in outcomes(name, f"{head}{expression}\n")}


def bodies(name: str, body: str) -> set[str]:
    """The outcomes for a function of this body, as bodies without indentation."""
    head = "def f(*args):\n"
    texts = outcomes(name, head + textwrap.indent(textwrap.dedent(body), "    "))
    assert all(text.startswith(head) for text in texts)
    return {textwrap.dedent(text.removeprefix(head)) for text in texts}


def test_the_thirteen_names_in_order() -> None:
    assert list(STRATEGIES) == NAMES.split()
    assert all(strategy.name == name and strategy.summary for name, strategy in STRATEGIES.items())


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a + b", {"a - b"}),
        ("a  *  b  # why", {"a  /  b  # why", "a  //  b  # why", "a  %  b  # why"}),
        ("(a)<(b)", {"(a)<=(b)", "(a)>(b)", "(a)>=(b)"}),
        ("a == b", {"a != b"}),
        ("a not in b", {"a in b"}),
        ("a is  not b", {"a is b"}),
        ("a in(b)", {"a not in(b)"}),
        ("a and b and c", {"a or b and c", "a and b or c"}),
        ("a & b", {"a | b", "a ^ b"}),
        ("a >> b", {"a << b"}),
        ("a < b == c", {"a <= b == c", "a > b == c", "a >= b == c", "a < b != c"}),
        ("'ä€𝔘', a + 'é'[b - c:]", {"'ä€𝔘', a + 'é'[b + c:]", "'ä€𝔘', a - 'é'[b - c:]"}),
        ("'%s' % a", set()),
        ("'x' + a + b", set()),
        ("f'{a + b}'", set()),
        ("a ** b @ c", set()),
        ("lambda x: x - 1", {"lambda x: x + 1"}),
        ("[x for x in y if x > 0]", {f"[x for x in y if x {op} 0]" for op in ("<", "<=", ">=")}),
        ("(y := a + b)", {"(y := a - b)"}),
    ],
)
def test_change_operator(expression: str, expected: set[str]) -> None:
    assert expressions("op_change", expression) == expected


def test_change_operator_leaves_annotations_and_nested_functions_alone() -> None:
    source = "def f(a: int | None = 1 - 2) -> int | str:\n    x: int | None = a\n    def g():\n        return a + x\n"
    assert outcomes("op_change", source) == {source.replace("1 - 2", "1 + 2")}
    assert outcomes("op_change", source, "f.<locals>.g") == {source.replace("a + x", "a - x")}


def test_change_operator_of_an_augmented_assignment() -> None:
    assert bodies("op_change", "x  +=  1\n") == {"x  -=  1\n"}
    assert bodies("op_change", "x **= 1\n") == set()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a - b", {"b - a"}),
        ("a - b * c", {"b * c - a"}),
        ("(a - b) - c", {"(b - a) - c", "c - (a - b)"}),
        ("a - b - c", {"b - a - c", "c - (a - b)"}),
        ("a - (b + c)", {"a - (c + b)", "(b + c) - a"}),
        ("-a ** b", {"-b ** a"}),
        ("a ** -b", {"(-b) ** a"}),
        ("a < b", {"b < a"}),
        ("a in b", {"b in a"}),
        ("a and b", {"b and a"}),
        ("a or b and c", {"b and c or a", "a or c and b"}),
        ("not a and b", {"b and not a"}),
        ("( a  # one\n      - b)", {"( b  # one\n      - a)"}),
        ("a == b", set()),
        ("a * b", set()),
    ],
)
def test_swap_operands(expression: str, expected: set[str]) -> None:
    assert expressions("op_swap", expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a + b + c", {"a + c", "b + c", "a + b"}),
        ("x * (y * z)", {"x * y", "x * z", "(y * z)"}),
        ("(-a * b) ** c", {"(-a) ** c", "b ** c", "(-a * b)"}),
        ("(a  # why\n     + b) * c", {"(a  # why\n     + b)", "a * c", "b * c"}),
        ("a + \\\n        b - c", {"a - c", "b - c", "a + \\\n        b"}),
        ("a and b and c", {"b and c", "a and c", "a and b"}),
        ("a < b <= c", {"b <= c", "a <= c", "a < b"}),
        ("a + b", set()),
        ("a and b", set()),
    ],
)
def test_break_chains(expression: str, expected: set[str]) -> None:
    assert expressions("op_break_chains", expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a + 1", {"a + 2", "a + 0"}),
        ("a - 0", {"a - 1", "a - -1"}),
        ("a[-1]", {"a[-2]"}),
        ("a[1:]", {"a[2:]", "a[0:]"}),
        ("a > 0xFf", {"a > 0x100", "a > 0xFE"}),
        ("a > 0X0f", {"a > 0X10", "a > 0X0e"}),
        ("a & 0b0001", {"a & 0b0010", "a & 0b0000"}),
        ("a == 0o17", {"a == 0o20", "a == 0o16"}),
        ("a < 1_000", {"a < 1_001", "a < 999"}),
        ("a * .5", {"a * 1.5", "a * -0.5"}),
        ("a + 1e300", set()),
        ("a + 1j", set()),
        ("a is True", set()),
        ("f(1), [2], 3", set()),
        ("'1' + a", set()),
    ],
)
def test_change_constant(expression: str, expected: set[str]) -> None:
    assert expressions("op_change_const", expression) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if a:\n    b\nelse:\n    c\n", {"if a:\n    c\nelse:\n    b\n"}),
        ("if a: b\nelse: c\n", {"if a: c\nelse: b\n"}),
        ("if a: b; c\nelse:\n  d\n", {"if a:\n  d\nelse: b; c\n"}),
        ("if a:\n    b\n# between\nelse:\n    c  # last\n", {"if a:\n    c  # last\n# between\nelse:\n    b\n"}),
        ("if a:\n    b\nelif c:\n    d\nelse:\n    e\n", {"if a:\n    b\nelif c:\n    e\nelse:\n    d\n"}),
        ("if a:\n    b\nelif c:\n    d\n", set()),
        ("if a:\n    b\n", set()),
        ("return a if b else c\n", {"return c if b else a\n"}),
        (
            "return a if b else c if d else e\n",
            {"return (c if d else e) if b else a\n", "return a if b else e if d else c\n"},
        ),
        ("return [(a) if b else lambda: c]\n", {"return [(lambda: c) if b else (a)]\n"}),
    ],
)
def test_invert_if(body: str, expected: set[str]) -> None:
    assert bodies("ctrl_invert_if", body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = 1\nb = a\n", {"b = a\na = 1\n"}),
        ('"""Doc."""\n\na = 1\n\n# of b\nb = a  # b\n', {'"""Doc."""\n\n# of b\nb = a  # b\n\na = 1\n'}),
        ("global g\ng = 1\nreturn g\n", {"global g\nreturn g\ng = 1\n"}),
        ("a = 1; b = 2\nc = a\n", {"c = a\na = 1; b = 2\n"}),
        ("a = 1\nb = 2\n", set()),
        ("if a: b(); c()\n", set()),
        (
            "for x in y:\n    if x:\n        continue\n    f(x)\n",
            {"for x in y:\n    f(x)\n    if x:\n        continue\n"},
        ),
    ],
)
def test_shuffle_statements(body: str, expected: set[str]) -> None:
    assert bodies("ctrl_shuffle", body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = 1\n\n# of b\nb = 2  # why\nreturn a\n", {"\n# of b\nb = 2  # why\nreturn a\n", "a = 1\n\nreturn a\n"}),
        ("# far\n\na = 1\nreturn\n", {"# far\n\nreturn\n"}),
        ("x += 1\n", {"pass\n"}),
        ("x = 1; y()\n", {"y()\n"}),
        ("y(); x = 1  # end\n", {"y()  # end\n"}),
        ("a(); x = 1; b()\n", {"a(); b()\n"}),
        ("if a: x = 1  # why\nb()\n", {"if a: pass\nb()\n"}),
        ("x = [\n  1,  # one\n]\ny()\n", {"y()\n"}),
        ('x = """\n  text\n"""; y()\n', {"y()\n"}),
        ("x: int\ny: int = 2\n", {"x: int\n"}),
        ("if a:\n    (b := c)\n", set()),
        ('"""Doc."""\nx = 1\n', {'"""Doc."""\n'}),
    ],
)
def test_remove_assignment(body: str, expected: set[str]) -> None:
    assert bodies("remove_assign", body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if a:\n    b\nc()\n", {"c()\n"}),
        ("if a:\n    b\n", {"pass\n"}),
        (
            "if a:\n    b\nelif c:\n    d\nelse:\n    e\nf()\n",
            {"f()\n", "if a:\n    b\nelse:\n    e\nf()\n"},
        ),
        ("if a: b\nelif c: d\n", {"pass\n", "if a: b\n"}),
        ("for x in y:\n    if x: break\n", {"for x in y:\n    pass\n"}),
        (
            "match a:\n    case 1:\n        b\n    case (2 | 3) if c:\n        d\ne()\n",
            {"match a:\n    case 1:\n        b\ne()\n", "match a:\n    case (2 | 3) if c:\n        d\ne()\n"},
        ),
    ],
)
def test_remove_conditional(body: str, expected: set[str]) -> None:
    assert bodies("remove_cond", body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for x in y:\n    z(x)\nelse:\n    w()\nreturn 1\n", {"return 1\n"}),
        ("while a: b()\n", {"pass\n"}),
        ("if a:\n    while b:\n        c()\n", {"if a:\n    pass\n"}),
        ("return [x for x in y]\n", set()),
    ],
)
def test_remove_loop(body: str, expected: set[str]) -> None:
    assert bodies("remove_loop", body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("with a as b:  # open\n    c()\n\n    # d\n    d()\ne()\n", {"c()\n\n# d\nd()\ne()\n"}),
        ("try:\n    a()\nexcept E:\n    b()\nelse:\n    c()\nfinally:\n    d()\n", {"a()\nc()\nd()\n"}),
        ("with a: b(); c()\n", {"b(); c()\n"}),
        ('with a:\n    x = """\n    kept\n    """\n    y()\n', {'x = """\n    kept\n    """\ny()\n'}),
        ("with a:\n    f(\n      1)\n", {"f(\n  1)\n"}),
        (
            "with a:\n    with b:\n        c()\n",
            {"with b:\n    c()\n", "with a:\n    c()\n"},
        ),
    ],
)
def test_remove_wrapper(body: str, expected: set[str]) -> None:
    assert bodies("remove_wrapper", body) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("class A(B):", {"class A:"}),
        ("class A( B ):", {"class A:"}),
        ("class A(B, C):", {"class A(B):", "class A(C):"}),
        ("class A(B, metaclass=M):", {"class A(metaclass=M):"}),
        ("class A((B), (C),):", {"class A((B),):", "class A((C),):"}),
        ("class A(\n    B,  # (b\n    C,  # c\n):", {"class A(\n    C,  # c\n):", "class A(\n    B,  # c\n):"}),
        ("class A(B[int], *C):", {"class A(*C):", "class A(B[int]):"}),
        ("class A(f(x)):", {"class A:"}),
        ("class A(object):", set()),
        ("class A(metaclass=M):", set()),
        ("class A:", set()),
    ],
)
def test_remove_base(header: str, expected: set[str]) -> None:
    rest = "\n    x = 1  # (B)\n"
    assert outcomes("class_rm_base", header + rest) == {text + rest for text in expected}


CLASS = '''\
@d
class A:
    """Doc."""

    x = 1

    # first
    @property
    def f(self): return 1  # f

    y = 2

    async def g(self):
        def inner(): pass
        return 2
    def h(self): pass


z = 3
'''


def test_remove_method_takes_decorators_comments_and_blank_lines() -> None:
    f = "    # first\n    @property\n    def f(self): return 1  # f\n"
    g = "    async def g(self):\n        def inner(): pass\n        return 2\n"
    h = "    def h(self): pass\n"
    assert outcomes("class_rm_funcs", CLASS) == {
        CLASS.replace(f"\n{f}", ""),
        CLASS.replace(f"\n{g}", ""),
        CLASS.replace(h, ""),
    }


def test_remove_the_only_method() -> None:
    assert outcomes("class_rm_funcs", "class A:\n\t@d\n\tdef f(self):\n\t\tpass\n") == {"class A:\n\tpass\n"}
    assert outcomes("class_rm_funcs", "class A:\n    x = 1\n") == set()


def test_shuffle_methods_keeps_what_is_between_them() -> None:
    found = outcomes("class_shuffle_funcs", CLASS)
    assert len(found) == 5  # all orders of three methods but the present one
    assert {"".join(sorted(text)) for text in found} == {"".join(sorted(CLASS))}
    f, h = "    # first\n    @property\n    def f(self): return 1  # f\n", "    def h(self): pass\n"
    assert CLASS.replace(f, "F").replace(h, f).replace("F", h) in found
    assert all("    x = 1\n\n" in text and "\n\n    y = 2\n\n" in text for text in found)
    assert outcomes("class_shuffle_funcs", "class A:\n    def f(self): pass\n") == set()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_tabs_marks_and_encodings_are_kept(newline: str) -> None:
    lines = [
        "\ufeff# -*- coding: latin-1 -*-",
        "\x0c",
        "s = 'é\u2028'",
        "class A:",
        "\tdef f(self, ö):",
        "\t\tx = 'ü', ö - 1",
    ]
    source = newline.join([*lines, "\t\treturn x"])  # no line end at the end of the file
    assert outcomes("op_change", source) == {source.replace("ö - 1", "ö + 1")}
    assert outcomes("remove_assign", source) == {newline.join([*lines[:-1], "\t\treturn x"])}
    assert outcomes("ctrl_shuffle", source) == {newline.join([*lines[:-1], "\t\treturn x", lines[-1]])}


def test_what_would_not_compile_is_not_given() -> None:
    source = "def f():\n    x = 1\n    def g():\n        nonlocal x\n    return g\n"
    assert outcomes("remove_assign", source) == set()


def test_several_places_change_at_times_and_never_more_than_three() -> None:
    source = "def f(a):\n" + "".join(f"    x{i} = a\n" for i in range(9)) + "    return a\n"
    entity, strategy = entities("m.py", source)[0], STRATEGIES["func_pm_remove_assign"]
    gone = [
        source.count("\n") - (strategy.mutate(source, entity, random.Random(seed)) or source).count("\n")
        for seed in range(300)
    ]
    assert set(gone) == {1, 2, 3}
    assert 0.68 < gone.count(1) / 300 < 0.82  # 3/4, four standard deviations
