"""What hangs together, and in which order."""

from waymesh.graphs import Graph, GraphError
from waymesh.paths import hops


class CycleError(GraphError):
    """Tasks that wait for one another; ``nodes`` are those that cannot be ordered."""

    def __init__(self, nodes):
        super().__init__("a cycle among " + ", ".join(str(node) for node in nodes))
        self.nodes = nodes


class UnionFind:
    """Disjoint sets that grow together."""

    def __init__(self, items):
        self.parent = {item: item for item in items}
        self.size = dict.fromkeys(self.parent, 1)

    def find(self, item):
        """The representative of the item's set."""
        while self.parent[item] != item:
            self.parent[item] = self.parent[self.parent[item]]
            item = self.parent[item]
        return item

    def join(self, first, second):
        """Join two sets; returns whether they were different."""
        first, second = self.find(first), self.find(second)
        if first == second:
            return False
        if self.size[first] < self.size[second]:
            first, second = second, first
        self.parent[second] = first
        self.size[first] += self.size[second]
        return True


def components(graph):
    """Lists of nodes that hang together (directions do not count), each in the order of the graph."""
    sets = UnionFind(graph)
    for source, target, _ in graph.edges():
        sets.join(source, target)
    groups = {}
    for node in graph:
        groups.setdefault(sets.find(node), []).append(node)
    return list(groups.values())


def strong_components(graph):
    """Lists of nodes of a directed graph that reach one another, each in the order of the graph."""
    backward = graph.reversed()
    found, done = [], set()
    for node in graph:
        if node not in done:
            both = set(hops(graph, node)) & set(hops(backward, node))
            found.append([each for each in graph if each in both])
            done |= both
    return found


def spanning_tree(graph):
    """The edges of the cheapest tree (for each component one), cheapest first (Kruskal)."""
    sets = UnionFind(graph)
    chosen = []
    for source, target, weight in sorted(graph.edges(), key=lambda edge: edge[2]):
        if sets.join(source, target):
            chosen.append((source, target, weight))
    return Graph(chosen, graph)


def bridges(graph):
    """Edges ``(source, target)`` of an undirected graph whose removal makes one component more, in order."""
    found = []
    number, low = {}, {}

    def visit(node, parent):
        number[node] = low[node] = len(number)
        for other, _ in graph.neighbours(node):
            if other == parent:
                continue
            if other in number:
                low[node] = min(low[node], number[other])
            else:
                visit(other, node)
                low[node] = min(low[node], low[other])
                if low[other] > number[node]:
                    found.append({node, other})

    for node in graph:
        if node not in number:
            visit(node, None)
    return [(source, target) for source, target, _ in graph.edges() if {source, target} in found]


def layers(graph):
    """Nodes of a directed graph in layers: edges lead from earlier layers to later ones, each as early as possible.

    Raises ``CycleError``.
    """
    missing = dict.fromkeys(graph, 0)
    for _, target, _ in graph.edges():
        missing[target] += 1
    found = []
    while missing:
        ready = [node for node, count in missing.items() if count == 0]
        if not ready:
            raise CycleError(list(missing))
        for node in ready:
            del missing[node]
        for node in ready:
            for target, _ in graph.neighbours(node):
                missing[target] -= 1
        found.append(ready)
    return found


def order(graph):
    """The nodes in an order in which every edge leads onwards; raises ``CycleError``."""
    return [node for layer in layers(graph) for node in layer]
