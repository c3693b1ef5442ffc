"""`datum doctor`: what this agent depends on, looked at piece by piece. Reads only, and leaves no trace.

Each module is one group: a small reader of facts, and judgements over them that are pure. One that breaks takes no
other one along (ADR 0051).
"""
