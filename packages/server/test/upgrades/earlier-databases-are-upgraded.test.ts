import type { Lead } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { type Expectations, SENT } from '../../../../tools/release-fixture/data.ts';
import { makeNextVersion } from './next-version.ts';
import { type LeadtapVersion, programOf } from './programs.ts';
import { restoreRelease, VERSIONS, withFieldsOf } from './release.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Without what depends on the time of the question: one whose token was revoked is listed for 24 hours after its last poll. */
const positionsOf = (consumers: unknown) =>
  (consumers as Fields[])
    .filter(({ lastStatus }) => lastStatus !== 401)
    .map(({ tokenId, lastPollAt, lastStatus, polls, confirmedThrough, deliveredThrough }) => ({
      tokenId,
      lastPollAt,
      lastStatus,
      polls,
      confirmedThrough,
      deliveredThrough,
    }));

/** What commands print as JSON. */
const commandsOf = (program: LeadtapVersion) => async (command: string) => {
  const { code, stdout, stderr } = await program.run(...command.split(' '));
  expect({ command, code, stderr }).toMatchObject({ command, code: 0 });
  return JSON.parse(stdout);
};

const request = (url: string, path: string, token: string, options: RequestInit = {}) =>
  fetch(`${url}${path}`, { ...options, headers: { ...options.headers, authorization: `Bearer ${token}` } });

const nextOf = (response: Response): string | undefined => {
  const link = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
  return link === undefined ? undefined : new URL(link).pathname + new URL(link).search;
};

/** 0.2.0 answered the tokens of removed users with 401. */
const asNow = (answer: Expectations['answers'][number]) =>
  answer.token === 'removed'
    ? { ...answer, status: 404, body: JSON.stringify({ code: 'user-not-found' }) }
    : answer;

async function expectSameAnswers(url: string, { answers, tokens }: Expectations): Promise<void> {
  for (const { token, path, status, body, next } of answers.map(asNow)) {
    const response = await request(url, path, tokens[token]?.token ?? '');
    expect([path, response.status]).toEqual([path, status]);
    const found = await response.text();
    if (status === 200) expect(withFieldsOf(body, found)).toBe(body);
    else expect(JSON.parse(found).code).toBe(JSON.parse(body).code);
    expect(nextOf(response)).toBe(next);
  }
}

const stampsOf = ({ answers }: Expectations): string[] =>
  answers
    .filter(({ status, path }) => status === 200 && path.includes('new-leads'))
    .flatMap(({ body }) => (JSON.parse(body) as Lead[]).map(({ createdAt }) => createdAt));

describe.each(VERSIONS)('a database of version %s', (version) => {
  it('is upgraded with all its data, and takes new leads', async () => {
    const database = await restoreRelease(version);
    const { expected } = database;
    const next = programOf(database, makeNextVersion().bin);
    const command = commandsOf(next);

    expect((await command('migrate --json')).applied).not.toEqual([]);
    expect(await command('org export')).toEqual(expected.organisation);
    expect(await command('token list --user ada --json')).toMatchObject(
      (expected.issuedTokens as Fields[]).map(({ tokenId, scopes, expiresAt, state }) => ({
        tokenId,
        scopes,
        expiresAt,
        state,
      })),
    );
    const found = positionsOf(await command('consumers --json'));
    expect(new Set(found)).toEqual(new Set(positionsOf(expected.consumers)));

    const { url } = await next.serve();
    await expectSameAnswers(url, expected);
    const last = await expectNewLead(url, expected);
    await expectNothingAdded(url, expected, last);
  });

  it('is upgraded by any command, which says so once', async () => {
    const next = programOf(await restoreRelease(version), makeNextVersion().bin);
    const list = async () => (await next.run('user', 'list')).stderr;
    expect(await list()).toMatch(
      /^leadtap: the schema of the database was updated from version \d+ to \d+\n$/,
    );
    expect(await list()).toBe('');
  });
});

/** Stamped after all others, and delivered to a client that has those. Returns its stamp. */
async function expectNewLead(url: string, expected: Expectations): Promise<string> {
  const last = stampsOf(expected).sort().at(-1) ?? '';
  expect((await post(url, expected, { id: 'after-upgrade', fullName: 'New' })).status).toBe(201);
  const leads = await poll(url, expected, last);
  expect(leads).toMatchObject([{ id: 'after-upgrade' }]);
  expect(leads[0]?.createdAt.localeCompare(last)).toBe(1);
  return leads[0]?.createdAt ?? '';
}

/** By a lead that was erased, and by a request that was sent before the upgrade. */
async function expectNothingAdded(url: string, expected: Expectations, since: string): Promise<void> {
  expect((await post(url, expected, { id: 'lead-3', fullName: 'Erased' })).status).toBe(422);
  const again = await request(url, SENT.path, expected.tokens['sender']?.token ?? '', SENT.options);
  expect(again.status).toBe(201);
  expect(await again.text()).toBe(expected.sent.body);
  expect(await poll(url, expected, since)).toEqual([]);
}

const post = (url: string, { tokens }: Expectations, lead: object) =>
  request(url, '/leads', tokens['sender']?.token ?? '', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(lead),
  });

async function poll(url: string, { tokens }: Expectations, since: string): Promise<Lead[]> {
  const response = await request(url, `/automation/new-leads?since=${since}`, tokens['ada']?.token ?? '');
  return (await response.json()) as Lead[];
}
