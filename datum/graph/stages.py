"""Which of several resources that are free to go next goes first (ADR 0033). Pure."""

from collections.abc import Mapping
from typing import Final

from datum.graph.asking import check_answers
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.provider.contract import AnyProvider, OrderedProvider, Stage

# What is to be absent: what runs is stopped before anything else is done, its unit goes next, and an account goes when
# nothing that may run as it is left. The others stay where they are: packages that come and go are one transaction.
_ABSENT: Final[Mapping[Stage, int]] = {
    Stage.SERVICES: Stage.ACCOUNTS - 2,
    Stage.UNITS: Stage.ACCOUNTS - 1,
    Stage.ACCOUNTS: Stage.SERVICES + 1,
}


def stages_of(nodes: Mapping[ResourceId, Node], providers: Mapping[str, AnyProvider]) -> Mapping[ResourceId, int]:
    """Return the stage of every resource that does not go with the content, where most go.

    Raises:
        ProviderContractError: a type is of no stage that there is.
    """
    kinds: dict[str, Stage] = {}
    found: dict[ResourceId, int] = {}
    for origin, node in nodes.items():
        if origin.type not in kinds:
            kinds[origin.type] = _stage_of(node, providers[origin.type])
        stage = kinds[origin.type]
        if stage is not Stage.CONTENT:
            found[origin] = _ABSENT.get(stage, stage) if node.resource.absent else stage
    return found


def _stage_of(node: Node, provider: AnyProvider) -> Stage:
    if not isinstance(provider, OrderedProvider):
        return Stage.CONTENT
    check_answers(node.resource, "order_stage", (provider.order_stage,), Stage)
    return provider.order_stage
