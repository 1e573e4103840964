"""`make bench` answers three questions: how fast are pages (`speed`), how does their time grow (`growth`), and how much
memory does a site take (`memory`)."""
