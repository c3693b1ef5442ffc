"""What reads revisions: in this process, or in one that has no powers (ADR 0047).

`interface` is what the agent asks; `own` answers in this process, `asking` by a child, which runs `serving`. What
passes between them is made by `encode` and read by `decode`, in `frames`.
"""
