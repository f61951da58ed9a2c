"""The shape of a subscription's results: everything about it that notifications need."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.events.types import Type
from foretell.language.checked import CheckedCorrelator, CheckedStatement
from foretell.language.loss_rates import losable_steps
from foretell.language.printer import horizon_text
from foretell.records import record


@record
class ResultSchema:
    """`name` is the statement's. `per` has the attributes of a lane's key with their types.

    `repeated` has the steps that bind events, in the order of the pattern, and whether each repeats. `returns` and
    `variables` are the types of RETURN columns and of variables; `horizon` is that of forecasts, as text.
    `event_names` and `row_ids` are the types of the names of events and of the ids of a FOR EACH table, or of estimates
    where matches may be `uncertain`. `losable` are the steps that a statement with LOSING may take to be lost; None
    without LOSING. `kind` is that of the notifications of matches.
    """

    name: str
    per: Mapping[str, Type]
    repeated: Mapping[str, bool]
    returns: Mapping[str, Type]
    variables: Mapping[str, Type]
    time: Type
    horizon: str | None = None
    event_names: Type = Type.INT
    row_ids: Type = Type.NULL
    uncertain: bool = False
    kind: str = "match"
    losable: tuple[str, ...] | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self.repeated)


def result_schema(checked: CheckedStatement) -> ResultSchema:
    per = {str(name): checked.attributes.get(name, Type.STRING) for name in checked.tree.per}
    if isinstance(checked, CheckedCorrelator):
        forecast = checked.tree.forecast
        return ResultSchema(
            checked.name,
            per,
            {},
            {"token": Type.STRING},
            {},
            checked.time,
            horizon=None if forecast is None else horizon_text(forecast),
            row_ids=checked.row_ids,
            kind="token",
        )
    forecast = checked.tree.forecast
    return ResultSchema(
        name=checked.name,
        per=per,
        repeated={step: checked.steps[step].shape.repeated for step in checked.positive},
        returns=checked.returns,
        variables=checked.variables,
        time=checked.time,
        horizon=None if forecast is None else horizon_text(forecast),
        event_names=checked.event_names,
        row_ids=checked.row_ids,
        uncertain=checked.uncertain,
        losable=None if checked.tree.losing is None else tuple(losable_steps(checked)),
    )
