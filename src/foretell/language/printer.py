"""The printer: tree to text in one layout, which parses to the same tree."""

from __future__ import annotations

import re

from foretell.events.types import format_timestamp
from foretell.language import tree

#: How tightly an expression binds; an operand that binds less tightly stands in parentheses.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _ATOM = range(8)
_BINDING = {"OR": _OR, "AND": _AND, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}

#: Words that stand in quotes as names: those that would be read as something else where a name may stand, and those
#: that begin a clause, for people's sake. Asked without case as the grammar does, where `ſ` is an s too.
_RESERVED = re.compile(
    "above|accumulate|after|and|as|between|by|case|correlate|define|do|duration|else|end|fail|false|first|for|forecast"
    "|from|having|in|is|last|like|loop|losing|match|not|null|of|or|parallel|per|persist|prev|push|repeat|return|select|sequential"
    "|stream|subscribe|then|timestamp|to|true|when|within",
    re.IGNORECASE,
)


def program_text(program: tree.Program) -> str:
    """The text of a program: its statements, separated by blank lines."""
    return "\n\n".join(statement_text(s) for s in program.statements)


def statement_text(statement: tree.Statement) -> str:
    match statement:
        case tree.Stream():
            return _stream(statement)
        case tree.Subscription():
            return _subscription(statement)
        case tree.Correlator():
            return _correlator(statement)
    raise AssertionError(statement)


def _stream(stream: tree.Stream) -> str:
    text = f"STREAM {_name(stream.name)}"
    if stream.attributes:
        text += f" ({', '.join(f'{_name(a.name)} {a.type.value}' for a in stream.attributes)})"
    text += f" TIME {_name(stream.time)}"
    if stream.id is not None:
        text += f" ID {_name(stream.id)}"
    if stream.order is not None:
        text += f" ORDER BY {_name(stream.order)}"
    if stream.simultaneous:
        text += " TIES SIMULTANEOUS"
    if stream.lateness is not None:
        text += f" LATE BY {expression_text(stream.lateness)}"
    if stream.losses:
        text += f" LOSS {', '.join(map(_loss, stream.losses))}"
    if stream.nulls:
        text += f" NULL {', '.join(map(expression_text, stream.nulls))}"
    if stream.derived:
        text += f" LET {', '.join(f'{_name(d.name)} AS {expression_text(d.expression)}' for d in stream.derived)}"
    return text + ";"


def _loss(loss: tree.Loss) -> str:
    when = "" if loss.condition is None else f" WHEN {expression_text(loss.condition)}"
    return f"{_number(loss.probability)}{when}"


def _subscription(subscription: tree.Subscription) -> str:
    lines = [f"SUBSCRIBE {_name(subscription.name)}"]
    if subscription.table is not None:
        lines.append(f"FOR EACH {_name(subscription.table)}")
    lines.append(f"FROM {_names(subscription.streams)}")
    if subscription.per:
        lines.append(f"PER {_names(subscription.per)}")
    lines.append(f"MATCH {pattern_text(subscription.pattern)}")
    lines += _definitions(subscription.definitions)
    if subscription.within is not None:
        lines.append(f"WITHIN {expression_text(subscription.within)}")
    if subscription.having is not None:
        lines.append(f"HAVING {expression_text(subscription.having)}")
    if subscription.after != tree.AfterMatch():
        step = "" if subscription.after.step is None else f" {_name(subscription.after.step)}"
        lines.append(f"AFTER MATCH {subscription.after.policy.value}{step}")
    if subscription.returns:
        columns = (f"{expression_text(r.expression)} AS {_name(r.name)}" for r in subscription.returns)
        lines.append(f"RETURN {', '.join(columns)}")
    if subscription.forecast is not None:
        lines.append(_forecast(subscription.forecast))
    if subscription.losing is not None:
        lines.append(_losing(subscription.losing))
    return "\n".join(lines) + ";"


def _definitions(definitions: tuple[tree.Definition, ...]) -> list[str]:
    if not definitions:
        return []
    items = (f"{_names(d.steps)} AS {expression_text(d.condition)}" for d in definitions)
    return ["DEFINE " + ",\n       ".join(items)]


def horizon_text(forecast: tree.Forecast) -> str:
    """The horizon of a forecast: `5 EVENTS`, `10 min`."""
    return f"{forecast.events} EVENTS" if forecast.duration is None else expression_text(forecast.duration)


def _forecast(forecast: tree.Forecast) -> str:
    tokens = f" OF {', '.join(map(_string, forecast.tokens))}" if forecast.tokens else ""
    return f"FORECAST{tokens} WITHIN {horizon_text(forecast)} ABOVE {_number(forecast.above)}"


def _losing(losing: tree.Losing) -> str:
    items = (_number(i.probability) + (f" OF {_names(i.steps)}" if i.steps else "") for i in losing.items)
    listed = ", ".join(items)
    score = "" if losing.score is tree.Score.BOTH_ENDS else f" SCORE {losing.score.name}"
    return f"LOSING {listed}{' ' if listed else ''}ABOVE {_number(losing.above)}{score}"


def _correlator(correlator: tree.Correlator) -> str:
    lines = [f"CORRELATE {_name(correlator.name)}"]
    if correlator.table is not None:
        lines.append(f"FOR EACH {_name(correlator.table)}")
    lines.append(f"FROM {_names(correlator.streams)}")
    if correlator.per:
        lines.append(f"PER {_names(correlator.per)}")
    lines.append(f"DO {correlation_text(correlator.expression)}")
    lines += _definitions(correlator.definitions)
    if correlator.forecast is not None:
        lines.append(_forecast(correlator.forecast))
    return "\n".join(lines) + ";"


def correlation_text(correlation: tree.Correlation) -> str:
    match correlation:
        case tree.On(step=step):
            return _name(step)
        case tree.Accumulate(parts=parts):
            return f"accumulate{_braces(parts)}"
        case tree.Select(parts=parts, strict=strict):
            return f"select{'*' if strict else ''}{_braces(parts)}"
        case tree.Sequential(parts=parts):
            return f"sequential{_braces(parts)}"
        case tree.Unless(body=body, stopper=stopper):
            return f"do{_braces((body,))} unless{_braces((stopper,))}"
        case tree.Fail(body=body):
            return f"fail{_braces((body,))}"
        case tree.Push(token=token, body=body):
            return f"push({_string(token)}){_braces((body,))}"
        case tree.Again(kind=kind, body=body, count=count):
            return f"{kind}{'' if count is None else f'({count})'}{_braces((body,))}"
        case tree.Parallel(parts=parts):
            return f"parallel{_braces(parts)}"
        case tree.Modes(modes=modes):
            return " ".join(f"in({_name(m.guard)}) do{_braces((m.body,))}" for m in modes)
    raise AssertionError(correlation)


def _braces(parts: tuple[tree.Correlation, ...]) -> str:
    return "{" + ", ".join(map(correlation_text, parts)) + "}"


# ── patterns ──


def pattern_text(pattern: tree.Pattern) -> str:
    match pattern:
        case tree.Alternation(branches=branches):
            # The grammar needs no parentheses around a sequence beside `|` and `&`; a reader does.
            return " | ".join(_grouped(b, tree.Alternation, tree.Sequence, tree.Silence) for b in branches)
        case tree.Conjunction(sides=sides):
            return " & ".join(
                _grouped(s, tree.Alternation, tree.Conjunction, tree.Sequence, tree.Silence) for s in sides
            )
        case tree.Silence(absent=absent):
            return " ; ".join(map(_negation, absent))
        case tree.Sequence(parts=parts, absent=absent):
            return _sequence(parts, absent)
        case tree.Conditioned(pattern=inner, condition=condition):
            single = _tight(inner, tree.Conditioned, tree.Chosen, tree.Repeat, tree.Numbered)
            return f"{single} @({expression_text(condition)})"
        case tree.Chosen(which=which, step=step):
            return f"{which} {_name(step.name)}"
        case tree.Repeat():
            under = "" if pattern.under is None else f"<{_operator(pattern.under)}>"
            return f"{_tight(pattern.body)}{_quantifier(pattern.low, pattern.high)}{under}"
        case tree.Numbered(step=step, index=index):
            return f"{_name(step.name)}[{index}]"
        case tree.Step(name=name):
            return _name(name)
    raise AssertionError(pattern)


def _sequence(parts: tuple[tree.SequencePart, ...], absent: tuple[tree.Negation, ...]) -> str:
    text = ""
    for part in parts:
        pattern = _grouped(part.pattern, tree.Alternation, tree.Conjunction, tree.Sequence, tree.Silence)
        negations = [_negation(n) for n in part.absent]
        if part.operator is None:
            text = " ; ".join([*negations, pattern])
        elif negations:
            text += f" ; {' ; '.join(negations)} {_operator(part.operator)} {pattern}"
        else:
            text += f" {_operator(part.operator)} {pattern}"
    return " ; ".join([text, *map(_negation, absent)])


def _negation(negation: tree.Negation) -> str:
    conditions = "".join(f" @({expression_text(c)})" for c in negation.conditions)
    return f"!{_name(negation.step.name)}{conditions}"


def _operator(operator: tree.Operator) -> str:
    match operator:
        case tree.Next():
            return ","
        case tree.FirstWhere(condition=condition):
            return f";{{{expression_text(condition)}}}"
    return ";"


def _grouped(pattern: tree.Pattern, *in_parentheses: type[tree.Pattern]) -> str:
    text = pattern_text(pattern)
    return f"({text})" if isinstance(pattern, in_parentheses) else text


def _tight(pattern: tree.Pattern, *also: type[tree.Pattern]) -> str:
    """The operand of a quantifier or `@`: a step, or a pattern in parentheses."""
    text = pattern_text(pattern)
    return text if isinstance(pattern, (tree.Step, *also)) else f"({text})"


def _quantifier(low: int, high: int | None) -> str:
    match low, high:
        case 0, 1:
            return "?"
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case _, None:
            return f"{{{low},}}"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


# ── expressions ──


def expression_text(expression: tree.Expression) -> str:
    return _expression(expression, _OR)


def conjunct_text(expression: tree.Expression) -> str:
    """An expression as an operand of AND: an OR is in parentheses."""
    return _expression(expression, _AND)


def _expression(expression: tree.Expression, outside: int) -> str:
    text, binding = _bound(expression)
    return f"({text})" if binding < outside else text


def _bound(expression: tree.Expression) -> tuple[str, int]:
    """The text of an expression, and how tightly its operator binds."""
    match expression:
        case tree.Literal(value=value):
            return _literal(value), _negative(value)
        case tree.Span(amount=amount, unit=unit):
            return f"{_number(amount)} {unit}", _negative(amount)
        case tree.Binary(operator=operator, left=left, right=right) if operator in _BINDING:
            binding = _BINDING[operator]
            return f"{_expression(left, binding)} {operator} {_expression(right, binding + 1)}", binding
        case tree.Binary(operator=operator, left=left, right=right):
            return f"{_expression(left, _SUM)} {operator} {_expression(right, _SUM)}", _COMPARISON
        case tree.Unary(operator="NOT", operand=operand):
            return f"NOT {_expression(operand, _NOT)}", _NOT
        case tree.Unary(operand=operand):
            return f"-{_expression(operand, _ATOM)}", _SIGN
        case tree.In(value=value, options=options, negated=negated):
            listed = ", ".join(map(expression_text, options))
            return f"{_expression(value, _SUM)} {'NOT ' if negated else ''}IN ({listed})", _COMPARISON
        case tree.Between(value=value, low=low, high=high, negated=negated):
            bounds = f"{_expression(low, _SUM)} AND {_expression(high, _SUM)}"
            return f"{_expression(value, _SUM)} {'NOT ' if negated else ''}BETWEEN {bounds}", _COMPARISON
        case tree.Like(value=value, pattern=pattern, negated=negated):
            wanted = _expression(pattern, _SUM)
            return f"{_expression(value, _SUM)} {'NOT ' if negated else ''}LIKE {wanted}", _COMPARISON
        case tree.IsNull(value=value, negated=negated):
            return f"{_expression(value, _SUM)} IS {'NOT ' if negated else ''}NULL", _COMPARISON
    return _atom(expression), _ATOM


def _atom(expression: tree.Expression) -> str:
    match expression:
        case tree.Moment(micros=micros):
            return f"TIMESTAMP '{format_timestamp(micros)}'"
        case tree.Variable(name=name):
            return f"${name}"
        case tree.Parameter(name=name):
            return f":{name}"
        case tree.Attribute(event=event, name=name):
            return _of(event, _name(name))
        case tree.StreamOf(event=event):
            return _of(event, "stream")
        case tree.TimeOf(event=event):
            return f"t({_event(event)})"
        case tree.Elapsed():
            return "duration"
        case tree.Aggregate(function=function, step=step, attribute=attribute):
            return f"{function}({_name(step)}{'' if attribute is None else f'.{_name(attribute)}'})"
        case tree.Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(expression_text, arguments))})"
        case tree.Case():
            return _case(expression)
        case tree.EventValue(event=event):
            return _event(event)
    raise AssertionError(expression)


def _case(case: tree.Case) -> str:
    branches = zip(case.conditions, case.values, strict=True)
    words = [f"WHEN {expression_text(condition)} THEN {expression_text(value)}" for condition, value in branches]
    otherwise = [] if case.otherwise is None else [f"ELSE {expression_text(case.otherwise)}"]
    return " ".join(["CASE", *words, *otherwise, "END"])


def _of(event: tree.EventReference, name: str) -> str:
    return name if isinstance(event, tree.This) else f"{_event(event)}.{name}"


def _event(event: tree.EventReference) -> str:
    match event:
        case tree.Previous():
            return "prev"
        case tree.FirstOf(step=step):
            return f"first({_name(step)})"
        case tree.LastOf(step=step):
            return f"last({_name(step)})"
        case tree.BoundEvent(step=step):
            return _name(step)
    raise AssertionError(event)


def _negative(value: object) -> int:
    """A negative number is written with a sign, which binds less tightly than the number alone."""
    return _SIGN if isinstance(value, int | float) and repr(value).startswith("-") else _ATOM


def _literal(value: bool | int | float | str | None) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return _string(value)
    return _number(value)


def _number(value: int | float) -> str:
    return repr(value)


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(_name, names))


def _name(name: str) -> str:
    if re.fullmatch(r"[^\W\d]\w*", name) and not _RESERVED.fullmatch(name):
        return name
    return '"' + name.replace('"', '""') + '"'


#: A name as a statement writes it: in quotes where it has odd characters or is a word of the language.
name_text = _name
