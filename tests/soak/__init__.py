"""The long tests: `make soak`, or `python -m tests.soak --minutes 5 seeds twins`.

`work` says what is done and how much of it, `running` does it on all cores until it is done, fails
or the time is up.
"""
