"""`make bench` measures how fast the site is (`bench`). `make growth` measures what a growing site needs (`growth`)."""
