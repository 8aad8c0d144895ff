import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROBLEM_CODES, type ProblemCode } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { EXIT_CODES } from '../../src/cli/exit.ts';
import { NO_CONSUMERS } from '../../src/status/consumers.ts';
import type {
  ConsumerStatus,
  ConsumersStatus,
  Facts,
  RequestError,
  SenderStatus,
  StatusProblem,
  UnseenPlace,
} from '../../src/status/report.ts';
import { diagnose, RULES } from '../../src/status/rules.ts';
import { describeSender } from '../../src/status/sender-problems.ts';
import { fixOf } from '../../src/status/sentences.ts';
import { terminalWithUsers } from '../cli/terminal.ts';
import { getDocsPage } from '../docs/docs-page.ts';

const YESTERDAY = '2026-03-01T09:30:00.000Z';
const ERROR: RequestError = {
  ...{ at: '2026-03-02T09:29:00.000Z', status: 500, requestId: 'a', path: '/' },
  code: 'internal-error',
};
const EACH_ONCE = {
  ...{ 'leads-skipped': 1, 'token-revoked-in-use': 1, 'consumers-awaited': 1, 'consumers-stale': 1 },
  ...{ 'consumers-limited': 1, 'leads-waiting': 1, 'consumers-refused': 1, 'tokens-expiring': 1 },
  ...{ 'hooks-disabled': 1, 'hooks-failing': 1 },
};
const SENDING: ConsumerStatus['hook'] = {
  ...{ count: 1, send: 'lead', host: 'hooks.zapier.com' },
  ...{
    state: 'active',
    isAllowed: true,
    isAccepted: false,
    announcedThrough: YESTERDAY,
    lastEventAt: null,
    lastStatus: null,
  },
  ...{ failures: 0, failingSince: null },
};
const consumer = (rest: Partial<ConsumerStatus>): ConsumerStatus => ({
  ...{ tokenId: 'token-1', name: 'zapier', userId: 'boss', companyId: 'acme', state: 'active' },
  ...{ tokenExpiresAt: null, firstPollAt: null, lastPollAt: '2026-03-02T09:00:00.000Z' },
  ...{ lastStatus: 200, usualIntervalSeconds: 60, confirmedThrough: null, deliveredThrough: null },
  ...{
    pendingLeads: 0,
    pendingSince: null,
    skippedLeads: 0,
    skippedSince: null,
    missedLeads: 0,
    unconfirmedSince: null,
  },
  ...{
    isStuck: false,
    tokenEnded: null,
    isAwaited: false,
    isUnrecorded: false,
    problems: [],
    hook: null,
    key: 'boss token-1',
  },
  ...{ last24h: [], isHeld: false },
  ...rest,
});

const place: UnseenPlace = {
  ...{ companyId: 'acme', company: 'Acme', branchId: 'north', branch: 'North', departmentId: null },
  ...{
    department: null,
    isOnlyHere: false,
    leads: 9,
    since: YESTERDAY,
    cause: 'none',
    consumer: null,
    userId: null,
  },
};
const unseen = (rest: Partial<UnseenPlace>): Facts['consumers'] => ({
  ...NO_CONSUMERS,
  recorded: true,
  coverage: {
    ...{
      hasLeads: true,
      leads: 9,
      isPart: false,
      since: YESTERDAY,
      waiting: 0,
      waitingFor: [],
      skipped: 0,
      beforeStart: 0,
    },
    ...{ unseen: 9, unseenPlaces: [{ ...place, ...rest }], hasMorePlaces: false },
  },
});

const sender = (rest: Partial<SenderStatus>): SenderStatus => ({
  ...{ id: 'a', tokenId: 'token-2', name: 'web-form', userId: 'boss', companyId: 'acme', source: null },
  ...{ tokenExpiresAt: null, lastRequestAt: YESTERDAY, lastAcceptedAt: null, lastRefusal: null },
  ...{
    accepted30d: 0,
    refused30d: 1,
    refused: null,
    isRevoked: false,
    isReplaced: false,
    isInUse: true,
  },
  ...{ last24h: [], problems: [] },
  ...rest,
});

const refused = (
  code: ProblemCode,
  fields: readonly string[],
  rest: Partial<SenderStatus> = {},
): SenderStatus =>
  sender({
    refused: {
      ...{ kept: 0, requests: 0, firstAt: null, lastAt: YESTERDAY, unkept: 1 },
      ...{ unkeptSince: YESTERDAY.slice(0, 10), unkeptAt: YESTERDAY },
      ...{ code, fields, questions: [] },
    },
    ...{ problems: ['leads-refused'], ...rest },
  });

const keptOf = (one: SenderStatus): SenderStatus => ({
  ...one,
  refused: one.refused && {
    ...one.refused,
    kept: 2,
    requests: 3,
    firstAt: YESTERDAY,
    unkept: 0,
    unkeptSince: null,
    unkeptAt: null,
  },
});

const withSender = (one: SenderStatus): Facts =>
  facts({ senders: { ...SENDERS, listed: [one, ...SENDERS.listed] } });

const facts = (rest: Partial<Facts> = {}): Facts => ({
  ...{ generatedAt: '2026-03-02T09:30:00.000Z', startedAt: '2026-03-01T00:00:00.000Z', version: '1' },
  database: {
    ...{ address: 'here', reachable: true, isEmpty: true, engine: 'SQLite', bytes: 1 },
    stampsAheadSeconds: 100,
  },
  redis: { reachable: false },
  disk: { freeBytes: 1, totalBytes: 2 },
  backup: { lastAt: '2026-01-01T00:00:00.000Z' },
  leads: { latestAt: '2026-03-02T06:00:00.000Z', isSilent: true },
  consumers: {
    ...NO_CONSUMERS,
    ...{ recorded: true, stale: 2, problems: { ...EACH_ONCE, 'consumers-stale': 2 } },
    downtime: { from: '2026-03-02T09:00:00.000Z', until: '2026-03-02T09:29:00.000Z' },
    listed: [
      consumer({ problems: ['consumers-stale'], state: 'stale' }),
      consumer({ problems: ['consumers-stale'], state: 'stale' }),
      consumer({ problems: ['consumers-refused'], lastStatus: 403 }),
      consumer({ problems: ['consumers-limited'], lastStatus: 429, pendingSince: YESTERDAY }),
      consumer({ problems: ['leads-waiting'], pendingLeads: 3, pendingSince: YESTERDAY }),
      consumer({ problems: ['token-revoked-in-use'], tokenEnded: 'revoked' }),
      consumer({ problems: ['leads-skipped'], skippedLeads: 2 }),
      consumer({ problems: ['tokens-expiring'], tokenExpiresAt: '2026-03-03T09:30:00.000Z' }),
    ],
  },
  senders: SENDERS,
  hooks: { active: 0, failing: 1, disabled: 1, failingLong: 1 },
  ...{ refusals: [], errors: [ERROR], untrustedProxy: '10.0.0.1', hookHosts: [] },
  ...rest,
});

const SENDERS = {
  ...{ recorded: true, total: 3 },
  problems: {
    ...{ 'leads-refused': 1, 'intake-off': 1 },
    ...{ 'senders-expired': 1, 'senders-expiring': 1 },
  },
  listed: [
    sender({ problems: ['intake-off'] }),
    sender({ problems: ['senders-expired'], tokenExpiresAt: YESTERDAY }),
    sender({ problems: ['senders-expiring'], tokenExpiresAt: '2026-03-03T09:30:00.000Z' }),
  ],
};

const withConsumers = (consumers: Partial<ConsumersStatus>): Facts => ({
  ...facts({ disk: { freeBytes: 100 * 1024 * 1024, totalBytes: 2 ** 40 } }),
  hooks: { active: 0, failing: 1, disabled: 0, failingLong: 0 },
  consumers: { ...(facts().consumers ?? NO_CONSUMERS), ...consumers },
});

/** Every problem, in one report or another. */
const PROBLEMS: readonly StatusProblem[] = [
  facts(),
  withConsumers({ listed: [consumer({ problems: ['consumers-limited'], lastStatus: 429 })] }),
  withConsumers({ listed: [consumer({ problems: ['leads-waiting'], state: 'inactive', pendingLeads: 3 })] }),
  withConsumers({
    listed: [
      consumer({ problems: ['leads-waiting'], pendingLeads: 3, hook: SENDING }),
      consumer({ problems: ['consumers-refused'], hook: SENDING }),
      consumer({
        ...{ problems: ['tokens-expiring'], tokenExpiresAt: '2026-03-03T09:30:00.000Z', hook: SENDING },
        confirmedThrough: YESTERDAY,
      }),
    ],
  }),
  withConsumers({
    listed: [
      consumer({
        problems: ['leads-waiting'],
        pendingLeads: 3,
        pendingSince: YESTERDAY,
        hook: { ...SENDING, isAllowed: false },
      }),
      consumer({
        ...{ problems: ['token-revoked-in-use'], tokenEnded: 'expired', tokenExpiresAt: YESTERDAY },
        ...{ pendingLeads: 3, confirmedThrough: YESTERDAY, hook: { ...SENDING, state: 'expired' } },
      }),
    ],
  }),
  ...[{}, { userId: 'boss' }, { branchId: null, branch: null }, { cause: 'between' as const }].map((rest) =>
    facts({ consumers: unseen(rest) }),
  ),
  facts({ consumers: null }),
  ...PROBLEM_CODES.map((code) => withSender(refused(code, []))),
  withSender(refused('invalid-lead', ['telefon', 'email', 'branchId', 'other'])),
  withSender(keptOf(refused('invalid-lead', ['other']))),
  withSender(refused('token-expired', [], { source: 'tally' })),
  ...['invalid-lead' as const, 'token-expired' as const, 'no-contact' as const].map((code) =>
    withSender(keptOf(refused(code, ['telefon'], { source: 'tally' }))),
  ),
  facts({ consumers: null, database: { ...facts().database, reachable: false } }),
].flatMap((each) => diagnose(each).problems);

const commandsIn = (text: string): string[] =>
  [...text.matchAll(/`leadtap ([^`]+)`/g)].map(([, command = '']) => command);

describe('what the status page tells to do', () => {
  it('is there for every kind of problem', () => {
    const found = new Set(PROBLEMS.map(({ kind, severity }) => `${kind} ${severity}`));
    expect([...found].sort()).toEqual(
      RULES.flatMap(({ name, levels }) => levels.map((level) => `${name} ${level}`)).sort(),
    );
    for (const { fix } of PROBLEMS) expect(fix).toMatch(/^.{20,}\.$/);
  });

  it('does not speak of a downtime where the clock was set back', () => {
    const listed = [consumer({ problems: ['consumers-awaited'], lastPollAt: '2026-03-02T10:30:00.000Z' })];
    for (const downtime of [null, facts().consumers?.downtime ?? null])
      expect(
        diagnose(withConsumers({ downtime, listed })).problems.find(
          ({ kind }) => kind === 'consumers-awaited',
        )?.message,
      ).toBe('The clock was set back since the last polls: waiting for 1 consumer to poll.');
  });

  it('names the option that maps the questions of a form without a contact, and no question', () => {
    const one = keptOf(refused('no-contact', ['Wie heissen Sie', 'Ihr Dach'], { source: 'tally' }));
    const { problems } = diagnose(withSender(one));
    const found = problems.find(({ kind }) => kind === 'leads-refused');
    expect(found?.fix).toBe(
      'No name, e-mail address or phone number was found in its answers. ' +
        'Put a token into the form that has the field of a question: `leadtap token issue --user boss --source tally --name web-form --map QUESTION=email`. ' +
        '2 requests are kept: `leadtap leads refused list` shows them, `leadtap leads refused accept --all --connection token-2 --map QUESTION=email` stores those that are valid then.',
    );
    expect(describeSender(one, facts())?.userFix).toMatch(/in its answers\. Ask the operator for a token/);
  });

  it('names the setting that accepts tokens in addresses', () => {
    const { problems } = diagnose(withSender(refused('token-missing', [])));
    const fix = problems.find(({ kind }) => kind === 'leads-refused')?.fix;
    expect(fix).toMatch(
      /^Its token is in the address, or .+ set `LEADTAP_INTAKE=urls` and start the service again\./,
    );
  });

  it('names requests that are kept and those that are not apart', () => {
    const one = keptOf(refused('invalid-lead', ['telefon']));
    const both = { ...one, refused: one.refused && { ...one.refused, unkept: 2, unkeptAt: YESTERDAY } };
    expect(describeSender(both, facts())?.userFix).toMatch(
      /2 requests are kept: the operator can accept them\. 2 refused requests are not kept: the sender must send them again\./,
    );
  });

  it('is a command that the program accepts as it is written', async () => {
    const fixes = [...PROBLEMS.map(({ fix }) => fix), ...PROBLEM_CODES.map((code) => fixOf(code, 'boss'))];
    const commands = [...new Set(fixes.flatMap(commandsIn))];
    expect(commands).toContain('doctor');
    expect(commands).toContain('user set boss --plan PROFESSIONAL');
    const { run, save } = await terminalWithUsers();
    save('FILE', { companies: [] });
    for (const command of commands) {
      // Texts of the contract name these without their file.
      const { code, stderr } = await run(command.replace(/^(leads import|org apply)$/, '$& FILE'));
      // It may fail: `ID` is not found. But it is no mistake of the command line.
      expect([EXIT_CODES.done, EXIT_CODES.failed], `${command}: ${stderr}`).toContain(code);
    }
  });

  it('is explained at /docs', async () => {
    const anchors = [...(await getDocsPage()).matchAll(/<h\d id="([^"]+)"/g)].map(([, id]) => `/docs#${id}`);
    const linked = [
      ...PROBLEMS.map(({ docs }) => docs),
      ...RULES.map(({ name }) => `/docs#${name}`),
      ...PROBLEM_CODES.map((code) => `/docs#problem-${code}`),
    ];
    expect(linked.filter((page) => !anchors.includes(page))).toEqual([]);
  });
});

it('no message names a file of the repository, which most installations do not have', () => {
  const folder = fileURLToPath(new URL('../../src', import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.ts$/.test(file),
  );
  const found = files.flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .filter((line) => /docs\/[\w-]+\.md|repository/.test(line) && !/^\s*(\/?\*|\/\/)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
