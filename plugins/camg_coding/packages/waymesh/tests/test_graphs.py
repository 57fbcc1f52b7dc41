"""Nodes, edges and their text."""

import pytest

from waymesh import DirectedGraph, Graph, GraphError, format_graph, parse_graph


@pytest.fixture(params=[Graph, DirectedGraph])
def kind(request):
    return request.param


def test_nodes(kind):
    graph = kind([("a", "b", 2)], ["c", "a"])
    assert (list(graph), len(graph)) == (["c", "a", "b"], 3)
    assert "c" in graph
    assert "d" not in graph


def test_edges(kind):
    graph = kind([("a", "b", 2), ("b", "c")])
    assert graph.edges() == [("a", "b", 2), ("b", "c", 1)]
    assert (graph.total(), graph.weight("a", "b"), graph.has_edge("a", "c")) == (3, 2, False)


def test_a_new_weight(kind):
    graph = kind([("a", "b", 2), ("a", "b", 5)])
    assert graph.edges() == [("a", "b", 5)]


def test_remove_edge(kind):
    graph = kind([("a", "b"), ("b", "c")])
    graph.remove_edge("a", "b")
    assert (graph.edges(), list(graph)) == ([("b", "c", 1)], ["a", "b", "c"])
    assert not graph.has_edge("b", "a")
    with pytest.raises(GraphError, match="no edge from 'a' to 'b'"):
        graph.remove_edge("a", "b")


def test_remove_node(kind):
    graph = kind([("a", "b"), ("b", "c"), ("c", "a")])
    graph.remove_node("b")
    assert (list(graph), len(graph.edges())) == (["a", "c"], 1)
    with pytest.raises(GraphError, match="no node 'b'"):
        graph.remove_node("b")


def test_refused(kind):
    with pytest.raises(GraphError, match="to itself"):
        kind([("a", "a")])
    with pytest.raises(GraphError, match="no node 'x'"):
        kind().neighbours("x")


def test_subgraph(kind):
    graph = kind([("a", "b", 2), ("b", "c", 3), ("c", "d", 4)])
    assert graph.subgraph(["b", "c"]) == kind([("b", "c", 3)])
    with pytest.raises(GraphError):
        graph.subgraph(["x"])


def test_equality(kind):
    assert kind([("a", "b"), ("b", "c")]) == kind([("b", "c"), ("a", "b")])
    assert kind([("a", "b")]) != kind([("a", "b", 2)])
    assert Graph() != DirectedGraph()


def test_both_ways():
    graph = Graph([("a", "b", 2)])
    assert graph.neighbours("b") == [("a", 2)]
    assert graph.to_directed().edges() == [("a", "b", 2), ("b", "a", 2)]


def test_one_way():
    graph = DirectedGraph([("a", "b", 2), ("c", "b", 3)])
    assert (graph.neighbours("b"), graph.degree("a")) == ([], 1)
    assert graph.incoming("b") == [("a", 2), ("c", 3)]
    assert graph.reversed().edges() == [("b", "a", 2), ("b", "c", 3)]


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ("", (Graph, [], [])),
        ("a\nb # two\n\n# none", (Graph, [], "ab")),
        ("a -- b\nb -- c 2.5", (Graph, [("a", "b"), ("b", "c", 2.5)], [])),
        ("a -> b -3\nz", (DirectedGraph, [("a", "b", -3)], ["z"])),
    ],
)
def test_parse(text, graph):
    kind, edges, nodes = graph
    graph = kind(edges, nodes)
    assert parse_graph(text) == graph
    assert parse_graph(format_graph(graph)) == graph


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", "line 1: expected NODE"),
        ("\na -- b 1 2", "line 2: expected NODE"),
        ("a -- b x", "line 1: expected a weight, got 'x'"),
        ("a -- b\nb -> c", "line 2: directed and undirected"),
        ("a -- a", "to itself"),
    ],
)
def test_parse_refuses(text, message):
    with pytest.raises(GraphError, match=message):
        parse_graph(text)


def test_format():
    assert format_graph(Graph([("a", "b", 2), ("b", "c")], ["z"])) == "a -- b 2\nb -- c\nz\n"
    assert format_graph(DirectedGraph([("b", "a")])) == "b -> a\n"
