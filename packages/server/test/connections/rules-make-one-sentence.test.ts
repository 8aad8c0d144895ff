import { describe, expect, it } from 'vitest';
import { judge } from '../../src/connections/rules.ts';
import { levelOf, sentenceOf, sortRows } from '../../src/connections/sentence.ts';
import type { ConnectionFacts } from '../../src/connections/store.ts';
import {
  ago,
  DAY,
  door,
  form,
  HOUR,
  lost,
  MINUTE,
  MOMENT,
  NONE,
  newPoller,
  poller,
  unassigned,
  webhook,
} from './support/rules-facts.ts';

const rowsOf = (all: readonly ConnectionFacts[]) =>
  all.flatMap((facts) => {
    const judgement = judge(facts, MOMENT);
    return judgement === undefined ? [] : [{ facts, judgement }];
  });

const missed = { missed: { ...NONE, passed: 3 } };
const silent = { waiting: 3, waitingSince: ago(HOUR), is: { lastAt: ago(HOUR) } };
const named = (names: string, of: (name: string) => ConnectionFacts) => names.split(' ').map(of);
const slack = (leads: number) => webhook({ leads });
const held = form({ leads: 26, held: 15, heldWhy: [{ why: 'token-expired', fields: [] }] });
const turnedAway = form({ lost: [lost('rate-limit-exceeded', 41)] });

interface Row {
  readonly name: string;
  readonly leads: number;
  readonly facts: readonly ConnectionFacts[];
  /** The level, and what follows after the number of leads. */
  readonly says: string;
}

const ROWS: readonly Row[] = [
  {
    name: 'all that is sent, not received, held and lost',
    leads: 41,
    facts: [turnedAway, held, form(), poller(missed), slack(41)],
    says: 'error: 41 leads since Thursday 12 Nov. Slack has all. CRM: 38 sent, 3 not received. To do: 15 held back. Gone: 41 refused, not saved.',
  },
  {
    name: 'all is well',
    leads: 41,
    facts: [form({ leads: 41 }), slack(41)],
    says: 'good: 41 leads since Thursday 12 Nov. Slack has all.',
  },
  {
    name: '24: leads wait for a while',
    leads: 1,
    facts: [form(), slack(1), poller({ leads: 0, waiting: 1, waitingSince: ago(MINUTE) })],
    says: 'good: 1 lead since Thursday 12 Nov. Slack has all. CRM: 0 sent, 1 waits, safe.',
  },
  {
    name: 'those of one branch, and what began later',
    leads: 41,
    facts: [slack(41), ...named('Lyon', (name) => poller({ leads: 10, is: { name } }))],
    says: 'good: 41 leads since Thursday 12 Nov. Slack has all. Lyon has all that was meant for it.',
  },
  {
    name: 'twelve that have all, and six that are red or amber',
    leads: 41,
    facts: [
      ...named('A B C D E F G H I J K L', (name) => webhook({ is: { name } })),
      ...named('P Q', (name) => poller({ leads: 3, is: { name } })),
      ...named('U V W X Y', (name) => poller({ ...missed, is: { name } })),
      ...named('Z', (name) => poller({ is: { name, lastAt: ago(DAY) } })),
    ],
    says: 'error: 41 leads since Thursday 12 Nov. A, B, C and 9 others have all. P and Q have all that was meant for them. U: 38 sent, 3 not received. V: 38 sent, 3 not received. W: 38 sent, 3 not received. 2 more are red. 1 more is amber.',
  },
  {
    name: 'the most urgent first, with why it is red',
    leads: 41,
    facts: [poller(silent), poller({ ...missed, is: { name: 'Sheets' } }), webhook({ isKeyAccepted: false })],
    says: 'error: 41 leads since Thursday 12 Nov. Slack: its key is no longer accepted. Sheets: 38 sent, 3 not received. CRM: silent since 13:30, usually every 2 min, 3 wait, safe.',
  },
  {
    name: 'a form that is silent, and an unknown key',
    leads: 41,
    facts: [
      slack(41),
      door([lost('token-invalid', 5)]),
      form({ longestPauseMs: DAY, is: { lastLeadAt: ago(4 * DAY) } }),
    ],
    says: 'warning: 41 leads since Thursday 12 Nov. Slack has all. Unknown sender: 5 requests with a wrong key. Website form: silent since Sunday 14:30.',
  },
  {
    name: '29: leads that no automation gets',
    leads: 4,
    facts: [form(), unassigned(4)],
    says: 'warning: 4 leads since Thursday 12 Nov. No automation is connected. Nowhere yet: 4 leads that no automation gets.',
  },
  {
    name: '54: one was connected later',
    leads: 4,
    facts: [poller({ leads: 0 }), unassigned(4)],
    says: 'warning: 4 leads since Thursday 12 Nov. CRM has all that was meant for it. Nowhere yet: 4 leads that no automation gets.',
  },
  {
    name: 'one is new',
    leads: 41,
    facts: [slack(41), newPoller({ is: { name: 'Workato' } })],
    says: 'unknown: 41 leads since Thursday 12 Nov. Slack has all. Workato: new connection, asked twice.',
  },
  {
    name: 'a quiet week',
    leads: 0,
    facts: [slack(0)],
    says: 'good: No leads in the last 30 days.',
  },
  {
    name: '70: an empty installation, and scanners all night',
    leads: 0,
    facts: [door([lost('token-missing', 900)])],
    says: 'unknown: No leads in the last 30 days. Nothing is connected.',
  },
  {
    name: 'scanners change nothing',
    leads: 41,
    facts: [slack(41), door([lost('token-missing', 900)])],
    says: 'good: 41 leads since Thursday 12 Nov. Slack has all.',
  },
  {
    name: 'more leads than are counted',
    leads: 10_000,
    facts: [slack(12_345), poller({ leads: 900, waiting: 1000, waitingSince: ago(MINUTE) })],
    says: 'good: 10,000+ leads since Thursday 12 Nov. Slack has all. CRM: 900 sent, 1,000+ wait, safe.',
  },
];

describe('the sentence and the level', () => {
  it.each(ROWS)('$name', ({ leads, facts, says }) => {
    const rows = rowsOf(facts);
    expect(`${levelOf(rows)}: ${sentenceOf(rows, leads, MOMENT)}`).toBe(says);
  });

  it('names the day in the time zone', () => {
    const since = Date.parse('2026-11-11T23:30:00.000Z');
    expect(sentenceOf([], 1, { since, timeZone: 'Europe/Paris' })).toContain('since Thursday 12 Nov.');
    expect(sentenceOf([], 1, { since, timeZone: 'UTC' })).toContain('since Wednesday 11 Nov.');
  });
});

it('the worst rows come first', () => {
  const rows = rowsOf([
    slack(41),
    newPoller(),
    poller({ is: { lastAt: ago(DAY) } }),
    poller(silent),
    poller(missed),
  ]);
  expect(sortRows(rows).map(({ judgement }) => judgement.rule)).toEqual([
    'missed',
    'silent-owing',
    'silent',
    'new',
    'working',
  ]);
});
