"""Round trips."""

import pytest

from waymesh import Graph, GraphError, Tour, improve, nearest_tour
from waymesh.tours import tour_cost


def plane(points):
    """The complete graph of points, with distances along the streets."""
    graph = Graph(nodes=points)
    for name, (x, y) in points.items():
        for other, (u, v) in points.items():
            if name != other:
                graph.add_edge(name, other, abs(x - u) + abs(y - v))
    return graph


@pytest.fixture
def square():
    return plane({"a": (0, 0), "b": (4, 3), "c": (4, 0), "d": (0, 3)})


@pytest.fixture
def line():
    return plane({name: (place, 0) for name, place in zip("abcdef", (0, 10, 1, 4, 20, 6))})


@pytest.mark.parametrize(("nodes", "cost"), [("acbd", 14), ("abcd", 20), ("adbc", 14), ("a", 0), ("ac", 8)])
def test_cost(square, nodes, cost):
    assert tour_cost(square, nodes) == cost


def test_a_missing_edge():
    with pytest.raises(GraphError, match="no edge"):
        tour_cost(Graph([("a", "b"), ("b", "c")]), "abc")


def test_nearest(line, square):
    assert nearest_tour(square, "a") == Tour(tuple("adbc"), 14)
    assert nearest_tour(line, "b") == Tour(tuple("bfdcae"), 40)


def test_nearest_of_one(square):
    assert nearest_tour(Graph(nodes=["a"]), "a") == Tour(("a",), 0)
    with pytest.raises(GraphError):
        nearest_tour(square, "z")


def test_improve(square):
    assert improve(square, Tour(tuple("abcd"), 20)).cost == 14
    assert improve(square, Tour(tuple("adbc"), 14)) == Tour(tuple("adbc"), 14)


def test_improve_keeps_the_start_and_the_nodes(line):
    better = improve(line, Tour(tuple("cafebd"), 0))
    assert (better.nodes[0], sorted(better.nodes), better.cost) == ("c", list("abcdef"), 40)


@pytest.mark.parametrize("nodes", ["abc", "abcc", "abcde"])
def test_improve_wants_a_whole_tour(square, nodes):
    with pytest.raises(GraphError, match="all nodes"):
        improve(square, Tour(tuple(nodes), 0))
