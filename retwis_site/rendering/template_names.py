"""Reads from a template which names its fragment takes: what it shows, what it counts with, and what `{% if %}` asks.

It reads the compiled template, with those that it extends and includes. So it also finds a mistake in a branch of an
`{% if %}` that no page has shown yet.

A site may replace templates. The code gives a fragment the names of the template that came with the code. So a template
that replaces it may leave names out, and cannot have others.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from django.template import Engine, Origin, TemplateDoesNotExist, defaulttags, loader_tags
from django.template.base import Node, NodeList, TextNode, TokenType, VariableNode
from django.templatetags import i18n
from django.templatetags.static import StaticNode

EITHER = (False, True)
JOINS = {"and", "or", "not"}  # the operators of `{% if %}` that ask whether, and do not compare


class FragmentError(Exception):
    """A template asks for what it cannot have, or a fragment was filled wrongly."""


@dataclass(frozen=True, slots=True)
class FragmentNames:
    """The names that a fragment takes. Each of the shape has its values."""

    shape: Mapping[str, Sequence[Hashable]]
    slots: tuple[str, ...]
    numbers: tuple[str, ...]
    to_fill: frozenset[str]  # slots and numbers


NOT_READ = FragmentNames({}, (), (), frozenset())


def names_of(template: str, shape: Mapping[str, Sequence[Hashable]], constants: Mapping[str, Any]) -> FragmentNames:
    """The names that a template takes. Those of `shape` and `constants` have a value while it is rendered; of all
    others its text says what they are.

    Raises FragmentError when the template needs the value of a slot, when a name of `shape` or `constants` is not used,
    and when the template of a site has a name that the replaced one has not."""
    taken = _constants(*shape, *constants)
    reader = _Reader(template, taken, _that_came_with_the_code)
    reader.read_template(template)
    if unused := sorted(name for name, value in taken.items() if not value.is_used):
        raise FragmentError(f"{template}: {', '.join(unused)} declared but not used")
    flags = {name: EITHER for name, value in taken.items() if value.kind is _Kind.FLAG}
    for name, value in taken.items():
        value.kind = _Kind.KNOWN if name in flags else value.kind or _Kind.SLOT
    numbers = tuple(name for name, value in taken.items() if value.kind is _Kind.NUMBER)
    slots = tuple(name for name, value in taken.items() if value.kind is _Kind.SLOT)
    _Reader(template, taken, _that_is_shown, may_take_more=False).read_template(template)
    return FragmentNames({**shape, **flags}, slots, numbers, frozenset((*slots, *numbers)))


# ---- Templates


class _Kind(Enum):
    SLOT = auto()
    NUMBER = auto()
    FLAG = auto()  # true or false
    KNOWN = auto()  # it has a value while the template is rendered


_Find = Callable[[str, Sequence[Origin]], Any]  # the compiled template of a name. It is none of these files


def _that_is_shown(name: str, without: Sequence[Origin]) -> Any:
    return Engine.get_default().find_template(name, skip=list(without))[0]


def _that_came_with_the_code(name: str, without: Sequence[Origin]) -> Any:
    """The last template of this name: those in the folders before it replace it. One in the folder of an app, behind
    all of these, is never shown."""
    found = _that_is_shown(name, without)
    try:
        behind = _that_came_with_the_code(name, [*without, found.origin])
    except TemplateDoesNotExist:
        return found
    return behind if behind.origin.loader is found.origin.loader else found


# ---- The names of a template


@dataclass(slots=True, eq=False)
class _Value:
    """What a name stands for. Several names may stand for the same, within `{% with %}`."""

    name: str
    kind: _Kind | None = None  # None until a use of the name says it
    is_used: bool = False


def _constants(*names: str) -> dict[str, _Value]:
    return {name: _Value(name, _Kind.KNOWN) for name in names}


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the nodes of a template in the order in which they are rendered."""

    template: str
    taken: dict[str, _Value]  # the names that the template does not bind itself
    find: _Find
    may_take_more: bool = True  # a new name becomes what its first use says
    bound: dict[str, _Value] = field(default_factory=lambda: _constants("True", "False", "None"))
    blocks: dict[str, list[Node]] = field(default_factory=dict)  # by name, those that replace others first
    replaced: Sequence[Node] = ()  # what `{{ block.super }}` shows, and what that one replaces
    extending: list[Origin] = field(default_factory=list)  # the files that extend others, from the first on

    def read_template(self, name: str) -> None:
        self.read(self.find(name, self.extending).nodelist)

    def read(self, nodes: NodeList) -> None:
        for node in nodes:
            self._node(node)

    def _node(self, node: Node) -> None:
        if isinstance(node, (TextNode, defaulttags.CommentNode, defaulttags.LoadNode, StaticNode)):
            return
        if isinstance(node, VariableNode):
            self._variable(node)
        elif isinstance(node, defaulttags.IfNode):
            self._if(node)
        elif isinstance(node, defaulttags.ForNode):
            self._for(node)
        elif isinstance(node, defaulttags.URLNode):
            self._url(node)
        elif isinstance(node, (defaulttags.WithNode, loader_tags.IncludeNode)):
            self._with(node)
        elif isinstance(node, i18n.TranslateNode):
            self._bind(node.asvar, self._shows(node.filter_expression))
        elif isinstance(node, i18n.BlockTranslateNode):
            self._blocktranslate(node)
        elif isinstance(node, (i18n.GetCurrentLanguageNode, i18n.GetCurrentLanguageBidiNode)):
            self._bind(node.variable, _Kind.KNOWN)
        elif isinstance(node, defaulttags.CsrfTokenNode):
            self._shown(self._value("csrf_token"))
        elif isinstance(node, loader_tags.BlockNode):
            self._block(node)
        elif isinstance(node, loader_tags.ExtendsNode):
            self._extends(node)
        else:
            raise self._error(f"a fragment cannot have the tag {type(node).__name__}")

    # ---- what a use of a name says of it

    def _value(self, name: str) -> _Value:
        value = self.bound.get(name) or self.taken.get(name)
        if value is None:
            if not self.may_take_more:
                raise self._error(f"{name} is not given: the template that this one replaces does not have it")
            value = self.taken[name] = _Value(name)
        value.is_used = True
        return value

    def _of(self, expression: Any) -> _Value:
        """What an expression stands for. A filter, and `a.b`, need a value."""
        for _, arguments in expression.filters:
            for is_variable, argument in arguments:
                if is_variable and argument.lookups:
                    self._needed(self._value(argument.lookups[0]), expression)
        lookups = _lookups(expression)
        if not lookups:
            return _Value("", _Kind.KNOWN)
        value = self._value(lookups[0])
        if len(lookups) == 1 and not expression.filters:
            return value
        self._needed(value, expression)
        return _Value("", _Kind.KNOWN)

    def _shows(self, expression: Any) -> _Kind:
        return self._shown(self._of(expression))

    def _shown(self, value: _Value) -> _Kind:
        """Returns KNOWN or SLOT: what a text is in which this value is shown."""
        self._never_asked(value)
        value.kind = value.kind or _Kind.SLOT
        return _Kind.KNOWN if value.kind is _Kind.KNOWN else _Kind.SLOT

    def _asked(self, value: _Value, expression: Any) -> None:
        """The template asks whether this value is true."""
        value.kind = value.kind or _Kind.FLAG
        if value.kind is not _Kind.FLAG:
            self._needed(value, expression)

    def _needed(self, value: _Value, expression: Any) -> None:
        if value.kind is not _Kind.KNOWN:
            what = "has no declared values" if value.kind in (_Kind.FLAG, None) else "is a slot"
            raise self._error(f"`{expression.token}` needs the value of {value.name}, which {what}. {_remedy(value)}")

    def _never_asked(self, value: _Value) -> None:
        if value.kind is _Kind.FLAG:
            raise self._error(f"an {{% if %}} needs the value of {value.name}, which is also shown. {_remedy(value)}")

    def _counted(self, value: _Value, expression: Any) -> None:
        self._never_asked(value)
        if value.kind is None or (value.kind is _Kind.SLOT and self.may_take_more and value in self.taken.values()):
            value.kind = _Kind.NUMBER
        if value.kind not in (_Kind.NUMBER, _Kind.KNOWN):
            raise self._error(f"{expression.token} counts, so it must be a number")

    def _bind(self, name: str | None, kind: _Kind) -> None:
        if name is not None:
            self.bound[name] = _Value(name, kind)

    def _within(self, bound: Mapping[str, _Value]) -> "_Reader":
        """A reader of an inner part of the template. What is bound there is not bound afterwards."""
        return replace(self, bound={**self.bound, **bound})

    def _error(self, text: str) -> FragmentError:
        return FragmentError(f"{self.template}: {text}")

    # ---- nodes

    def _variable(self, node: VariableNode) -> None:
        if _lookups(node.filter_expression) != ("block", "super"):
            self._shows(node.filter_expression)
        elif self.replaced:
            self._first_of(self.replaced)

    def _if(self, node: Any) -> None:
        for condition, nodes in node.conditions_nodelists:
            for expression, is_compared in _conditions(condition):
                use = self._needed if is_compared else self._asked
                use(self._of(expression), expression)
            self.read(nodes)

    def _for(self, node: Any) -> None:
        self._needed(self._of(node.sequence), node.sequence)
        self._within(_constants("forloop", *node.loopvars)).read(node.nodelist_loop)
        self.read(node.nodelist_empty)

    def _url(self, node: Any) -> None:
        kinds = {self._shows(expression) for expression in (node.view_name, *node.args, *node.kwargs.values())}
        self._bind(node.asvar, _Kind.SLOT if _Kind.SLOT in kinds else _Kind.KNOWN)

    def _with(self, node: Any) -> None:
        inner = self._within({name: self._of(expression) for name, expression in node.extra_context.items()})
        if isinstance(node, defaulttags.WithNode):
            inner.read(node.nodelist)
        else:
            replace(inner, blocks={}, replaced=(), extending=[]).read_template(self._constant(node.template))

    def _block(self, node: Any) -> None:
        others = self.blocks.get(node.name, [])
        self._first_of(others if node in others else [*others, node])

    def _first_of(self, blocks: Sequence[Any]) -> None:
        replace(self._within({}), replaced=blocks[1:]).read(blocks[0].nodelist)

    def _extends(self, node: Any) -> None:
        """As in Django, a template can extend the one of its own name in a later folder."""
        for name, block in node.blocks.items():
            self.blocks.setdefault(name, []).append(block)
        self.extending.append(node.origin)
        self.read_template(self._constant(node.parent_name))

    def _constant(self, expression: Any) -> str:
        if _lookups(expression):
            raise self._error("a fragment names the templates that it extends and includes")
        return str(expression.var)

    def _blocktranslate(self, node: Any) -> None:
        inner = self._within({name: self._of(expression) for name, expression in node.extra_context.items()})
        if node.countervar:
            number = self._of(node.counter)
            self._counted(number, node.counter)
            inner.bound[node.countervar] = number
        texts = (*node.singular, *node.plural)
        kinds = {inner._shown(inner._value(text.contents)) for text in texts if text.token_type == TokenType.VAR}
        self._bind(node.asvar, _Kind.SLOT if _Kind.SLOT in kinds else _Kind.KNOWN)


def _remedy(value: _Value) -> str:
    return f'Ask a name that is not shown, or declare the values that it may have: shape={{"{value.name}": (...)}}'


def _lookups(expression: Any) -> Sequence[str]:
    """The names of an expression: `a.b` has two, a text or a number has none."""
    return getattr(expression.var, "lookups", None) or ()


def _conditions(condition: Any, is_compared: bool = False) -> Iterator[tuple[Any, bool]]:
    """The expressions in the condition of an `{% if %}`, and whether each is compared with something."""
    if condition is None:  # {% else %}
        return
    if isinstance(condition, defaulttags.TemplateLiteral):
        yield condition.value, is_compared
        return
    for part in (condition.first, condition.second):
        yield from _conditions(part, is_compared or condition.id not in JOINS)
