"""The parts of a text for which a post was found: pages highlight them."""

from collections.abc import Iterable, Iterator, Sequence

from timeline.language.words import Word
from timeline.posts.parsing.tags import folded, may_have_tags, tags
from timeline.search.queries.entities import OneWord, Part, Phrase, Query, Span, WithTag
from timeline.search.queries.searched_texts import searched


def marks(query: Query, text: str) -> tuple[Span, ...]:
    """In their order; none overlap."""
    known = searched(text)
    forms = {form for part in query.wanted if isinstance(part, OneWord) for form in known.forms_of(part)}
    spans = [Span(word.start, word.end) for word in known.words if word.folded in forms]
    spans += [span for part in query.wanted for span in _spans(part, text, known.words)]
    return tuple(_without_overlaps(sorted(spans)))


def _spans(part: Part, text: str, found: Sequence[Word]) -> Iterable[Span]:
    """Of a part that is no word."""
    match part:
        case OneWord(is_run=True):
            return [span for word in found for span in _inside(word, part)]
        case Phrase(words=(run,)) if run.is_run:
            return [span for word in found for span in _inside(word, run)]
        case Phrase():
            return _of_phrase(part.words, found)
        case WithTag() if may_have_tags(text):
            found_tags = tags(text, 0, len(text))
            return [Span(one.start, one.end) for one in found_tags if folded(one.name) == part.folded]
    return ()


def _inside(word: Word, part: OneWord) -> Iterator[Span]:
    """Where a run is a part of this word."""
    start = word.folded.find(part.folded)
    while start >= 0:
        end = start + len(part.folded)
        yield _span(word, start, end)
        start = word.folded.find(part.folded, end)


def _of_phrase(phrase: Sequence[OneWord], found: Sequence[Word]) -> Iterator[Span]:
    """Where the words of a phrase stand one after the other. A run at an end may be a part of a longer one."""
    first, last = phrase[0], phrase[-1]
    middle = [one.folded for one in phrase[1:-1]]
    folded_words = [one.folded for one in found]
    for at in range(len(found) - len(phrase) + 1):
        begin, end = found[at], found[at + len(phrase) - 1]
        if not begin.folded.endswith(first.folded) or not end.folded.startswith(last.folded):
            continue
        whole = (first.is_run or begin.folded == first.folded) and (last.is_run or end.folded == last.folded)
        if whole and folded_words[at + 1 : at + len(phrase) - 1] == middle:
            start = _span(begin, len(begin.folded) - len(first.folded), len(begin.folded)).start
            yield Span(start, _span(end, 0, len(last.folded)).end)


def _span(word: Word, start: int, end: int) -> Span:
    """Where a part of a folded word is in the text; the whole word when folding has changed its length."""
    if len(word.folded) != word.end - word.start:
        return Span(word.start, word.end)
    return Span(word.start + start, word.start + end)


def _without_overlaps(spans: Iterable[Span]) -> Iterator[Span]:
    last: Span | None = None
    for span in spans:
        if last is not None and span.start < last.end:
            last = Span(last.start, max(last.end, span.end))
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last
