"""How the page looks: calm on light and on dark ground, narrow and wide, and on paper. All of it is here; nothing is loaded."""

STYLE = """
:root {
  --ground: #f6f7f9; --card: #ffffff; --ink: #1c2530; --soft: #566270; --rule: #e2e6eb; --code: #f0f2f5;
  --good: #08734f; --bad: #b23415; --warn: #8a5a00; --calm: #2563a8;
  --good-ground: #e7f5ef; --bad-ground: #fdeeea; --warn-ground: #fdf4e0; --calm-ground: #e9f1fa;
  color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f1318; --card: #161b22; --ink: #dde3ea; --soft: #93a0ae; --rule: #262e38; --code: #1e252e;
    --good: #4cc79b; --bad: #ff8f6e; --warn: #e6b450; --calm: #79b1ea;
    --good-ground: #10261f; --bad-ground: #2c1812; --warn-ground: #2a2110; --calm-ground: #12222f;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink); overflow-wrap: break-word;
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
main { max-width: 1200px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 1.55rem; line-height: 1.3; margin: 6px 0 16px; font-weight: 650; }
h2 { font-size: 1.1rem; margin: 38px 0 12px; font-weight: 650; }
h3 {
  font-size: .78rem; margin: 20px 0 6px; letter-spacing: .05em;
  text-transform: uppercase; color: var(--soft); font-weight: 650;
}
p { margin: 6px 0; }
ul { margin: 4px 0; padding-left: 20px; }
a { color: var(--calm); }
code, pre { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { background: var(--code); padding: 1px 5px; border-radius: 4px; }
pre {
  background: var(--code); padding: 10px 12px; border-radius: 6px; margin: 6px 0;
  white-space: pre-wrap; max-height: 26em; overflow: auto;
}
.soft { color: var(--soft); }
.small { font-size: .85rem; }
.over { color: var(--soft); font-size: .85rem; display: flex; gap: 8px 14px; align-items: center; flex-wrap: wrap; }
.mark {
  display: inline-block; padding: 0 9px; border-radius: 10px;
  font-size: .82rem; line-height: 1.6; font-weight: 600; white-space: nowrap;
}
.good { color: var(--good); background: var(--good-ground); }
.bad { color: var(--bad); background: var(--bad-ground); }
.warn { color: var(--warn); background: var(--warn-ground); }
.calm { color: var(--calm); background: var(--calm-ground); }
.neutral { color: var(--soft); background: var(--code); }
.why { border-left: 4px solid; border-radius: 6px; padding: 12px 18px; }
.why > * { color: var(--ink); }
.why code { background: var(--card); }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 14px 18px; min-width: 0; }
.numbers { display: grid; grid-template-columns: repeat(auto-fill, minmax(230px, 1fr)); gap: 12px; margin-top: 18px; }
.numbers .card { padding: 11px 15px; }
.numbers .name, .numbers .note { color: var(--soft); font-size: .82rem; }
.numbers .value { font-size: 1.4rem; line-height: 1.35; font-weight: 600; font-variant-numeric: tabular-nums; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 14px; }
.charts figure { margin: 0; padding: 8px 8px 4px; }
.chart { display: block; width: 100%; height: auto; }
.chart .ink { fill: var(--soft); }
.chart .head { fill: var(--ink); }
.chart .grid { stroke: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 18px; margin: 6px 0; }
dt { color: var(--soft); }
dd { margin: 0; }
table { border-collapse: collapse; width: 100%; margin: 6px 0; }
th, td { text-align: left; vertical-align: top; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--rule); }
td { max-width: 40rem; }
td code { white-space: nowrap; }
th { white-space: nowrap; color: var(--soft); font-weight: 600; font-size: .82rem; }
.list { padding: 0; overflow: hidden; }
.row {
  display: grid; gap: 0 14px; padding: 8px 18px; align-items: baseline; font-variant-numeric: tabular-nums;
  grid-template-columns: 4.4rem 7.2rem minmax(8rem, 1.3fr) minmax(7rem, 1fr) 6rem 8.6rem 7.4rem 4.4rem;
}
.heading { color: var(--soft); font-size: .82rem; font-weight: 600; border-bottom: 1px solid var(--rule); }
.row > * { min-width: 0; }
.row .line { grid-column: 2 / -1; color: var(--soft); font-size: .85rem; }
.row .mark { margin: 1px 6px 1px 0; }
header > details { margin: -8px 0 14px; }
header summary { color: var(--soft); font-size: .88rem; }
.list > details { border-bottom: 1px solid var(--rule); }
.list > details:last-child { border-bottom: 0; }
summary { cursor: pointer; }
section > details { margin-top: 14px; }
summary.row { list-style: none; }
summary.row::-webkit-details-marker { display: none; }
summary.row:hover { background: var(--code); }
summary:focus-visible { outline: 2px solid var(--calm); outline-offset: -2px; }
.number::before { content: "▸ "; color: var(--soft); }
details[open] > summary .number::before { content: "▾ "; }
.inside { overflow-x: auto; padding: 2px 18px 18px calc(4.4rem + 32px); }
.inside details > summary { color: var(--soft); font-size: .88rem; }
progress { width: 4.2rem; height: .5rem; vertical-align: middle; accent-color: var(--calm); }
footer { margin-top: 36px; color: var(--soft); font-size: .85rem; }
@media (max-width: 820px) {
  body { overflow-wrap: anywhere; }
  td { max-width: none; }
  .numbers { grid-template-columns: 1fr 1fr; }
  .row { display: flex; flex-wrap: wrap; gap: 2px 14px; padding: 8px 14px; }
  .row .line { flex-basis: 100%; }
  thead { display: none; }
  tr { display: block; padding: 6px 0; border-bottom: 1px solid var(--rule); }
  td { display: block; border-bottom: 0; padding: 1px 0; }
  .heading { display: none; }
  .inside { overflow-x: auto; padding-left: 18px; }
}
@media print {
  :root { --ground: #fff; --card: #fff; --ink: #000; --soft: #444; --rule: #ccc; --code: #f4f4f4; color-scheme: light; }
  main { max-width: none; padding: 0; }
  pre { max-height: none; }
  .card, .row { break-inside: avoid; }
  .list { overflow: visible; }
}
"""
