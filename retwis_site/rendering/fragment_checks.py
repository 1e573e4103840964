"""Compares a fragment's template with its declaration, when the template is loaded.

It reads the compiled template, with those that it extends and includes. So it also finds a mistake in a branch of an
`{% if %}` that no page has shown yet.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.template import Engine, Origin, loader
from django.template.base import Node, NodeList, TextNode, TokenType, VariableNode
from django.template.defaulttags import (
    CommentNode,
    CsrfTokenNode,
    ForNode,
    IfNode,
    LoadNode,
    TemplateLiteral,
    URLNode,
    WithNode,
)
from django.template.loader_tags import BlockNode, ExtendsNode, IncludeNode
from django.templatetags.i18n import (
    BlockTranslateNode,
    GetCurrentLanguageBidiNode,
    GetCurrentLanguageNode,
    TranslateNode,
)
from django.templatetags.static import StaticNode


class FragmentError(Exception):
    """A template and the declaration of its fragment disagree, or a fragment was filled wrongly."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """The names that a template may use."""

    template: str
    slots: Sequence[str]
    numbers: Sequence[str]
    known: Sequence[str]  # names with a value while the template is rendered: the shape and the constants


_SLOT, _NUMBER, _KNOWN = "a slot", "a number", "known"


def check(template: Any, declared: Declaration) -> None:
    """Raises FragmentError when the template uses a name that is not declared, when it asks for the value of a slot,
    and when a declared name is not used."""
    kinds = {
        **dict.fromkeys(declared.known, _KNOWN),
        **dict.fromkeys(declared.slots, _SLOT),
        **dict.fromkeys(declared.numbers, _NUMBER),
    }
    reader = _Reader(declared.template, kinds)
    reader.read(template.template.nodelist)
    unused = set(kinds) - reader.used - reader.bound
    if unused:
        raise FragmentError(f"{reader.name}: {', '.join(sorted(unused))} declared but not used")


@dataclass
class _Reader:
    """Reads the nodes of a template in the order of the text."""

    name: str
    kinds: dict[str, str]  # by name; names that the template binds come in while it is read
    used: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    extending: list[Origin] = field(default_factory=list)  # the files that extend others, from the first on
    replaced: set[str] = field(default_factory=set)  # the blocks that these replace

    def read(self, nodes: NodeList) -> None:
        for node in nodes:
            self._node(node)

    def _node(self, node: Node) -> None:
        if isinstance(node, (TextNode, CommentNode, LoadNode, StaticNode)) or _is_super(node):
            return
        if isinstance(node, VariableNode):
            self._kind(node.filter_expression)
        elif isinstance(node, IfNode):
            self._if(node)
        elif isinstance(node, ForNode):
            self._for(node)
        elif isinstance(node, URLNode):
            self._url(node)
        elif isinstance(node, (WithNode, IncludeNode)):
            self._with(node)
        elif isinstance(node, TranslateNode):
            self._bind(node.asvar, self._kind(node.filter_expression))
        elif isinstance(node, BlockTranslateNode):
            self._blocktranslate(node)
        elif isinstance(node, (GetCurrentLanguageNode, GetCurrentLanguageBidiNode)):
            self._bind(node.variable, _KNOWN)
        elif isinstance(node, CsrfTokenNode):
            self._named("csrf_token")
        elif isinstance(node, BlockNode):
            self.read(node.nodelist)
        elif isinstance(node, ExtendsNode):
            self._extends(node)
        else:
            raise FragmentError(f"{self.name}: a fragment cannot have the tag {type(node).__name__}")

    def _kind(self, expression: Any) -> str:
        """What an expression shows. Raises FragmentError for a name that is not declared, and for a part of a slot."""
        for _, arguments in expression.filters:
            for is_variable, argument in arguments:
                if is_variable and argument.lookups:
                    self._asks(argument.lookups[0], expression)
        lookups = _lookups(expression)
        if not lookups:
            return _KNOWN
        if len(lookups) > 1 or expression.filters:
            self._asks(lookups[0], expression)
        return self._named(lookups[0])

    def _named(self, name: str) -> str:
        if name not in self.kinds:
            raise FragmentError(f"{self.name}: {name} is not declared")
        self.used.add(name)
        return self.kinds[name]

    def _asks(self, name: str, expression: Any) -> None:
        """The template needs the value of this name."""
        if self._named(name) != _KNOWN:
            raise FragmentError(f"{self.name}: `{expression.token}` needs the value of {name}, which is a slot")

    def _bind(self, name: str | None, kind: str) -> None:
        if name is not None:
            self.kinds[name] = kind
            self.bound.add(name)

    def _if(self, node: Any) -> None:
        for condition, nodes in node.conditions_nodelists:
            for literal in _literals(condition):
                self._kind(literal.value)
                for name in _lookups(literal.value)[:1]:
                    self._asks(name, literal.value)
            self.read(nodes)

    def _for(self, node: Any) -> None:
        if self._kind(node.sequence) != _KNOWN:
            raise FragmentError(f"{self.name}: a loop over {node.sequence.token}, which is a slot")
        for name in node.loopvars:
            self._bind(name, _KNOWN)
        self.read(node.nodelist_loop)
        self.read(node.nodelist_empty)

    def _url(self, node: Any) -> None:
        kinds = [self._kind(expression) for expression in (node.view_name, *node.args, *node.kwargs.values())]
        self._bind(node.asvar, _SLOT if set(kinds) - {_KNOWN} else _KNOWN)

    def _with(self, node: Any) -> None:
        for name, expression in node.extra_context.items():
            self._bind(name, self._kind(expression))
        if isinstance(node, WithNode):
            self.read(node.nodelist)
        else:
            included: Any = loader.get_template(self._constant(node.template))
            self.read(included.template.nodelist)

    def _extends(self, node: Any) -> None:
        """First the template's own blocks, which bind names for those that they replace. As in Django, a template can
        extend the one of its own name in a later folder."""
        self._without_replaced(node.nodelist)
        self.extending.append(node.origin)
        self.replaced |= {name for name, block in node.blocks.items() if not _shows_replaced(block)}
        parent, _ = Engine.get_default().find_template(self._constant(node.parent_name), skip=self.extending)
        self._without_replaced(parent.nodelist)

    def _without_replaced(self, nodes: NodeList) -> None:
        self.read(NodeList(node for node in nodes if getattr(node, "name", None) not in self.replaced))

    def _constant(self, expression: Any) -> str:
        if _lookups(expression):
            raise FragmentError(f"{self.name}: a fragment names the templates that it extends and includes")
        return str(expression.var)

    def _blocktranslate(self, node: Any) -> None:
        kinds = {name: self._kind(expression) for name, expression in node.extra_context.items()}
        if node.countervar:
            kinds[node.countervar] = self._kind(node.counter)
            if kinds[node.countervar] == _SLOT:
                raise FragmentError(f"{self.name}: {node.counter.token} counts, so it must be a number")
        shown = [token.contents for token in (*node.singular, *node.plural) if token.token_type == TokenType.VAR]
        for name in shown:
            kinds[name] = kinds[name] if name in kinds else self._named(name)
        self._bind(node.asvar, _SLOT if any(kinds[name] != _KNOWN for name in shown) else _KNOWN)


def _is_super(node: Node) -> bool:
    """Whether a node is `{{ block.super }}`."""
    return isinstance(node, VariableNode) and _lookups(node.filter_expression) == ("block", "super")


def _shows_replaced(block: Node) -> bool:
    """Whether a block also shows the one that it replaces."""
    return any(map(_is_super, block.get_nodes_by_type(VariableNode)))


def _lookups(expression: Any) -> Sequence[str]:
    """The names of an expression: `a.b` has two, a text or a number has none."""
    return getattr(expression.var, "lookups", None) or ()


def _literals(condition: Any) -> Iterator[Any]:
    """The values that an `{% if %}` compares."""
    if condition is None:  # {% else %}
        return
    if isinstance(condition, TemplateLiteral):
        yield condition
        return
    for part in (condition.first, condition.second):
        yield from _literals(part)
