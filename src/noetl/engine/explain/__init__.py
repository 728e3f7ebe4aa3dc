"""Answers from the log alone: why an arc was taken, why a step did not run, who wrote a value, what is awaited.

Each answer is a typed value with a `text` in plain words.
"""
