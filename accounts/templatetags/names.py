"""A user's name where no element can stand around it: `{{ person|isolated }}`."""

from django import template

from accounts.names import isolated

register = template.Library()
register.filter("isolated", isolated)
