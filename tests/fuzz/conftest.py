"""The fuzzer by coverage needs atheris, which the tests do not: it is a program, not a test."""

collect_ignore = ["fuzz_coverage.py"]
