"""Users' names and posts' ids in addresses."""

from retwis_site.store.ids import parse_id


class UsernameConverter:
    """Any name a database may hold. A slash, which would end the path's segment, travels as %2F within the segment,
    and the percent sign as %25; ordinary names look as they are."""

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        return value.replace("%2F", "/").replace("%25", "%")

    def to_url(self, value: str) -> str:
        return value.replace("%", "%25").replace("/", "%2F")


class IdConverter:
    """A post's id. A number that no post can have is no address: 404."""

    regex = "[0-9]+"

    def to_python(self, value: str) -> int:
        number = parse_id(value)
        if number is None:
            raise ValueError(value)
        return number

    def to_url(self, value: int) -> str:
        return str(value)
