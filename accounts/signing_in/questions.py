"""What a page asks of the store, in the round trip that checks the viewer."""

from typing import Generic, Protocol, TypeVar

from retwis_site.store.client import Pipe

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Question(Protocol[T_co]):
    """What a page asks of the store. An object asks once: when a cached hint was wrong, a new object is made."""

    def queue(self, pipe: Pipe, me: int | None) -> None:
        """Queue the page's commands. `me`: the viewer's uid, None for a visitor."""

    def result(self) -> T_co:
        """What the replies say. It is called at most once, and only for an object whose hints were right."""


class UserQuestion(Protocol[T_co]):
    """What a page asks that is for users alone."""

    def queue(self, pipe: Pipe, me: int) -> None: ...
    def result(self) -> T_co: ...


class QuestionAbout(Protocol[T_co]):
    """What a page about a user asks, such as a profile. `them`: that user's uid."""

    def queue(self, pipe: Pipe, me: int | None, them: int) -> None: ...
    def result(self) -> T_co: ...


class Nothing:
    """Asks nothing: only the viewer, or the user with a name, is checked."""

    def queue(self, pipe: Pipe, *uids: int | None) -> None: ...
    def result(self) -> None: ...


class IfSignedIn(Generic[T]):
    """Asks only for a user. The result is the question, whose own result a visitor must not use."""

    def __init__(self, question: UserQuestion[T]) -> None:
        self._question = question

    def queue(self, pipe: Pipe, me: int | None) -> None:
        if me is not None:
            self._question.queue(pipe, me)

    def result(self) -> UserQuestion[T]:
        return self._question
