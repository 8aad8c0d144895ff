// @nightly and after a change of docs/ examples/ packages/contract/src/ packages/server/src/intake/ packages/server/src/hooks/ packages/server/src/poll/
/** The lines of docs/integrations/your-own-program.md, in both languages, with requests that Standard Webhooks has signed. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';
import { findOnPath, findProgram } from '../packages/testing/servers/find-program.ts';

const PAGE = readFileSync(new URL('../docs/integrations/your-own-program.md', import.meta.url), 'utf8');
const blockOf = (language: string) =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(PAGE)?.[1] ?? '';

const PYTHON = findProgram({
  name: 'Python 3',
  debian: 'python3',
  homebrew: 'python',
  find: () => findOnPath('python3'),
});

const LANGUAGES = [
  {
    language: 'javascript',
    command: process.execPath,
    file: 'verify.mjs',
    main: `import { readFileSync } from 'node:fs';
const cases = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(cases.map(([secret, headers, body]) => isOfLeadtap(secret, headers, Buffer.from(body)))));`,
  },
  {
    language: 'python',
    command: PYTHON,
    file: 'verify.py',
    main: `import json, sys
print(json.dumps([is_of_leadtap(secret, headers, body.encode()) for secret, headers, body in json.load(sys.stdin)]))`,
  },
];

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
const BODY = '{"fullName":"Zoë Ünal"}';

function sign({ at = new Date(), secret = secretOf(1), body = BODY, before = '' } = {}) {
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': `${before}${new Webhook(secret).sign('msg_1', at, body)}`,
  };
}

const CASES: readonly (readonly [name: string, isValid: boolean, headers: object, body: string])[] = [
  ['as it was sent', true, sign(), BODY],
  ['with two signatures, while the key is replaced', true, sign({ before: 'v1,AAAA ' }), BODY],
  ['another body', false, sign(), `${BODY} `],
  ['another id', false, { ...sign(), 'webhook-id': 'msg_2' }, BODY],
  ['another secret', false, sign({ secret: secretOf(2) }), BODY],
  ['sent an hour ago', false, sign({ at: new Date(Date.now() - 3_600_000) }), BODY],
  ['no signature', false, { ...sign(), 'webhook-signature': '' }, BODY],
  ...Object.keys(sign()).map(
    (name) => [`without ${name}`, false, { ...sign(), [name]: undefined }, BODY] as const,
  ),
  ['no headers', false, {}, BODY],
];

describe.each(LANGUAGES)('in $language', ({ language, command, file, main }) => {
  it('what Leadtap has signed just now is accepted, and nothing else', () => {
    const program = join(tempFolder(), file);
    writeFileSync(program, `${blockOf(language)}\n${main}\n`);
    const input = JSON.stringify(CASES.map(([, , headers, body]) => [secretOf(1), headers, body]));
    const results: boolean[] = JSON.parse(execFileSync(command, [program], { input, encoding: 'utf8' }));
    expect(CASES.map(([name], index) => [name, results[index]])).toEqual(
      CASES.map(([name, isValid]) => [name, isValid]),
    );
  });
});
