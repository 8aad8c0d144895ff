import { expect, test } from 'vitest';
import { moveArgv, moveUp, run } from './commands.ts';
import { makeFilledEnds } from './filled.ts';

const SUM = expect.stringMatching(/^[0-9a-f]{64}$/);

test('a table of checksums and all counts on stdout; the next steps, and where the key is, on stderr', async () => {
  const ends = await makeFilledEnds();
  const { stdout, stderr } = await moveUp(ends);
  expect(stdout).toMatch(
    /^COMPANY {2}LEADS {2}SHA256\nacme {5}3 {6}\w{64}\nglobex {3}3 {6}\w{64}\nmoved and verified: .+\n$/,
  );
  expect(stdout).toContain(
    'moved and verified: 2 companies, 12 statuses, 3 branches, 4 departments, 1 issued tokens, 0 revoked tokens, 6 leads, 7 users\n',
  );
  const key = `${ends.folder}/data/signing.key`;
  expect(stderr).toContain(`Tokens stay valid: the service finds its signing key where it was, ${key}.\n`);
  expect(stderr).toContain('Start the service with the LEADTAP_DATABASE_URL of postgres://');
  expect(stderr).toContain(`No lead, user or token was changed in ${ends.file}.`);
});

test('--json tells the same to programs', async () => {
  const ends = await makeFilledEnds();
  const { stdout } = await moveUp(ends, '--json');
  expect(JSON.parse(stdout)).toEqual({
    from: ends.file,
    to: expect.stringMatching(/^postgres:\/\//),
    verified: true,
    rows: {
      companies: 2,
      statuses: 12,
      branches: 3,
      departments: 4,
      leads: 6,
      issued_tokens: 1,
      revoked_tokens: 0,
      users: 7,
    },
    leads: [
      { companyId: 'acme', rows: 3, sha256: SUM },
      { companyId: 'globex', rows: 3, sha256: SUM },
    ],
    replaced: 0,
  });
});

test('on a terminal there is a bar for each step, and none is left behind', async () => {
  const ends = await makeFilledEnds();
  let now = 0;
  const { stderr } = await run(ends, moveArgv(ends), {
    isTTY: true,
    clock: () => {
      now += 1000;
      return now;
    },
  });
  const drawings = stderr.split('\r\u001b[K');
  for (const step of ['checked', 'copied', 'verified'])
    expect(drawings).toContainEqual(expect.stringMatching(new RegExp(`^\\[#*-*\\] .*\\d leads ${step} `)));
  expect(drawings.at(-1)).toMatch(/^Tokens stay valid/);
});

test.each([
  [
    { LEADTAP_SIGNING_KEY: 'c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldA==' },
    'keeps its LEADTAP_SIGNING_KEY.',
  ],
  [{ LEADTAP_SIGNING_KEY_FILE: '/run/secrets/key' }, 'keeps its signing key, /run/secrets/key (LEADTAP'],
])('the key is where %o says', async (env, sentence) => {
  const ends = await makeFilledEnds();
  const { stderr } = await run(ends, moveArgv(ends), { env });
  expect(stderr).toContain(sentence);
});

test('a key that the new service would not find is to be copied', async () => {
  const ends = await makeFilledEnds();
  const elsewhere = { folder: `${ends.folder}/..` };
  const { stderr } = await run(elsewhere, moveArgv(ends));
  expect(stderr).toContain(`${ends.folder}/data/signing.key: copy it to `);
});
