"""Behaviour of the loop, and the decisions that follow.

`oversee` combines the parts: an iteration's evidence in, alerts and an `Oversight` out. An iteration is summarized (`summary`,
`progress`), examined alone (`signals`, `critical`) and with earlier ones (`detectors` and `cycles`, `drift`, `diagnosis`,
`plan_gap`, `learning`, `variety`), and changes the state of controller and ladder (`pid`, `ladder`). Each detector is a row of a
table with one interface (`detector`). `imperatives` reads instructions and `conflicts` compares them. Then `decide/` chooses.

The rest handles questions to people (`gates`, `answers`, `escalation`, `comment_commands`), merges of proven work and the tree
at which a loop ends (`merging`, `best`), and groups of loops (`group`).
"""
