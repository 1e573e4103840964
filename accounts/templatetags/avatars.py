"""A user's picture in a template: `{% avatar person.uid %}`."""

from django import template
from django.template.base import FilterExpression, Parser, Token
from django.template.context import Context

from accounts import avatars

register = template.Library()


class AvatarNode(template.Node):
    """What a node renders is not escaped: all of this is ours, and it is made from nothing but a number."""

    def __init__(self, uid: FilterExpression) -> None:
        self._uid = uid

    def render(self, context: Context) -> str:
        return avatars.avatar(int(self._uid.resolve(context)))


@register.tag
def avatar(parser: Parser, token: Token) -> AvatarNode:
    _, uid = token.split_contents()
    return AvatarNode(parser.compile_filter(uid))
