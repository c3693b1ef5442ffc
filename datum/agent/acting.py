"""What the actions of a pass are guarded by: a shutdown waits for them, and they may replace the agent's own files."""

import sys
from contextlib import AbstractContextManager, nullcontext

from datum.agent.ports import Ports
from datum.model.graph import ResourceGraph
from datum.model.identity import ResourceId
from datum.model.plan import Plan
from datum.provider.contract import StagedProvider
from datum.provider.paths import is_below


def guarded(plan: Plan, graph: ResourceGraph, ports: Ports, *, is_running_system: bool) -> AbstractContextManager[None]:
    """Return what is entered around the actions of a plan; nothing where there are none.

    Below another root nothing of this process can be replaced.
    """
    if not plan.actions:
        return nullcontext()
    if is_running_system and any(_may_replace_agent(action.resource, graph, ports) for action in plan.actions):
        types = sorted({node.resource.id.type for node in graph.nodes.values()})
        loaded = [ports.providers[name] for name in types if name in ports.providers]
        ports.manifests.load(loaded)
    return ports.delaying()


def _may_replace_agent(resource: ResourceId, graph: ResourceGraph, ports: Ports) -> bool:
    """Whether an action could change what this process is read from.

    What only writes files shows where. Everything else may run programs, as an upgrade of the agent is one.
    """
    if not isinstance(ports.providers.get(resource.type), StagedProvider):
        return True
    node = graph.nodes.get(resource)
    targets = node.targets if node is not None else ()
    return any(_is_own(target.key) for target in targets if target.kind == "path")


def _is_own(path: str) -> bool:
    return is_below(path, sys.prefix) or is_below(sys.prefix, path)
