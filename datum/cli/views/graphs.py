"""`datum graph`: as text in the order of the plan, as dot for graphviz, as JSON."""

import json
import sys
from collections.abc import Iterable

from datum.cli.views.paper import Paper, print_json
from datum.model.graph import Dependency, ResourceGraph
from datum.model.json import JsonValue
from datum.report.as_json import location_to_json


def show(graph: ResourceGraph, *, is_dot: bool, is_json: bool) -> None:
    """Show a graph."""
    if is_json:
        print_json(
            {
                "schema_version": 1,
                "order": [str(origin) for origin in graph.order],
                "dependencies": [edge_to_json(edge) for edge in graph.dependencies],
                "dropped": [edge_to_json(edge) for edge in graph.dropped],
            }
        )
        return
    paper = Paper()
    (_write_dot if is_dot else _write_text)(paper, graph)
    paper.print_to(sys.stdout)


def edge_to_json(edge: Dependency) -> dict[str, JsonValue]:
    """Return one edge: which resource comes after which, and why."""
    return {
        "source": str(edge.source),
        "target": str(edge.target),
        "kind": str(edge.kind),
        "reason": edge.reason,
        "location": location_to_json(edge.location),
        "soft": edge.soft,
    }


def _write_text(paper: Paper, graph: ResourceGraph) -> None:
    for origin in graph.order:
        paper.line((str(origin), "bold"))
        write_edges(paper, [edge for edge in graph.dependencies if edge.source == origin])
        for target in graph.nodes[origin].resource.dropped:
            paper.line("  ", (f"reference to {target} dropped: nothing that declares it is on here", "yellow"))
        write_dropped(paper, [edge for edge in graph.dropped if edge.source == origin])


def write_edges(paper: Paper, edges: Iterable[Dependency]) -> None:
    """Write what one resource comes after, a line for each."""
    for edge in edges:
        place = f"  {edge.location}" if edge.location else ""
        paper.line(f"  {edge.kind} {edge.target}  ", (f"{edge.reason}{place}", "dim"))


def write_dropped(paper: Paper, edges: Iterable[Dependency]) -> None:
    """Write which edges of one resource gave way, a line for each."""
    for edge in edges:
        paper.line("  ", (f"{edge.kind} {edge.target} gave way ({edge.reason})", "yellow"))


def _write_dot(paper: Paper, graph: ResourceGraph) -> None:
    paper.line("digraph datum {")
    paper.line("  rankdir=LR; node [shape=box];")
    for origin in graph.order:
        paper.line(f"  {json.dumps(str(origin))};")
    for edge in graph.dependencies:
        style = "solid" if edge.kind == "requires" else "dashed"
        paper.line(
            f"  {json.dumps(str(edge.target))} -> {json.dumps(str(edge.source))} "
            f"[style={style}, label={json.dumps(edge.reason)}];"
        )
    paper.line("}")
