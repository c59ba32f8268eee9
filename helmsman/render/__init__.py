"""What people see of records: charts, a page, a dashboard. Pure: records in, text out.

Three kinds of text, each with its own way to keep foreign words from being more than words: HTML and SVG of `markup` (`page`,
`details`, `charts`), Markdown of `cells` (`dashboard`, `tables`, `asking`, `issues`), and plain rows (`terminal`, `gates`).
"""
