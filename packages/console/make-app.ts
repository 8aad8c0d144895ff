import { readFileSync } from 'node:fs';

const FOLDER = new URL('../../integrations/make/', import.meta.url);

/** `| part | tab | file |` of the table in README.md, whose first column is empty for further tabs of a part. */
const ROW = /^\| (.*?) ?\| (.+?) \| `(.+?)` \|$/gm;

const escapeText = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const withMarks = (text: string): string =>
  escapeText(text)
    .replace(/\*(.+?)\*/g, '<b>$1</b>')
    .replace(/`(.+?)`/g, '<code>$1</code>');

/** A page with all parts of the custom app for Make, in the order in which they are pasted. */
export function renderMakeApp(): string {
  const rows = readFileSync(new URL('README.md', FOLDER), 'utf8').matchAll(ROW);
  const parts = [...rows].map(([, part = '', tab = '', file = '']) => {
    const text = readFileSync(new URL(file, FOLDER), 'utf8');
    return `${part && `<h2>${withMarks(part)}</h2>\n`}<h3>${escapeText(tab)} <button>Copy</button></h3>\n<pre>${escapeText(text)}</pre>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Leadtap for Make</title>
<style>
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
h2 { border-top: 1px solid; padding-top: 1rem; }
pre { max-height: 12rem; overflow: auto; padding: 1rem; border: 1px solid; }
</style>
</head>
<body>
<h1>Leadtap for Make</h1>
<p>In Make, under <b>Custom apps</b>, create an app named <code>leadtap</code>. Then create its parts in this order, and paste each text into the tab of its name.</p>
${parts.join('\n')}
<script>
for (const button of document.querySelectorAll('button'))
  button.onclick = async () => {
    const code = button.parentElement.nextElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = 'Selected: copy it';
    }
  };
</script>
</body>
</html>
`;
}
