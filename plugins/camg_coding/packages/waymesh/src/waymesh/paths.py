"""Ways through a graph."""

import heapq
from collections import deque
from dataclasses import dataclass

from waymesh.graphs import GraphError


class NoPathError(GraphError):
    """The target cannot be reached."""


@dataclass(frozen=True)
class Path:
    """The nodes of a way from its start to its end, and what it costs (or how wide it is)."""

    nodes: tuple
    cost: float

    def __len__(self):
        """The number of edges."""
        return len(self.nodes) - 1


def hops(graph, start):
    """The least number of edges from ``start`` to every node that can be reached, in order of that number."""
    graph.neighbours(start)
    found = {start: 0}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for target, _ in graph.neighbours(node):
            if target not in found:
                found[target] = found[node] + 1
                waiting.append(target)
    return found


def _search(graph, start):
    """Dijkstra: ``(cost of each reachable node, the node before it)``; raises ``GraphError`` for weights below 0."""
    graph.neighbours(start)
    costs, before, done = {start: 0}, {}, set()
    heap, pushed = [(0, 0, start)], 0
    while heap:
        cost, _, node = heapq.heappop(heap)
        if node in done:
            continue
        done.add(node)
        for target, weight in graph.neighbours(node):
            if weight < 0:
                raise GraphError(f"the edge from {node!r} to {target!r} has the weight {weight}, below 0")
            if target not in costs or cost + weight < costs[target]:
                costs[target] = cost + weight
                before[target] = node
                pushed += 1
                heapq.heappush(heap, (cost + weight, pushed, target))
    return costs, before


def _trace(before, start, target):
    nodes = [target]
    while nodes[-1] != start:
        nodes.append(before[nodes[-1]])
    return tuple(reversed(nodes))


def distances(graph, start):
    """The least cost from ``start`` to every node that can be reached."""
    return _search(graph, start)[0]


def shortest_path(graph, start, target):
    """The way of the least cost; raises ``NoPathError`` if there is none."""
    graph.neighbours(target)
    costs, before = _search(graph, start)
    if target not in costs:
        raise NoPathError(f"there is no way from {start!r} to {target!r}")
    return Path(_trace(before, start, target), costs[target])


def widest_path(graph, start, target):
    """The way whose smallest weight is the largest possible, which is its cost; infinite if start is target."""
    graph.neighbours(target)
    widths, before, done = {start: float("inf")}, {}, set()
    while True:
        open_nodes = [node for node in widths if node not in done]
        if not open_nodes:
            raise NoPathError(f"there is no way from {start!r} to {target!r}")
        node = max(open_nodes, key=widths.__getitem__)
        if node == target:
            return Path(_trace(before, start, target), widths[target])
        done.add(node)
        for other, weight in graph.neighbours(node):
            width = min(widths[node], weight)
            if other not in widths or width > widths[other]:
                widths[other] = width
                before[other] = node


def all_paths(graph, start, target, longest=None):
    """Every way that visits no node twice, cheapest first; ``longest``: of at most that many edges."""
    graph.neighbours(target)
    found = []

    def walk(nodes, cost):
        if nodes[-1] == target:
            found.append(Path(tuple(nodes), cost))
            return
        if longest is not None and len(nodes) > longest:
            return
        for other, weight in graph.neighbours(nodes[-1]):
            if other not in nodes:
                walk([*nodes, other], cost + weight)

    walk([start], 0)
    return sorted(found, key=lambda path: (path.cost, len(path)))
