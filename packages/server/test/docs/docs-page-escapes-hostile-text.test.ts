import { openApiDocument } from '@leadtap/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codeBlock, html, prose } from '../../src/http/docs/html.ts';
import { docsPage } from '../../src/http/docs-page.ts';

const tags = (page: string) => page.match(/<[^>]*>/g)?.filter((tag) => !tag.startsWith('<meta'));
const harmless = tags(docsPage(openApiDocument('1', 'https://leads.acme.test')));

const hostile = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'<>&"\'`/= \nax') }),
  fc.constantFrom(
    '"><script>alert(1)</script>',
    "' onload='x",
    '</style><script>',
    '</code></pre><img src=x>',
    '<!--',
  ),
);

test('no address and no version adds, removes or changes an element', () => {
  fc.assert(
    fc.property(hostile, hostile, (version, url) => {
      // Comments in code are marked up; an address with two slashes and a space in it looks like one.
      fc.pre(!url.includes('// '));
      expect(tags(docsPage(openApiDocument(version, url)))).toEqual(harmless);
    }),
  );
});

test('a template escapes values, in text and in attributes', () => {
  expect(html`<a title="${'"\'>'}">${'<b>&amp;'}</a>`.markup).toBe(
    '<a title="&quot;&#39;&gt;">&lt;b&gt;&amp;amp;</a>',
  );
});

test('prose marks code and escapes both', () => {
  expect(prose('use `<b>` & go').markup).toBe('use <code>&lt;b&gt;</code> &amp; go');
});

test('a block of code escapes what it marks', () => {
  expect(codeBlock('a < b; // <i>').markup).toBe(
    '<pre tabindex="0"><code>a &lt; b; <i>// &lt;i&gt;</i></code></pre>',
  );
});
