import { describe, expect, it } from 'vitest';
import { judge, type Moment, RULES, rulesOf } from '../../src/connections/rules.ts';
import type { ConnectionFacts } from '../../src/connections/store.ts';
import {
  ago,
  DAY,
  door,
  every,
  form,
  HOUR,
  lost,
  MINUTE,
  MOMENT,
  NONE,
  NOW,
  newPoller,
  poller,
  unassigned,
  webhook,
} from './support/rules-facts.ts';

interface Row {
  /** With the number of the situation, if it is one. */
  readonly name: string;
  readonly facts: ConnectionFacts;
  readonly moment?: Partial<Moment>;
  /** Level, state, rule, action. */
  readonly says: string;
  readonly message?: string;
  readonly fix?: string;
}

const NOT_LISTED = 'not listed';
const waits = (ms: number, waiting = 3) => ({ waiting, waitingSince: ago(ms) });
const missed = (of: Partial<typeof NONE>) => ({ missed: { ...NONE, ...of } });
const repeated = (...minutes: readonly number[]) =>
  every(2 * MINUTE, { repeated: minutes.map((one) => [ago(one * MINUTE), ago(9 * DAY)] as const) });
const failing = { errors: 20, failingSince: ago(20 * MINUTE), lastErrorAt: ago(MINUTE) };
const silent = { lastAt: ago(20 * MINUTE) };
const ended = (endedBy: string) => ({ endedAt: ago(2 * DAY), endedBy, endStamp: ago(2 * DAY) });
const paused = (ms: number) => ({ pausedAt: ago(ms), pausedBy: 'Ada' });
const event = (minutes: number) => ({
  eventAt: ago(HOUR),
  eventOpenSince: ago(minutes * MINUTE),
  lastAt: ago(DAY),
});

const OUT: readonly Row[] = [
  {
    name: 'it has all',
    facts: poller({ leads: 41 }),
    says: 'good working working null',
    message: '41 sent',
  },
  {
    name: '24: 3 wait, and it polls every two minutes',
    facts: poller(waits(5 * MINUTE)),
    says: 'good working working null',
    message: '38 sent, 3 wait, safe',
  },
  {
    name: '24: they wait for longer than three pauses',
    facts: poller(waits(11 * MINUTE)),
    says: 'warning working late null',
    message: '38 sent, 3 wait, safe: the first since 14:19',
  },
  {
    name: '63: they wait for two hours for a script that asks each hour',
    facts: poller({ ...waits(2 * HOUR), is: { habit: every(HOUR), lastAt: ago(2 * HOUR) } }),
    says: 'good working working null',
    message: '38 sent, 3 wait, safe',
  },
  {
    name: '33: a burst of 130 is not all sent after nine minutes',
    facts: poller(waits(9 * MINUTE, 130)),
    says: 'good working working null',
    message: '38 sent, 130 wait, safe',
  },
  {
    name: '56: the clock was set back',
    facts: poller(waits(-2 * HOUR)),
    says: 'good working working null',
  },
  {
    name: '25, 26: its key was revoked',
    facts: poller({ ...waits(2 * DAY), is: ended('revoked') }),
    says: 'error ended ended handled',
    message: 'stopped on Tuesday, 3 wait, safe: its key was revoked',
    fix: 'Download them, then mark them as handled: `leadtap leads export --owed CRM`.',
  },
  {
    name: '61: its platform has deleted it just now, to make it again',
    facts: webhook({ ...waits(5 * MINUTE), is: { ...ended('deleted'), endedAt: ago(2 * MINUTE) } }),
    says: 'unknown ended replaced null',
    message: 'stopped on Thursday, 3 wait, safe: its platform deleted it just now',
  },
  {
    name: '42: its receiver answered 410',
    facts: webhook({ ...waits(2 * DAY), is: ended('410') }),
    says: 'error ended ended handled',
    message: 'stopped on Tuesday, 3 wait, safe: its receiver answered 410',
  },
  {
    name: 'it ended, and what it missed before stays',
    facts: poller({ ...missed({ moved: 1 }), is: ended('removed') }),
    says: 'error ended ended handled',
    message: 'stopped on Tuesday, 1 not received: it was removed',
  },
  { name: '41: it ended, and nothing is owed', facts: webhook({ is: ended('removed') }), says: NOT_LISTED },
  {
    name: '30, 41: it was new and ended',
    facts: newPoller({ ...waits(2 * DAY), is: ended('revoked') }),
    says: NOT_LISTED,
  },
  {
    name: '66: its key was never used',
    facts: newPoller({ is: { startStamp: null, startedAt: null } }),
    says: NOT_LISTED,
  },
  {
    name: '31: it asks for leads of next year',
    facts: poller({ ...missed({ passed: 2 }), is: { ahead: 'future', aheadSince: NOW + 365 * DAY } }),
    says: 'error working future handled',
    message: 'asks for leads after 19 Nov 2027, 2 not received: it gets none',
    fix: 'Correct the time that it asks for; or if it is not used: `leadtap connections handled CRM`.',
  },
  {
    name: '31: also if it is new',
    facts: newPoller({ is: { ahead: 'future', aheadSince: NOW + 10 * MINUTE } }),
    says: 'error new future handled',
    message: 'asks for leads after 14:40: it gets none',
  },
  {
    name: '52: an old backup was restored',
    facts: poller({ is: { ahead: 'gone', aheadSince: ago(20 * MINUTE) } }),
    moment: { lastStamp: ago(28 * MINUTE) },
    says: 'error working gone handled',
    message: 'asks for leads after 14:10: our newest is of 14:02, leads are gone from this database',
  },
  {
    name: '30, 39: a new one asked twice, and leads wait for it',
    facts: newPoller({ ...waits(2 * HOUR, 12), is: { startedAt: ago(2 * HOUR) } }),
    says: 'unknown new new handled',
    message: 'new connection, asked twice, 12 wait, safe',
    fix: 'If it was a test: `leadtap connections handled CRM`.',
  },
  {
    name: '30, 39: they wait for a day',
    facts: newPoller(waits(DAY + MINUTE, 4)),
    says: 'warning new new-long handled',
    message: 'new connection, asked twice, 4 wait, safe',
  },
  {
    name: 'old leads wait for one that is new since an hour',
    facts: newPoller({ ...waits(3 * DAY), is: { startedAt: ago(HOUR) } }),
    says: 'unknown new new handled',
  },
  {
    name: '33: a burst between the first polls of one',
    facts: newPoller(missed({ passed: 30 })),
    says: 'unknown new new handled',
    message: 'new connection, asked twice, 30 not received',
  },
  {
    name: '41: a new webhook was never accepted',
    facts: webhook({ leads: 0, ...waits(HOUR), is: { ...failing, workedAt: null, startedAt: ago(HOUR) } }),
    says: 'unknown new new handled',
    message: 'new connection, refused 20 times, 3 wait, safe',
  },
  {
    name: '21: the key that signed its tokens was replaced',
    facts: poller({ ...waits(MINUTE), isKeyAccepted: false }),
    says: 'error working key renew',
    message: 'its key is no longer accepted, 3 wait, safe',
    fix: 'Paste a new key there: `leadtap token renew CRM`.',
  },
  { name: '21: of a new one', facts: newPoller({ isKeyAccepted: false }), says: 'unknown new new handled' },
  {
    name: '73: the key of a webhook expired, and nothing waits',
    facts: webhook({ is: { tokenExpiresAt: ago(2 * DAY) } }),
    says: 'error working expired renew',
    message: '41 sent: its key has expired',
  },
  {
    name: '73: the key of one that polls after events expired, and leads wait',
    facts: poller({ ...waits(MINUTE), is: { eventAt: ago(DAY), tokenExpiresAt: ago(HOUR) } }),
    says: 'error working expired renew',
    message: '38 sent, 3 wait, safe: its key has expired',
  },
  {
    name: '62: a key of an identity provider expires each hour',
    facts: poller({ ...waits(MINUTE), is: { source: 'provider', tokenExpiresAt: ago(MINUTE) } }),
    says: 'good working working null',
  },
  {
    name: '60: leads were deleted by age while they waited',
    facts: poller({ is: { pruned: 2 } }),
    says: 'error working pruned handled',
    message: '38 sent, 2 deleted by age before sent',
    fix: 'They are gone: `leadtap connections handled CRM`.',
  },
  {
    name: '36, 50: it asked past them',
    facts: poller(missed({ passed: 3 })),
    says: 'error working missed handled',
    message: '38 sent, 3 not received: CRM asked past them. Safe here',
    fix: 'Download them, then mark them as handled: `leadtap leads export --owed CRM`.',
  },
  {
    name: 'it asked past some, others were moved, and two are old',
    facts: poller({ ...missed({ passed: 3, moved: 2 }), ...waits(MINUTE), olderOwed: 2 }),
    says: 'error working missed handled',
    message:
      '38 sent, 5 not received, 3 wait, safe, 2 before Thursday 12 Nov: CRM asked past them (3), assigned to it too late (2). Safe here',
  },
  {
    name: 'a webhook went past them',
    facts: webhook(missed({ passed: 3 })),
    says: 'error working missed-webhook send',
    fix: 'Send them: `leadtap connections send --missed Slack`.',
  },
  {
    name: '55: webhooks are switched off',
    facts: webhook({ ...waits(HOUR), stoppedBy: 'LEADTAP_HOOKS' }),
    says: 'warning working hooks-off null',
    message: 'switched off by LEADTAP_HOOKS, 3 wait, safe',
    fix: 'Set LEADTAP_HOOKS=on, then see `leadtap connections log Slack`.',
  },
  {
    name: '55: its host is taken off the list',
    facts: webhook({ ...waits(HOUR), stoppedBy: 'LEADTAP_HOOK_HOSTS', is: failing }),
    says: 'warning failing host allow-host',
    message: 'switched off by LEADTAP_HOOK_HOSTS, 3 wait, safe',
  },
  {
    name: '73: its key has expired, and it asks',
    facts: poller({ is: { ...failing, lastErrorCode: 'token-expired' } }),
    says: 'error failing failing-key renew',
    message: 'failing since 14:10: its key has expired',
  },
  {
    name: 'it asks for more than it may',
    facts: poller({ ...waits(MINUTE), is: { ...failing, lastErrorCode: 'invalid-query' } }),
    says: 'error failing failing null',
    message: 'failing since 14:10, 3 wait, safe: the query is not valid',
    fix: 'See what it asked for and got: `leadtap connections log CRM`.',
  },
  {
    name: '41, 74: its receiver answers 500',
    facts: webhook({
      ...waits(HOUR),
      nextTryAt: NOW + 5 * MINUTE,
      is: { ...failing, lastErrorCode: 'refused' },
    }),
    says: 'error failing failing null',
    message: 'failing since 14:10, 3 wait, safe: its receiver refuses them, next try at 14:35',
  },
  {
    name: 'errors for nine minutes',
    facts: poller({ is: { ...failing, failingSince: ago(9 * MINUTE), lastErrorCode: 'token-expired' } }),
    says: 'good working working null',
  },
  {
    name: 'one error of one that asks each hour',
    facts: poller({ is: { ...failing, errors: 1, habit: every(HOUR) } }),
    says: 'good working working null',
  },
  {
    name: '37: it gets the same leads again and again',
    facts: poller({ leads: 120, is: { habit: repeated(30, 16, 2) } }),
    says: 'error failing failing null',
    message: 'failing since 14:00: it gets the same leads again and again',
  },
  {
    name: '67: the same page three times within four minutes, or twice',
    facts: poller({ is: { habit: repeated(5, 3, 1) } }),
    says: 'good working working null',
  },
  {
    name: '38, 39: it is silent, and leads wait',
    facts: poller({ ...waits(18 * MINUTE), is: silent }),
    says: 'error silent silent-owing handled',
    message: 'silent since 14:10, usually every 2 min, 3 wait, safe',
    fix: 'Switch it on where it runs; or if that was on purpose: `leadtap connections handled CRM`.',
  },
  {
    name: '38: nothing waits',
    facts: poller({ is: { lastAt: ago(DAY) } }),
    says: 'warning silent silent handled',
    message: 'silent since Wednesday 14:30, usually every 2 min',
  },
  {
    name: '38: it has not asked for 14 minutes',
    facts: poller({ is: { lastAt: ago(14 * MINUTE) } }),
    says: 'good working working null',
  },
  {
    name: '38: that was our own downtime',
    facts: poller({ ...waits(19 * MINUTE), is: silent }),
    moment: { deadTimes: [{ from: ago(19 * MINUTE), until: ago(MINUTE) }] },
    says: 'good working working null',
  },
  {
    name: 'it is refused for ten minutes, and then silent',
    facts: poller({
      is: { ...failing, lastAt: ago(HOUR), lastErrorAt: ago(40 * MINUTE), failingSince: ago(HOUR) },
    }),
    says: 'warning silent silent handled',
    message: 'silent since 13:50, usually every 2 min',
  },
  {
    name: '37: it repeated a page, and is silent since',
    facts: poller({ is: { lastAt: ago(DAY), habit: repeated(1500, 1470, 1441) } }),
    says: 'warning silent silent handled',
  },
  {
    name: '63: one that asks every 15 minutes is not silent for 40',
    facts: poller({ is: { lastAt: ago(40 * MINUTE), habit: every(15 * MINUTE) } }),
    says: 'good working working null',
  },
  {
    name: '63: one that asks after events only is not silent',
    facts: poller({ is: { eventAt: ago(DAY), lastAt: ago(DAY) } }),
    says: 'good working working null',
  },
  {
    name: '63: it did not ask within 15 minutes of an event',
    facts: poller({ ...waits(16 * MINUTE), is: event(16) }),
    says: 'error silent silent-owing handled',
    message: 'silent since 14:14, 3 wait, safe',
  },
  { name: '63: of an event of now', facts: poller({ is: event(2) }), says: 'good working working null' },
  {
    name: 'a webhook without leads for a week is not silent',
    facts: webhook({ is: { lastAt: ago(7 * DAY) } }),
    says: 'good working working null',
  },
  {
    name: '45, 69: leads were moved behind it',
    facts: poller(missed({ moved: 2 })),
    says: 'warning working missed-otherwise handled',
    message: '38 sent, 2 not received: assigned to it too late. Safe here',
  },
  {
    name: '68: its access was narrowed',
    facts: poller(missed({ narrowed: 4 })),
    says: 'warning working missed-otherwise handled',
    message: '38 sent, 4 not received: it may not see them any more. Safe here',
  },
  {
    name: '50: what was sent before a crash is not known',
    facts: poller(missed({ 'not-recorded': 1 })),
    says: 'warning working missed-otherwise handled',
    message: '38 sent, 1 not received: perhaps sent just before the service stopped. Safe here',
  },
  {
    name: 'it is paused',
    facts: webhook({ ...waits(DAY, 6), is: paused(DAY) }),
    says: 'unknown paused paused resume',
    message: 'paused by Ada on Wednesday, 6 wait, safe',
    fix: 'Let it go on with `leadtap connections resume Slack`.',
  },
  {
    name: 'it is paused for a week',
    facts: webhook({ leads: 0, is: paused(7 * DAY + MINUTE) }),
    says: 'warning paused paused-long resume',
    message: 'paused by Ada on 12 Nov',
  },
];

const IN: readonly Row[] = [
  {
    name: '10, 16: it has added and updated leads',
    facts: form({ leads: 41, updated: 3 }),
    says: 'good working working null',
    message: '41 new, 3 updated (not sent again)',
  },
  {
    name: '2: its key is not written as it should be',
    facts: form({ lost: [lost('token-invalid')] }),
    says: 'error working lost handled',
    message: '26 new, 1 refused, not saved: its header is not Bearer and its key',
    fix: "Paste its whole key again, after Bearer and one space, then `leadtap connections handled 'Website form'`.",
  },
  {
    name: '3: a form sends with the key of a poller',
    facts: form({
      leads: 0,
      held: 1,
      heldWhy: [{ why: 'insufficient-scope', fields: [] }],
      is: { workedAt: null },
    }),
    says: 'error new held accept',
    message: 'new connection, 1 held back, safe: its key may only read',
  },
  {
    name: '4: three causes',
    facts: form({
      lost: [lost('malformed-request'), lost('unsupported-media-type'), lost('payload-too-large')],
    }),
    says: 'error working lost handled',
    message: '26 new, 3 refused, not saved: no valid JSON; neither JSON nor a form; too large',
  },
  {
    name: '5: the key is in the address',
    facts: form({ lost: [lost('token-missing')] }),
    says: 'error working lost handled',
    fix: "Set LEADTAP_INTAKE=urls, or correct its header, then `leadtap connections handled 'Website form'`.",
  },
  {
    name: '6: the intake was off, a month ago',
    facts: form({ lost: [lost('intake-off', 4, ago(40 * DAY))] }),
    says: 'error working lost handled',
    message: '26 new, 4 refused, not saved: LEADTAP_INTAKE was off',
  },
  {
    name: '7: its key has expired',
    facts: form({ held: 15, heldWhy: [{ why: 'token-expired', fields: [] }] }),
    says: 'error working held accept',
    message: '26 new, 15 held back, safe: its key has expired',
    fix: "Give it a new key, then `leadtap leads refused accept --all --connection 'Website form'`.",
  },
  {
    name: '8: its key was revoked, and it still sends',
    facts: form({ lost: [lost('token-revoked', 2)], is: ended('revoked') }),
    says: 'error ended lost handled',
    message: 'stopped on Tuesday, 2 refused, not saved: its key was revoked',
  },
  {
    name: '9: its user was removed, and it had never sent before',
    facts: form({ leads: 0, lost: [lost('user-not-found')], is: { workedAt: null } }),
    says: 'error new lost handled',
    message: 'new connection, 1 refused, not saved: its user was removed',
  },
  {
    name: '10: a field was renamed',
    facts: form({ held: 2, heldWhy: [{ why: 'invalid-lead', fields: ['mail'] }] }),
    says: 'error working held accept',
    message: '26 new, 2 held back, safe: not valid: mail',
    fix: "Correct it where it runs, then `leadtap leads refused accept --all --connection 'Website form' --map mail=email`.",
  },
  {
    name: '13: a test without contact',
    facts: form({ held: 1, heldWhy: [{ why: 'invalid-lead', fields: [] }] }),
    says: 'error working held accept',
    message: '26 new, 1 held back, safe: no name, e-mail address or phone number',
  },
  {
    name: '20: one was held until its 30 days were over',
    facts: form({ held: 1, heldWhy: [{ why: 'no-contact', fields: [] }], lost: [lost('held-too-long')] }),
    says: 'error working held-unknown accept',
    message: '26 new, 1 held back, safe, 1 refused, not saved: no name, e-mail address or phone number',
  },
  {
    name: '18: the key of another person',
    facts: form({
      ...{ held: 2, heldWhy: [{ why: 'idempotency-key-reused', fields: [] }] },
      ...{ lost: [lost('no-contact'), lost('idempotency-key-reused'), lost('rate-limit-exceeded')] },
    }),
    says: 'error working held accept',
    message: '26 new, 2 held back, safe, 3 refused, not saved: the Idempotency-Key of another lead',
  },
  {
    name: '12: keeping was switched off',
    facts: form({
      lost: [
        lost('no-contact'),
        lost('idempotency-key-reused'),
        lost('rate-limit-exceeded'),
        lost('intake-off'),
      ],
    }),
    says: 'error working lost handled',
    message:
      '26 new, 4 refused, not saved: no name, e-mail address or phone number; the Idempotency-Key of another lead; more than 600 a minute, perhaps spam; and others',
  },
  {
    name: 'a field with a wrong value, and one with a name that cannot be pasted',
    facts: form({ held: 1, heldWhy: [{ why: 'invalid-lead', fields: ['email', 'x`y'] }] }),
    says: 'error working held accept',
    fix: "Correct it where it runs, then `leadtap leads refused accept --all --connection 'Website form' --map email=customFields.email`.",
  },
  {
    name: '14: 41 were turned away today',
    facts: form({ leads: 600, lost: [lost('rate-limit-exceeded', 41)] }),
    says: 'warning working turned-away handled',
    message: '600 new, 41 refused, not saved: more than 600 a minute, perhaps spam',
  },
  {
    name: 'bodies were cut off today',
    facts: form({ lost: [lost('client-closed-request', 2), lost('request-timeout')] }),
    says: 'warning working turned-away handled',
    message: '26 new, 3 refused, not saved: cut off',
  },
  {
    name: '14: they were turned away two days ago',
    facts: form({ leads: 600, lost: [lost('rate-limit-exceeded', 41, ago(2 * DAY))] }),
    says: 'good working working null',
    message: '600 new, 41 refused, not saved',
  },
  {
    name: '21: the key that signed its token was replaced',
    facts: form({ isKeyAccepted: false }),
    says: 'error working key renew',
    message: 'its key is no longer accepted',
  },
  {
    name: 'its last key has expired, and nothing came since',
    facts: form({ keysUntil: ago(DAY) }),
    says: 'error working expired renew',
    message: '26 new: its key has expired',
  },
  {
    name: '64: silent for three times its longest pause',
    facts: form({ longestPauseMs: 3.5 * DAY, is: { lastLeadAt: ago(11 * DAY) } }),
    says: 'warning silent silent handled',
    message: 'silent since 8 Nov: its longest pause was 3 days 12 h',
  },
  {
    name: '64: silent for less than that',
    facts: form({ longestPauseMs: 3.5 * DAY, is: { lastLeadAt: ago(10 * DAY) } }),
    says: 'good working working null',
  },
  {
    name: 'silent for less than a day',
    facts: form({ longestPauseMs: HOUR, is: { lastLeadAt: ago(20 * HOUR) } }),
    says: 'good working working null',
  },
  {
    name: '64: two tests, and none for three weeks',
    facts: form({ leads: 2, is: { lastLeadAt: ago(21 * DAY) } }),
    says: 'good working working null',
    message: '2 new',
  },
  {
    name: 'it has never added a lead',
    facts: form({ leads: 0, is: { workedAt: null, lastLeadAt: null } }),
    says: 'unknown new new handled',
    message: 'new connection',
  },
  { name: 'it was ended', facts: form({ is: ended('revoked') }), says: NOT_LISTED },
];

const OTHER: readonly Row[] = [
  {
    name: '1: requests with an unknown key, and without one',
    facts: door([lost('token-invalid', 5), lost('token-missing', 3)]),
    says: 'warning working unknown-key handled',
    message: '5 requests with a wrong key, 3 requests without a key: perhaps your own form',
    fix: 'If so, paste its whole key again, then `leadtap connections handled door`.',
  },
  {
    name: '1: two days later',
    facts: door([lost('token-invalid', 5, ago(2 * DAY))]),
    says: 'unknown working figures null',
    message: '5 requests with a wrong key',
  },
  {
    name: '70: scanners all night',
    facts: door([lost('token-missing', 900)]),
    says: 'unknown working figures null',
    message: '900 requests without a key',
  },
  { name: '70: nothing came', facts: door([]), says: NOT_LISTED },
  {
    name: '29, 47, 54: leads that no automation gets',
    facts: unassigned(4),
    says: 'warning working unassigned connect',
    message: '4 leads that no automation gets: safe here',
    fix: 'Connect an automation, send them to it, then `leadtap connections handled unassigned --company acme`.',
  },
  { name: '29: there are none', facts: unassigned(0), says: NOT_LISTED },
];

const ROWS = [...OUT, ...IN, ...OTHER];
const said = ({ facts, moment }: Row) => judge(facts, { ...MOMENT, ...moment });

describe('it is said of a connection', () => {
  it.each(ROWS)('$name', (row) => {
    const judgement = said(row);
    const { level, state, rule, action } = judgement ?? {};
    expect(judgement === undefined ? NOT_LISTED : `${level} ${state} ${rule} ${action}`).toBe(row.says);
    if (row.message !== undefined) expect(judgement?.message).toBe(row.message);
    if (row.fix !== undefined) expect(judgement?.fix).toBe(row.fix);
  });
});

describe('each rule', () => {
  it('has a row that reaches it', () => {
    const reached = ROWS.map((row) => {
      const rules = rulesOf(row.facts.connection);
      const [of] = Object.entries(RULES).find(([, one]) => one === rules) ?? [];
      return `${of} ${said(row)?.rule ?? 'over'}`;
    });
    const all = Object.entries(RULES).flatMap(([of, rules]) => rules.map(({ name }) => `${of} ${name}`));
    expect([...new Set(reached)].filter((one) => !/^(door|unassigned) over$/.test(one)).sort()).toEqual(
      all.sort(),
    );
  });

  it('says what to do if it is red or amber, and a click of a person comes with its command', () => {
    const without = ROWS.map(said).filter(
      (one) => one && one.fix === null && (/error|warning/.test(one.level) || one.action !== null),
    );
    expect(without).toEqual([]);
  });
});

/** With names and figures as long as they can be. */
const LONG = 'A name that is as long as any name may be, and even longer than that, at the end';
const longest = ({ connection, ...facts }: ConnectionFacts): ConnectionFacts => ({
  ...facts,
  connection: { ...connection, name: LONG, pausedBy: connection.pausedBy && LONG },
  leads: 10_000,
});

describe('a message', () => {
  const OLD_WORDS =
    /consumer|sender|confirmed|delivered|skipped|unseen|stale|stuck|subscribed|inactive|\bgaps?\b|kept|enquir/i;
  const messages = ROWS.map((row) => said({ ...row, facts: longest(row.facts) })?.message ?? '');

  it('is one line of less than 200 characters', () => {
    expect(messages.filter((message) => message.length >= 200 || /[\n`]/.test(message))).toEqual([]);
  });

  it('has no old word', () => {
    const all = ROWS.map(said).flatMap((one) => [one?.message ?? '', one?.fix ?? '']);
    expect(all.filter((text) => OLD_WORDS.test(text))).toEqual([]);
  });

  it('has the times of the time zone', () => {
    const judgement = judge(poller({ is: { lastAt: ago(20 * MINUTE) } }), {
      ...MOMENT,
      timeZone: 'Asia/Tokyo',
    });
    expect(judgement?.message).toMatch(/^silent since 23:10,/);
  });
});

describe('a fix', () => {
  const COMMANDS =
    /^leadtap (?:connections (?:send --missed|handled|resume|log)|token renew|leads export --owed|leads refused list --connection|leads refused accept --all --connection) (?:[\w@%+=:,./-]+|'[^']+')(?: --company acme)?(?: --map \S+)*$/;
  const commandsOf = (fix: string) => [...fix.matchAll(/`([^`]*)`/g)].map(([, command]) => command ?? '');

  it('has one command, which exists', () => {
    const fixes = ROWS.map((row) => said(row)?.fix ?? null).filter((fix) => fix !== null);
    const wrong = fixes.filter((fix) => {
      const commands = commandsOf(fix);
      return commands.length !== 1 || !commands.every((command) => COMMANDS.test(command));
    });
    expect(wrong).toEqual([]);
  });

  it('has the id where several connections have the name', () => {
    const moment = { ...MOMENT, sharedNames: new Set(['CRM']) };
    expect(judge(poller(missed({ passed: 1 })), moment)?.fix).toContain(
      '`leadtap leads export --owed poll-1`',
    );
  });

  it.each([
    ['CRM', 'CRM'],
    ['L\'Oréal "CRM"', `'L'\\''Oréal "CRM"'`],
    ['a `b`', 'poll-1'],
    ['--all', 'poll-1'],
    [LONG, 'poll-1'],
    ['', 'poll-1'],
  ])('names %s as %s', (name, argument) => {
    const judgement = judge(poller({ ...missed({ passed: 1 }), is: { name } }), MOMENT);
    expect(judgement?.fix).toContain(`\`leadtap leads export --owed ${argument}\``);
  });
});
