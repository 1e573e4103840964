"""`{% load people %}`: a user's picture, `{% avatar person.uid %}`, and a name for titles, `{{ person|isolated }}`."""

from django import template
from django.template.base import FilterExpression, Parser, Token
from django.template.context import Context

from accounts.users import avatars
from accounts.users.names import isolated

register = template.Library()
register.filter("isolated", isolated)


class AvatarNode(template.Node):
    """Writes the picture without escaping it. That is safe: it is made from a number alone."""

    def __init__(self, uid: FilterExpression) -> None:
        self._uid = uid

    def render(self, context: Context) -> str:
        return avatars.avatar(int(self._uid.resolve(context)))


@register.tag
def avatar(parser: Parser, token: Token) -> AvatarNode:
    _, uid = token.split_contents()
    return AvatarNode(parser.compile_filter(uid))
