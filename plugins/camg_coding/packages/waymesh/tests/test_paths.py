"""Ways."""

import pytest

from waymesh import DirectedGraph, Graph, GraphError, NoPathError, Path, all_paths, distances, hops, parse_graph
from waymesh import shortest_path, widest_path


@pytest.fixture
def roads():
    return parse_graph(
        """
        a -- b 4
        a -- c 2
        c -- b 1
        b -- d 5
        c -- d 8
        d -- e 3
        x -- y 1
        """
    )


@pytest.mark.parametrize(
    ("target", "nodes", "cost"),
    [("a", "a", 0), ("b", "acb", 3), ("c", "ac", 2), ("d", "acbd", 8), ("e", "acbde", 11)],
)
def test_shortest(roads, target, nodes, cost):
    assert shortest_path(roads, "a", target) == Path(tuple(nodes), cost)
    assert shortest_path(roads, target, "a").cost == cost
    assert len(shortest_path(roads, "a", target)) == len(nodes) - 1


@pytest.mark.parametrize("find", [shortest_path, widest_path])
def test_no_way(roads, find):
    with pytest.raises(NoPathError, match="no way from 'a' to 'x'"):
        find(roads, "a", "x")
    with pytest.raises(GraphError, match="no node 'z'"):
        find(roads, "a", "z")
    with pytest.raises(GraphError, match="no node 'z'"):
        find(roads, "z", "a")


def test_directions_count():
    graph = DirectedGraph([("a", "b"), ("b", "c")])
    assert shortest_path(graph, "a", "c").nodes == ("a", "b", "c")
    with pytest.raises(NoPathError):
        shortest_path(graph, "c", "a")


def test_distances(roads):
    assert distances(roads, "a") == {"a": 0, "b": 3, "c": 2, "d": 8, "e": 11}
    assert distances(roads, "x") == {"x": 0, "y": 1}


def test_negative_weights():
    with pytest.raises(GraphError, match="below 0"):
        distances(Graph([("a", "b", -1)]), "a")


def test_hops(roads):
    assert hops(roads, "a") == {"a": 0, "b": 1, "c": 1, "d": 2, "e": 3}
    assert list(hops(roads, "e")) == ["e", "d", "b", "c", "a"]
    with pytest.raises(GraphError):
        hops(roads, "z")


@pytest.mark.parametrize(
    ("start", "target", "nodes", "width"),
    [("a", "b", "ab", 4), ("a", "d", "abd", 4), ("c", "a", "cdba", 4), ("c", "d", "cd", 8), ("a", "e", "abde", 3)],
)
def test_widest(roads, start, target, nodes, width):
    assert widest_path(roads, start, target) == Path(tuple(nodes), width)


def test_widest_to_itself(roads):
    assert widest_path(roads, "a", "a") == Path(("a",), float("inf"))


def test_all_paths(roads):
    found = all_paths(roads, "a", "d")
    assert [("".join(path.nodes), path.cost) for path in found] == [("acbd", 8), ("abd", 9), ("acd", 10), ("abcd", 13)]


@pytest.mark.parametrize(("longest", "count"), [(0, 0), (1, 0), (2, 2), (3, 4), (9, 4)])
def test_all_paths_of_some_length(roads, longest, count):
    assert len(all_paths(roads, "a", "d", longest)) == count


def test_all_paths_to_itself_and_nowhere(roads):
    assert all_paths(roads, "a", "a") == [Path(("a",), 0)]
    assert all_paths(roads, "a", "x") == []


def test_a_grid():
    graph = Graph()
    for row in range(6):
        for column in range(6):
            if column < 5:
                graph.add_edge((row, column), (row, column + 1), 1 + (row * column) % 3)
            if row < 5:
                graph.add_edge((row, column), (row + 1, column), 1 + (row + column) % 2)
    cheapest = shortest_path(graph, (0, 0), (5, 5))
    steps = zip(cheapest.nodes, cheapest.nodes[1:])
    assert sum(graph.weight(*step) for step in steps) == cheapest.cost == 12
    assert hops(graph, (0, 0))[(5, 5)] == 10
