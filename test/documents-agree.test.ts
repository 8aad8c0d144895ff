import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const read = (page: string) => readFileSync(fileURLToPath(new URL(`../${page}`, import.meta.url)), 'utf8');

test('compose.yaml runs the PostgreSQL that the tests run on', () => {
  const tested = /tested on (\d+)\)/.exec(read('docs/postgresql.md'))?.[1];
  const images = [...read('compose.yaml').matchAll(/image: postgres:(\d+)/g)].map(([, version]) => version);
  expect(images).toEqual([tested, tested]);
});

test('no dependency asks for a Node.js that is newer than 20, so that npm ci warns of none', () => {
  const { packages }: { packages: Record<string, { engines?: { node?: string } }> } = JSON.parse(
    read('package-lock.json'),
  );
  const tooNew = Object.entries(packages).filter(([, { engines }]) =>
    /^[\^>=~ ]*2[1-9][^|]*$/.test(engines?.node ?? ''),
  );
  expect(tooNew.map(([path]) => path)).toEqual([]);
});
