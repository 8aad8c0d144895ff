import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { PLATFORM_LIST, PLATFORM_PACKAGES } from '@leadtap/contract';
import { describe, expect, test } from 'vitest';

const ROOT = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
const missing = (paths: readonly string[]) => paths.filter((path) => !existsSync(new URL(path, ROOT)));

test('every folder of integrations is in the table of platforms', () => {
  const ids: readonly string[] = PLATFORM_LIST.map(({ id }) => id);
  expect(readdirSync(new URL('integrations', ROOT)).sort()).toEqual([...ids].sort());
});

describe.each(PLATFORM_LIST)('$name', ({ id, name, hookHosts, downloads }) => {
  test('has its folder with tests, its page, its simulated poller and its downloads', () => {
    const files = [
      `integrations/${id}/test`,
      `docs/integrations/${id}.md`,
      `integrations/${id}/test/poller.ts`,
      ...downloads.map((path) => `integrations/${id}/${path}`),
    ];
    expect(missing(files)).toEqual([]);
  });

  test('is named where people look for it', () => {
    expect(read('README.md')).toContain(name);
    // Generated from packages/testing/pollers/outcomes.ts.
    expect(read('docs/integrations/pollers.md')).toContain(name);
    const [, atOnce = ''] = read('docs/integrations/README.md').split('### Leads at once');
    if (hookHosts.length > 0) expect(atOnce).toContain(name);
  });
});

test.each(['tsconfig.json', 'Dockerfile', 'packages/server/package.json'])(
  '%s builds the packages that the console offers',
  (file) => {
    const text = read(file);
    expect(PLATFORM_PACKAGES.filter((folder) => !text.includes(folder))).toEqual([]);
  },
);
