import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openPage } from '../../testing/browser/page.ts';
import { startService } from '../../testing/harness/service.ts';

const ROOT = new URL('../../../', import.meta.url);
const PICTURE = /<img [^>]*images\/console-(\w+)-[^>]* alt="([^"]*)"/g;

/** The tab of the page, by the name of the file, and the text in place of the picture. */
const pictures = ['README.md', 'docs/console.md', 'docs/integrations/README.md'].flatMap((path) =>
  [...readFileSync(new URL(path, ROOT), 'utf8').matchAll(PICTURE)].map(([, tab = '', alt = '']) => ({
    path,
    tab,
    alt,
  })),
);

it('the texts of the pictures in README and docs begin with the name of their tab, and name all tabs once', async () => {
  const { url } = await startService();
  const page = await openPage(url);
  const links = await page.locator('.bar nav a[href^="#"]').all();
  const tabs = new Map<string, string>();
  for (const link of links)
    tabs.set((await link.getAttribute('href'))?.slice(1) ?? '', (await link.innerText()).trim());
  expect(new Set(pictures.map(({ path }) => path)).size).toBe(3);
  for (const { tab, alt } of pictures) expect(alt.split(/\W/)[0]).toBe(tabs.get(tab));
  const names = pictures.map(({ alt }) => /the tabs ([^:]+):/.exec(alt)?.[1]).filter(Boolean);
  expect(names).toEqual([[...tabs.values()].join(', ').replace(/, (\w+)$/, ' and $1')]);
});
