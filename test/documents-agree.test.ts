import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const read = (page: string) => readFileSync(fileURLToPath(new URL(`../${page}`, import.meta.url)), 'utf8');

test('the memory of Redis for each user is one number', () => {
  const figures = [
    /about (\d+) bytes\s+for each user/.exec(read('docs/operations.md')),
    /(\d+) bytes a user who polled within the hour/.exec(read('docs/scale.md')),
    /1,000,000 × (\d+) bytes/.exec(read('docs/scale.md')),
    /each user of the last hour \| \d+ bytes \| (\d+) bytes/.exec(
      read('docs/decisions/0009-shared-rate-limits.md'),
    ),
  ];
  expect(new Set(figures.map((found) => found?.[1]))).toEqual(new Set(['208']));
});

test('compose.yaml runs the PostgreSQL that the tests run on', () => {
  const tested = /tested on (\d+)\)/.exec(read('docs/postgresql.md'))?.[1];
  const images = [...read('compose.yaml').matchAll(/image: postgres:(\d+)/g)].map(([, version]) => version);
  expect(images).toEqual([tested, tested]);
});

test('the Ingress and its document agree that nginx needs an annotation', () => {
  expect(read('deploy/kubernetes/ingress.yaml')).toContain('made of nginx needs an annotation');
  expect(read('docs/deployment.md')).toContain('nginx.org/proxy-pass-headers');
});

test('README.md says for which clients no lead is lost, and where the losses of others are measured', () => {
  expect(read('README.md')).not.toContain('never\nloses');
  expect(read('README.md')).toContain('docs/integrations/pollers.md');
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
