import { createHash } from 'node:crypto';

/** The style of the page. Narrow screens show the rows of tables as blocks; dark follows the system. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fff; --raised: #f5f8f9; --line: #dce4e8; --ink: #16222c; --soft: #51616d; --accent: #0b6a7b;
  --slab: #13232e; --slab-ink: #e3eef4; --slab-soft: #93adbb; --code: #eaf1f4; --warn: #fdf0d5; --warn-ink: #744a00;
  --fail: #fde7e4; --fail-ink: #91251b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #10181e; --raised: #17222a; --line: #2b3a45; --ink: #e2eaef; --soft: #9fb0bb; --accent: #5cc8da;
    --slab: #0a1116; --slab-ink: #d5e3ea; --slab-soft: #8aa1ae; --code: #1f2d37; --warn: #3d2f10; --warn-ink: #f2c877;
    --fail: #45201c; --fail-ink: #ffb3a8;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: break-word;
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
a { color: var(--accent); text-underline-offset: .2em; }
a:focus-visible, pre:focus-visible, summary:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--paper); z-index: 1; }
body > header { border-bottom: 1px solid var(--line); background: var(--raised); }
body > header > div, .columns { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem; }
body > header > div { padding-top: 2rem; padding-bottom: 2.25rem; }
.brand { display: flex; align-items: center; gap: .5rem; margin: 0 0 1.5rem; font-weight: 650; }
.brand svg { width: 1.4rem; fill: var(--accent); }
.version { font-weight: 400; color: var(--soft); }
h1 { margin: 0; font-size: clamp(2rem, 6vw, 3rem); line-height: 1.1; letter-spacing: -.025em; }
.lede { max-width: 44rem; margin: 1rem 0 1.75rem; font-size: 1.2rem; color: var(--soft); text-wrap: pretty; }
dl { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; margin: 0; }
dt { font-size: .85rem; color: var(--soft); }
dd { margin: 0; }
.columns { padding-bottom: 5rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0; padding: 1.25rem 0 0; list-style: none; }
nav a { display: inline-block; padding: .2rem 0; }
main { min-width: 0; }
h2, h3 { line-height: 1.25; letter-spacing: -.01em; scroll-margin-top: 1.5rem; }
h2 { margin: 3.5rem 0 1rem; font-size: 1.6rem; }
h3 { margin: 2.25rem 0 .5rem; font-size: 1.15rem; }
p { max-width: 46rem; margin: 0 0 1rem; }
code { font: .9em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
p code, td code, dd code {
  padding: .12em .35em; border-radius: .3em; background: var(--code);
  -webkit-box-decoration-break: clone; box-decoration-break: clone;
}
pre {
  margin: 0 0 1.25rem; padding: 1.1rem 1.25rem; overflow-x: auto; border: 1px solid transparent; border-radius: .6rem;
  background: var(--slab); color: var(--slab-ink); tab-size: 2;
}
@media (prefers-color-scheme: dark) { pre { border-color: var(--line); } }
table { width: 100%; margin: 1.5rem 0; border-collapse: collapse; font-size: .94rem; }
caption { padding-bottom: .5rem; text-align: left; font-weight: 650; }
th, td { padding: 0; text-align: left; vertical-align: top; font-weight: 400; }
thead th { color: var(--soft); font-size: .85rem; }
th code, h3 code { font-weight: 600; }
.kind { color: var(--soft); font-size: .85rem; }
pre i { color: var(--slab-soft); font-style: normal; }
summary { cursor: pointer; padding: .5rem 0; color: var(--accent); }
.problem { margin: 0 0 1rem; padding: 1.1rem 1.25rem .35rem; border: 1px solid var(--line); border-radius: .6rem; }
.problem:has(:target) { border-color: var(--accent); background: var(--raised); }
.problem h3 { display: flex; align-items: center; flex-wrap: wrap; gap: .6rem; margin: 0; }
.problem h3 a { color: inherit; text-decoration: none; }
.problem h3 a:hover { text-decoration: underline; }
.title { margin-bottom: .5rem; color: var(--soft); }
.status { padding: .05em .6em; border-radius: 1em; font-size: .8rem; font-weight: 600; }
.s4 { background: var(--warn); color: var(--warn-ink); }
.s5 { background: var(--fail); color: var(--fail-ink); }
@media (min-width: 48rem) {
  th, td { padding: .6rem 1rem .6rem 0; border-bottom: 1px solid var(--line); }
  td:last-child, thead th:last-child { padding-right: 0; }
  .fields { table-layout: fixed; }
  .fields th:first-child { width: 27%; }
  .fields th:last-child { width: 33%; }
  .plain th:first-child { min-width: 9.5rem; }
  .kind { display: block; }
}
@media (max-width: 47.999rem) {
  thead { position: absolute; left: -999rem; }
  table, tbody, tr, th, td, caption { display: block; }
  tr { padding: .8rem 0; border-top: 1px solid var(--line); }
  td { margin-top: .3rem; }
  .plain td::before { content: attr(data-label) ": "; color: var(--soft); }
}
@media (min-width: 64rem) {
  .columns { display: grid; grid-template-columns: 12rem minmax(0, 1fr); gap: 4rem; }
  nav ul { position: sticky; top: 0; display: block; padding-top: 3.6rem; }
  nav a { padding: .3rem 0; color: var(--soft); text-decoration: none; }
  nav a:hover { color: var(--accent); text-decoration: underline; }
}
@media print { nav, .skip { display: none; } pre { white-space: pre-wrap; } }
`;

/** Names this very style to the browser, which then refuses any other. */
export const STYLE_HASH = `sha256-${createHash('sha256').update(STYLE).digest('base64')}`;
