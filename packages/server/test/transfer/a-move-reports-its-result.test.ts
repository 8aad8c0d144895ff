import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { moveArgv, run, runMove } from './commands.ts';
import { makeFilledEndpoints } from './filled.ts';

test('all counts on stdout; the next steps, and where the key is, on stderr', async () => {
  const endpoints = await makeFilledEndpoints();
  const key = `${endpoints.folder}/data/signing.key`;
  writeFileSync(key, '');
  const { stdout, stderr } = await runMove(endpoints);
  expect(stdout).toMatch(/^moved and verified: companies 2, .*, leads 6, .*, users 7\n$/);
  expect(stderr).toContain(`Tokens stay valid: the service finds its signing key where it was, ${key}.\n`);
  expect(stderr).toContain('Start the service with the LEADTAP_DATABASE_URL of postgres://');
  expect(stderr).toContain(`No lead, user or token was changed in ${endpoints.file}.`);
});

test('--json prints the same for programs', async () => {
  const endpoints = await makeFilledEndpoints();
  const { stdout } = await runMove(endpoints, '--json');
  expect(JSON.parse(stdout)).toEqual({
    from: endpoints.file,
    to: expect.stringMatching(/^postgres:\/\//),
    verified: true,
    rows: expect.objectContaining({ companies: 2, leads: 6, issued_tokens: 1, users: 7 }),
  });
});

test('on a terminal there is a progress bar for each step, and it is cleared at the end', async () => {
  const endpoints = await makeFilledEndpoints();
  let now = 0;
  const { stderr } = await run(endpoints, moveArgv(endpoints), {
    isTTY: true,
    clock: () => {
      now += 1000;
      return now;
    },
  });
  const drawings = stderr.split('\r\u001b[K');
  for (const step of ['checked', 'copied', 'verified'])
    expect(drawings).toContainEqual(expect.stringMatching(new RegExp(`^100% .*\\d leads ${step} `)));
  expect(drawings.at(-1)).toMatch(/^There is no signing key at /);
});

test.each([
  [
    { LEADTAP_SIGNING_KEY: 'c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldA==' },
    'keeps its LEADTAP_SIGNING_KEY.',
  ],
  [{ LEADTAP_SIGNING_KEY_FILE: '/run/secrets/key' }, 'keeps its signing key, /run/secrets/key (LEADTAP'],
])('the key is where %o says', async (env, sentence) => {
  const endpoints = await makeFilledEndpoints();
  const { stderr } = await run(endpoints, moveArgv(endpoints), { env });
  expect(stderr).toContain(sentence);
});

test('a key file that the new service would not find must be copied', async () => {
  const endpoints = await makeFilledEndpoints();
  const elsewhere = { folder: `${endpoints.folder}/..` };
  const key = `${endpoints.folder}/data/signing.key`;
  const withoutKey = await run(elsewhere, moveArgv(endpoints));
  expect(withoutKey.stderr).toContain(`There is no signing key at ${key}. Copy the key of the service to `);
  writeFileSync(key, '');
  const { stderr } = await run(elsewhere, moveArgv(endpoints));
  expect(stderr).toContain(`${key}: copy it to `);
});
