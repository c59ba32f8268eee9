"""How the loop behaves, and what follows from it.

`oversee` puts it together: an iteration's evidence in, alerts and an `Oversight` out. The iteration is remembered as a summary
(`summary`, `progress`), looked at by itself (`signals`, `critical`) and with those before it (`detectors` and `cycles`, `drift`,
`diagnosis`, `plan_gap`, `learning`, `variety`), and moves the modes of the loop on (`pid`, `ladder`). What watches is a row of a
table, in one shape (`detector`). What is ordered is read by `imperatives` and compared by `conflicts`. Then `decide/` chooses.

The rest is about people who are asked (`gates`, `answers`, `escalation`, `commands_said`), about the way of proven
work into another branch and the tree that a loop is left at (`merging`, `best`), and about groups of loops (`group`).
"""
