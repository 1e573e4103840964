"""The book about the site's Redis, docs/book/. With BOOK=0 it is no feature of the site."""

from retwis_site.features import Feature

FEATURE = Feature(urls="timeline.book.views")
