"""Components, trees, bridges and orders."""

import pytest

from waymesh import (
    CycleError,
    DirectedGraph,
    Graph,
    bridges,
    components,
    layers,
    order,
    spanning_tree,
    strong_components,
)
from waymesh.structure import UnionFind


@pytest.mark.parametrize(
    ("edges", "nodes", "expected"),
    [
        ([], "", []),
        ([], "abc", [["a"], ["b"], ["c"]]),
        (["ab", "cd"], "", [["a", "b"], ["c", "d"]]),
        (["ab", "cd", "bd"], "e", [["e"], ["a", "b", "c", "d"]]),
    ],
)
def test_components(edges, nodes, expected):
    assert components(Graph(edges, nodes)) == expected
    assert components(DirectedGraph(edges, nodes)) == expected


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (["ab", "bc"], [["a"], ["b"], ["c"]]),
        (["ab", "bc", "ca"], [["a", "b", "c"]]),
        (["ab", "ba", "bc", "cd", "dc"], [["a", "b"], ["c", "d"]]),
    ],
)
def test_strong_components(edges, expected):
    assert strong_components(DirectedGraph(edges)) == expected


def test_union_find():
    sets = UnionFind("abcd")
    assert (sets.join("a", "b"), sets.join("c", "d"), sets.join("b", "a")) == (True, True, False)
    assert sets.find("a") == sets.find("b") != sets.find("c")
    assert sets.join("a", "d")
    assert sets.size[sets.find("c")] == 4


def test_spanning_tree():
    graph = Graph([("a", "b", 4), ("a", "c", 2), ("b", "c", 1), ("b", "d", 5), ("c", "d", 8)])
    tree = spanning_tree(graph)
    assert (tree.total(), len(tree.edges())) == (8, 3)
    assert tree == Graph([("b", "c", 1), ("a", "c", 2), ("b", "d", 5)])


def test_spanning_forest():
    tree = spanning_tree(Graph([("a", "b", 4), ("x", "y", 2)], ["z"]))
    assert (tree.total(), len(tree)) == (6, 5)


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([], []),
        (["ab", "bc"], [("a", "b"), ("b", "c")]),
        (["ab", "bc", "ca"], []),
        (["ab", "bc", "ca", "cd", "de", "ef", "fd"], [("c", "d")]),
        (["ab", "cd"], [("a", "b"), ("c", "d")]),
    ],
)
def test_bridges(edges, expected):
    assert bridges(Graph(edges)) == expected


@pytest.mark.parametrize(
    ("edges", "nodes", "expected"),
    [
        (["ab", "bc"], "", [["a"], ["b"], ["c"]]),
        (["ab", "ac", "bd", "cd"], "", [["a"], ["b", "c"], ["d"]]),
        (["ab", "bc", "ac"], "z", [["z", "a"], ["b"], ["c"]]),
        ([], "ab", [["a", "b"]]),
        ([], "", []),
    ],
)
def test_layers(edges, nodes, expected):
    graph = DirectedGraph(edges, nodes)
    assert layers(graph) == expected
    assert order(graph) == [node for layer in expected for node in layer]


@pytest.mark.parametrize("function", [layers, order])
def test_a_cycle(function):
    with pytest.raises(CycleError, match="a cycle among b, c, d") as caught:
        function(DirectedGraph(["ab", "bc", "cb", "cd"]))
    assert caught.value.nodes == ["b", "c", "d"]
