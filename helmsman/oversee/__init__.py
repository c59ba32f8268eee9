"""How the loop behaves, and what follows from it.

`overseeing` puts it together: an iteration's evidence in, signals and an `Oversight` out. The iteration is remembered as a moment
(`moments`, `movement`, `progress`), looked at by itself (`signals`, `pain`) and with those before it (`detectors/`, `drift`,
`diagnosis`, `divergence`, `learning`, `variety`), and moves the modes of the loop on (`control/`, `ladder`, `feedback`). What is
ordered is read by `imperatives` and compared by `conflicts`. Then `decide/` chooses.

The rest is about people who are asked (`gates`, `answers`, `relief`, `escalations`, `commands_said`), about the way of proven
work into another branch and the tree that a loop is left at (`landing`, `ending`), and about groups of loops (`grouping`,
`shares`, `best`).
"""
