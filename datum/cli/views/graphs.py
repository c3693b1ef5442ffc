"""`datum graph`: as text in the order of the plan, as dot for graphviz, as JSON."""

import json
import sys

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
                "dependencies": [_edge(edge) for edge in graph.dependencies],
                "dropped": [_edge(edge) for edge in graph.dropped],
            }
        )
        return
    paper = Paper()
    (_write_dot if is_dot else _write_text)(paper, graph)
    paper.print_to(sys.stdout)


def _edge(edge: Dependency) -> dict[str, JsonValue]:
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
        for edge in graph.dependencies:
            if edge.source == origin:
                place = f"  {edge.location}" if edge.location else ""
                paper.line(f"  {edge.kind} {edge.target}  ", (f"{edge.reason}{place}", "dim"))
        for target in graph.nodes[origin].resource.dropped:
            paper.line("  ", (f"reference to {target} dropped: nothing that declares it is on here", "yellow"))
        for edge in graph.dropped:
            if edge.source == origin:
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
