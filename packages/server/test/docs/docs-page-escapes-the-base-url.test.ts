import fc from 'fast-check';
import { expect, test } from 'vitest';
import { getDocsPage } from './docs-page.ts';

const elementsOf = (page: string) => page.match(/<[^>]*>/g);

const hostileUrl = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'<>&"\'`/= \n$%ax') }),
  fc.constantFrom(
    '"><script>alert(1)</script>',
    "' onload='x",
    '</style><script>',
    '</code></pre><img src=x>',
    '<!--',
    '$&$1',
  ),
);

test('no base URL adds, removes or changes an element', async () => {
  const expected = elementsOf(await getDocsPage());
  await fc.assert(
    fc.asyncProperty(hostileUrl, async (url) => {
      expect(elementsOf(await getDocsPage(url))).toEqual(expected);
    }),
  );
});

test('the base URL is escaped and otherwise unchanged', async () => {
  expect(await getDocsPage('<$&>')).toContain('<dd><code>&#60;$&#38;&#62;</code></dd>');
});
