"""Round trips over all nodes of a complete graph."""

from dataclasses import dataclass

from waymesh.graphs import GraphError


@dataclass(frozen=True)
class Tour:
    """Every node once, the last one followed by the first; ``cost`` is the sum of all steps."""

    nodes: tuple
    cost: float


def tour_cost(graph, nodes):
    """The sum of the weights of a round trip; raises ``GraphError`` where an edge is missing."""
    total = 0
    for index, node in enumerate(nodes):
        following = nodes[(index + 1) % len(nodes)]
        if following != node:
            total += graph.weight(node, following)
    return total


def nearest_tour(graph, start):
    """From ``start`` always to the nearest node that was not visited; among equals the one that was added first."""
    graph.neighbours(start)
    nodes = [start]
    left = [node for node in graph if node != start]
    while left:
        nearest = min(left, key=lambda node: graph.weight(nodes[-1], node))
        left.remove(nearest)
        nodes.append(nearest)
    return Tour(tuple(nodes), tour_cost(graph, nodes))


def improve(graph, tour):
    """Turn parts of a tour round as long as that makes it cheaper (2-opt); the start stays."""
    if sorted(map(repr, tour.nodes)) != sorted(map(repr, graph)):
        raise GraphError("expected a tour over all nodes of the graph")
    best = Tour(tour.nodes, tour_cost(graph, tour.nodes))
    better = True
    while better:
        better = False
        for first in range(1, len(best.nodes) - 1):
            for last in range(first + 1, len(best.nodes)):
                turned = best.nodes[first : last + 1][::-1]
                nodes = best.nodes[:first] + turned + best.nodes[last + 1 :]
                cost = tour_cost(graph, nodes)
                if cost < best.cost:
                    best = Tour(nodes, cost)
                    better = True
    return best
