"""Graphs as lines of text: ``a -- b 4`` or, directed, ``a -> b 4``; a name alone is a node; ``#`` begins a comment."""

from waymesh.graphs import DirectedGraph, Graph, GraphError

ARROWS = {"--": Graph, "->": DirectedGraph}


def _number(text, line):
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise GraphError(f"line {line}: expected a weight, got {text!r}") from None


def parse_graph(text):
    """The graph of a text; the weight of an edge is 1 where none is given. Without edges it is undirected."""
    kind, nodes, edges = None, [], []
    for line, content in enumerate(text.splitlines(), start=1):
        words = content.split("#")[0].split()
        if not words:
            continue
        if len(words) == 1:
            nodes.append(words[0])
            continue
        if words[1] not in ARROWS or not 3 <= len(words) <= 4:
            raise GraphError(f"line {line}: expected NODE -- NODE [WEIGHT] or NODE -> NODE [WEIGHT]")
        if kind is not None and kind is not ARROWS[words[1]]:
            raise GraphError(f"line {line}: directed and undirected edges in one graph")
        kind = ARROWS[words[1]]
        nodes += [words[0], words[2]]
        edges.append((words[0], words[2], _number(words[3], line) if len(words) == 4 else 1))
    return (kind or Graph)(edges, nodes)


def format_graph(graph):
    """The text of a graph, which ``parse_graph`` reads: a line for each edge, then the nodes that have none."""
    arrow = "->" if graph.directed else "--"
    lines, mentioned = [], set()
    for source, target, weight in graph.edges():
        mentioned |= {source, target}
        lines.append(f"{source} {arrow} {target}" + ("" if weight == 1 else f" {weight}"))
    lines += [str(node) for node in graph if node not in mentioned]
    return "".join(line + "\n" for line in lines)
