import { describe, expect, it } from 'vitest';
import { type ManualClock, manualClock } from '../../../testing/harness/manual-clock.ts';
import { type ServiceOptions, startService, type TestService } from '../../../testing/harness/service.ts';
import { readStatus, writePolls } from './support/status.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A client whose token was issued here, or by an identity provider, and expires at this time. */
async function client(
  service: TestService,
  clock: ManualClock,
  {
    userId = 'boss',
    name = null as string | null,
    expiresInMs = 90 * DAY_MS,
    lifetimeMs = 90 * DAY_MS,
    isIssued = true,
  },
) {
  const tokenId = `token of ${userId} ${name?.length} ${expiresInMs}`;
  const expiresAt = clock() + expiresInMs;
  const issuedAt = expiresAt - lifetimeMs;
  if (isIssued)
    await service.store.recordTokens([
      { id: tokenId, userId, name, issuedAt, expiresAt, scopes: ['leads:read'] },
    ]);
  const token = await service.token(userId, { tokenId, expiresInMs });
  const headers = { authorization: `Bearer ${token}` };
  return async () => {
    const { status } = await fetch(`${service.url}/automation/new-leads`, { headers });
    await writePolls(service);
    return status;
  };
}

async function start(options: ServiceOptions = {}) {
  const clock = manualClock();
  const service = await startService({ clock, ...options });
  return { clock, service, add: (options: Parameters<typeof client>[2]) => client(service, clock, options) };
}

describe('tokens that expire', () => {
  it('within 7 days are a warning with the command that issues a new one, the first one first', async () => {
    const { clock, service, add } = await start();
    await (await add({ name: 'fine', expiresInMs: 8 * DAY_MS }))();
    const soon = await add({ name: 'n8n, sales', expiresInMs: 3 * DAY_MS });
    await soon();
    clock.advance(60_000);
    await soon();
    const report = await readStatus(service);
    expect(report.healthy).toBe(true);
    expect(report.consumers?.listed.map(({ name, problems }) => [name, problems])).toEqual([
      ['n8n, sales', ['tokens-expiring']],
      ['fine', []],
    ]);
    expect(report.consumers?.listed[0]?.tokenExpiresAt).toBe('2026-03-05T09:30:00.000Z');
    expect(report.problems).toEqual([
      {
        ...{ kind: 'tokens-expiring', severity: 'warning', docs: '/docs#tokens-expiring' },
        message: 'The token of n8n, sales (user boss) expires in 3 days.',
        fix: "Issue a new token and put it into the automation: `leadtap token issue --user boss --name 'n8n, sales'`. The automation continues where it stopped. Then revoke the old one: `leadtap token revoke 'token of boss 10 259200000'`.",
      },
    ]);
    expect(report.good).toMatch(/^No lead yet\. 1 of 2 consumers polls as usual\./);
    expect(report.summary).toBe(`${report.good} ${report.problems[0]?.message}`);
    expect(report.consumers?.listed.map(({ level, message }) => [level, message])).toContainEqual([
      'warning',
      expect.stringContaining('expires in 3 days'),
    ]);
    await (await add({ name: 'make', expiresInMs: 2 * HOUR_MS }))();
    expect((await readStatus(service)).problems[0]?.message).toBe(
      'The token of make (user boss) expires in 2 h. 1 more has the same problem: n8n, sales (user boss).',
    );
  });

  it('as they are meant to, because they were issued for a short time, are none before the last third of it', async () => {
    const { clock, service, add } = await start();
    await (await add({ expiresInMs: DAY_MS, lifetimeMs: DAY_MS }))();
    expect((await readStatus(service)).problems).toEqual([]);
    clock.advance(17 * HOUR_MS);
    expect((await readStatus(service)).consumers).toMatchObject({
      inactive: 1,
      problems: { 'tokens-expiring': 0 },
    });
    await (await add({ name: 'short', expiresInMs: 7 * HOUR_MS, lifetimeMs: DAY_MS }))();
    expect((await readStatus(service)).problems).toMatchObject([{ kind: 'tokens-expiring' }]);
  });

  it('of an identity provider are none: it replaces them', async () => {
    const { service, add } = await start();
    await (await add({ expiresInMs: HOUR_MS, isIssued: false }))();
    const { problems, consumers } = await readStatus(service);
    expect(problems).toEqual([]);
    expect(consumers?.listed).toMatchObject([{ problems: [] }]);
  });

  it('and have expired are the reason why their consumer has stopped', async () => {
    const { clock, service, add } = await start();
    const poll = await add({ name: 'zapier', expiresInMs: HOUR_MS });
    for (let round = 0; round < 6; round += 1) {
      await poll();
      clock.advance(10 * 60_000);
    }
    clock.advance(50 * 60_000);
    const { problems } = await readStatus(service);
    expect(problems).toMatchObject([
      {
        ...{ kind: 'consumers-stale', severity: 'error', docs: '/docs#problem-token-expired' },
        message: 'zapier (user boss) has not polled for 1 h; its token expired 50 min ago.',
        fix: expect.stringMatching(
          /^If the automation has a new token now, .*`leadtap token revoke .* Otherwise: Issue a new token .*`leadtap token issue --user boss --name zapier`/,
        ),
      },
    ]);
    expect((await readStatus(service)).consumers?.listed[0]?.message).toContain(
      'its token expired 50 min ago',
    );
  });

  it('are renewed with a command that begins as the person began, also in the rows', async () => {
    const { service, add } = await start({ invocation: 'npx leadtap' });
    await (await add({ name: 'zapier', expiresInMs: HOUR_MS }))();
    const [problem] = (await readStatus(service)).problems;
    expect(problem?.fix).toContain('`npx leadtap token issue --user boss --name zapier`');
    const commands = (await (await fetch(`${service.statusUrl}.json`)).text()).match(/`[^`]*leadtap [^`]*`/g);
    expect(commands).toContain('`npx leadtap token issue --user boss --name zapier`');
    expect(commands?.length).toBeGreaterThan(2);
    for (const command of commands ?? []) expect(command).toMatch(/^`npx leadtap [a-z]/);
  });

  it.each(['`rm -rf ~`', 'sales\\team'])(
    'with a name that no one should paste get a placeholder: %s',
    async (name) => {
      const { service, add } = await start();
      await (await add({ name, expiresInMs: HOUR_MS }))();
      const [problem] = (await readStatus(service)).problems;
      expect(problem?.fix).toContain('`leadtap token issue --user boss --name NAME`');
    },
  );
});

describe('consumers that are refused', () => {
  it('are not said to poll as usual: the warning has the code and the command', async () => {
    const { clock, service, add } = await start();
    const clients = [await add({ name: 'zapier' }), await add({ name: 'make', userId: 'starter' })];
    for (const _ of [1, 2]) {
      for (const poll of clients) await poll();
      clock.advance(60_000);
    }
    const report = await readStatus(service);
    expect(report).toMatchObject({
      healthy: true,
      good: null,
      consumers: { active: 2, problems: { 'consumers-refused': 1 } },
    });
    expect(report.problems).toEqual([
      {
        ...{ kind: 'consumers-refused', severity: 'warning' },
        message:
          'make (user starter) polls, but is refused: the Professional plan is required (403 professional-plan-required).',
        fix: 'No lead is lost. If the user has bought the plan: `leadtap user set starter --plan PROFESSIONAL`.',
        docs: '/docs#problem-professional-plan-required',
      },
    ]);
    expect(report.summary).toBe(report.problems[0]?.message);
    expect(report.consumers?.listed[0]?.name).toBe('make');
  });

  it('by another instance have the status', async () => {
    const { clock, service, add } = await start();
    await (await add({ name: 'make', userId: 'starter' }))();
    const other = await startService({ clock, beside: service });
    expect((await readStatus(other)).problems).toMatchObject([
      { message: 'make (user starter) polls, but is refused (403).', docs: '/docs#problems' },
    ]);
  });
});

describe('names', () => {
  it('of 10 kB, from right to left and with control characters change neither sentence nor table', async () => {
    const { clock, service, add } = await start();
    const name = `\u202Eevil\u0007\u2028\u2029\n${'x'.repeat(10_000)}`;
    const poll = await add({ name });
    for (let round = 0; round < 11; round += 1) {
      await poll();
      clock.advance(60_000);
    }
    clock.advance(3 * 60_000);
    const { problems, consumers } = await readStatus(service);
    expect(consumers?.listed[0]?.name).toBe(name);
    expect(problems[0]?.message).toBe(
      `evil ${'x'.repeat(55)}… (user boss) has not polled for 4 min; it usually polls every 1 min.`,
    );
  });
});
