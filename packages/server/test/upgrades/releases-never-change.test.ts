import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { VERSION } from '../../src/version.ts';
import { LAST_VERSION, RELEASES, VERSIONS } from './release.ts';

/** Add lines for a new version. A line that is here never changes; the line of a program is removed with the program. */
const CHECKSUMS: Readonly<Record<string, string>> = {
  '0.1.0/postgres.json.gz': 'd982ce9bbaeea25a8a5abd6ada7d18cffad87d12a000777f06c285e5d1197b0f',
  '0.1.0/postgres.sql.gz': 'ab99bd17daf03fd35afc30c22f516d0242d57d4b32673bdb902500cf9d089878',
  '0.1.0/program.tar.br': '20f1801cdcb08a27c293348c301e4ab6adc1ca8f16b89e187bf1e84431ad71f1',
  '0.1.0/sqlite.db.gz': 'a9a1429046d8c96e8c18594ded9b45e6a96b8ea059da0c940d72426f9deb701a',
  '0.1.0/sqlite.json.gz': '21ce82092da6e15a51ffa872227f6b2522159a2daa63318f5bd0b79f493b8396',
  '0.2.0/postgres.json.gz': '3ed68808d17859463ca147b7931db65a059bf7ff1a8e00129b8f15dc1fd534a8',
  '0.2.0/postgres.sql.gz': '84febc254d1892fb802188c878d09c33b3c18278ecb845a0cddcb205b629c989',
  '0.2.0/sqlite.db.gz': '8f45a3c2b90454f2557316c49faea2200194d9a09a228ad90817bde329a34802',
  '0.2.0/sqlite.json.gz': '962d6456ca91e344dfa2a1f45fd8b132657a2ce7f71977f0b5d9d37c8a3eb7d9',
};

test('the fixtures of releases are those that were made by them', () => {
  const files = VERSIONS.flatMap((version) =>
    readdirSync(new URL(version, RELEASES)).map((name) => `${version}/${name}`),
  );
  const found = files.map((file) => [
    file,
    createHash('sha256')
      .update(readFileSync(new URL(file, RELEASES)))
      .digest('hex'),
  ]);
  expect(Object.fromEntries(found)).toEqual(CHECKSUMS);
});

test('every version of the changelog has a fixture, and the one before this has its program', () => {
  const changelog = readFileSync(new URL('../../../../CHANGELOG.md', import.meta.url), 'utf8');
  const released = [...changelog.matchAll(/^## \[(\d+\.\d+\.\d+)\]/gm)].map(([, version]) => version ?? '');
  expect(VERSIONS).toEqual(expect.arrayContaining(released));
  // 0.1.0 was never published.
  expect(LAST_VERSION).toBe(released.find((version) => version !== VERSION) ?? '0.1.0');
});
