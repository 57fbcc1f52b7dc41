"""Weighted graphs: ways, components, trees, orders and round trips."""

from waymesh.graphs import DirectedGraph, Graph, GraphError
from waymesh.notation import format_graph, parse_graph
from waymesh.paths import NoPathError, Path, all_paths, distances, hops, shortest_path, widest_path
from waymesh.structure import CycleError, bridges, components, layers, order, spanning_tree, strong_components
from waymesh.tours import Tour, improve, nearest_tour

__all__ = [
    "CycleError",
    "DirectedGraph",
    "Graph",
    "GraphError",
    "NoPathError",
    "Path",
    "Tour",
    "all_paths",
    "bridges",
    "components",
    "distances",
    "format_graph",
    "hops",
    "improve",
    "layers",
    "nearest_tour",
    "order",
    "parse_graph",
    "shortest_path",
    "spanning_tree",
    "strong_components",
    "widest_path",
]
