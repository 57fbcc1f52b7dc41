"""Graphs with weighted edges."""

from contextlib import suppress


class GraphError(ValueError):
    """An unknown node, a missing edge, or an edge that cannot be."""


class BaseGraph:
    """Nodes and weighted edges, both in the order in which they were added; at most one edge between two nodes."""

    directed = False

    def __init__(self, edges=(), nodes=()):
        self._next = {}
        for node in nodes:
            self.add_node(node)
        for edge in edges:
            self.add_edge(*edge)

    def __len__(self):
        """The number of nodes."""
        return len(self._next)

    def __iter__(self):
        return iter(list(self._next))

    def __contains__(self, node):
        return node in self._next

    def __eq__(self, other):
        """Equal kinds with equal nodes, edges and weights, in whatever order."""
        return self._next == other._next if type(self) is type(other) else NotImplemented

    __hash__ = None

    def _known(self, node):
        if node not in self._next:
            raise GraphError(f"there is no node {node!r}")

    def add_node(self, node):
        """Add a node, unless it is there."""
        self._next.setdefault(node, {})

    def add_edge(self, source, target, weight=1):
        """Add an edge and its nodes; an edge that is there gets the new weight. No node has an edge to itself."""
        if source == target:
            raise GraphError(f"an edge from {source!r} to itself")
        self.add_node(source)
        self.add_node(target)
        self._next[source][target] = weight

    def remove_edge(self, source, target):
        """Take out an edge; its nodes stay."""
        self.weight(source, target)
        del self._next[source][target]

    def remove_node(self, node):
        """Take out a node with all its edges."""
        self._known(node)
        del self._next[node]
        for targets in self._next.values():
            with suppress(KeyError):
                del targets[node]

    def has_edge(self, source, target):
        return source in self._next and target in self._next[source]

    def weight(self, source, target):
        """The weight of an edge; raises ``GraphError`` if there is none."""
        try:
            return self._next[source][target]
        except KeyError:
            raise GraphError(f"there is no edge from {source!r} to {target!r}") from None

    def neighbours(self, node):
        """``(target, weight)`` of the edges that leave a node."""
        self._known(node)
        return list(self._next[node].items())

    def degree(self, node):
        """How many edges leave a node."""
        return len(self.neighbours(node))

    def edges(self):
        """``(source, target, weight)`` of every edge."""
        return [(source, target, weight) for source in self._next for target, weight in self._next[source].items()]

    def total(self):
        """The sum of the weights of all edges."""
        return sum(weight for _, _, weight in self.edges())

    def subgraph(self, nodes):
        """The graph of these nodes and the edges between them."""
        chosen = set(nodes)
        for node in chosen:
            self._known(node)
        kept = [edge for edge in self.edges() if edge[0] in chosen and edge[1] in chosen]
        return type(self)(kept, [node for node in self if node in chosen])


class DirectedGraph(BaseGraph):
    """Edges have a direction."""

    directed = True

    def reversed(self):
        """The graph with every edge turned round."""
        return DirectedGraph([(target, source, weight) for source, target, weight in self.edges()], self)

    def incoming(self, node):
        """``(source, weight)`` of the edges that lead to a node."""
        self._known(node)
        return [(source, weight) for source, target, weight in self.edges() if target == node]


class Graph(BaseGraph):
    """Edges lead both ways; ``edges`` shows each once, from the node that was added first."""

    def add_edge(self, source, target, weight=1):
        super().add_edge(source, target, weight)
        self._next[target][source] = weight

    def remove_edge(self, source, target):
        super().remove_edge(source, target)
        del self._next[target][source]

    def edges(self):
        seen, found = set(), []
        for source in self._next:
            seen.add(source)
            for target, weight in self._next[source].items():
                if target not in seen:
                    found.append((source, target, weight))
        return found

    def to_directed(self):
        """A directed graph with two edges for each one."""
        return DirectedGraph([edge for source in self for edge in self._both(source)], self)

    def _both(self, source):
        return [(source, target, weight) for target, weight in self.neighbours(source)]
