"""The structure of a playbook as data: every object, its keys, their types and what they mean.

Words of older dialects are listed too, each with the code of the rule that explains it, so that an old
playbook gets the advice it needs rather than "unknown key".
"""
