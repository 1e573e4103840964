"""Appeals against sanctions, as they are stored."""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Appeal:
    """What a person says about what is imposed on them."""

    uid: int
    act_id: str  # of the act that imposed it
    text: str
    at: int  # unix seconds

    @property
    def member(self) -> str:
        """In the sorted set of open appeals."""
        return f"{self.uid}:{self.act_id}"

    def stored(self) -> str:
        """As the field `appeal` of the person's hash."""
        return json.dumps({"act": self.act_id, "at": self.at, "text": self.text}, ensure_ascii=False)


def answer_of(act_id: str) -> str:
    """The field with the decision about an appeal against the sanction of this act."""
    return f"answer:{act_id}"


def read_appeal(uid: int, stored: str | None) -> Appeal | None:
    """The appeal in the field `appeal`; None for any other text."""
    try:
        fields = json.loads(stored or "{}")
        act_id, text, at = fields["act"], fields["text"], fields["at"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(act_id, str) or not isinstance(text, str) or not isinstance(at, int):
        return None
    return Appeal(uid, act_id, text, at)
