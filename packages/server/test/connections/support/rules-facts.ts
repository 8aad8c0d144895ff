/** Facts of connections, as the store has them. */
import { DOOR_ID, PHRASES, UNASSIGNED_ID } from '@leadtap/contract';
import { newConnection } from '../../../src/connections/polls.ts';
import type { Moment } from '../../../src/connections/rules.ts';
import {
  type Connection,
  type ConnectionFacts,
  type Habit,
  type LostCount,
  NO_HABIT,
} from '../../../src/connections/store.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** A Thursday, 14:30. */
export const NOW = Date.parse('2026-11-19T14:30:00.000Z');
export const ago = (ms: number): number => NOW - ms;

export const MOMENT: Moment = {
  ...{ now: NOW, timeZone: 'UTC', lastStamp: ago(5 * MINUTE), deadTimes: [] },
  ...{ silentAfterMs: 15 * MINUTE, since: ago(7 * DAY), sharedNames: new Set() },
};

export type Given = Partial<ConnectionFacts> & { readonly is?: Partial<Connection> };

export function factsOf(connection: Connection, { is, ...facts }: Given): ConnectionFacts {
  return {
    connection: { ...connection, ...is },
    ...{ user: undefined, lastStamp: 0, isKeyAccepted: true, hasKeys: true },
    oldKeyUsedAt: null,
    keysUntil: null,
    ...{ host: null, origin: null, stoppedBy: null, nextTryAt: null },
    ...{ leads: 0, updated: 0, waiting: 0, waitingSince: null, olderOwed: 0 },
    ...{ missed: { ...NONE }, held: 0, heldWhy: [], lost: [], longestPauseMs: null, hours: [] },
    ...facts,
  };
}

export const NONE = { passed: 0, moved: 0, narrowed: 0, 'not-recorded': 0 };

const STARTED: Partial<Connection> = {
  ...{ startStamp: ago(9 * DAY), startedAt: ago(9 * DAY), position: ago(5 * MINUTE), workedAt: ago(8 * DAY) },
};
const worked = (kind: Connection['kind'], name: string): Connection => ({
  ...newConnection({
    id: `${kind}-1`,
    companyId: 'acme',
    userId: 'ada',
    kind,
    name,
    source: 'token',
    firstAt: ago(9 * DAY),
  }),
  ...STARTED,
});

/** It polls every so many milliseconds. */
export const every = (pauseMs: number, rest: Partial<Habit> = {}): Habit => ({
  ...NO_HABIT,
  ...{ pausesMs: Array<number>(30).fill(pauseMs), polls: 500, followed: 9 },
  ...rest,
});

/** The CRM, which has worked, and polls every two minutes: 38 sent. */
export const poller = (given: Given = {}): ConnectionFacts =>
  factsOf(
    { ...worked('poll', 'CRM'), lastAt: ago(MINUTE), habit: every(2 * MINUTE) },
    { leads: 38, ...given },
  );

/** One that asked twice. */
export const newPoller = (given: Given = {}): ConnectionFacts =>
  poller({ leads: 0, ...given, is: { workedAt: null, habit: { ...NO_HABIT, polls: 2 }, ...given.is } });

export const webhook = (given: Given = {}): ConnectionFacts =>
  factsOf(
    { ...worked('webhook', 'Slack'), lastAt: ago(MINUTE) },
    { leads: 41, host: 'hooks.zapier.com', ...given },
  );

export const form = (given: Given = {}): ConnectionFacts =>
  factsOf(
    { ...worked('send', 'Website form'), lastAt: ago(MINUTE), lastLeadAt: ago(MINUTE) },
    { leads: 26, ...given },
  );

export const door = (lost: readonly LostCount[]): ConnectionFacts =>
  factsOf({ ...worked('send', PHRASES.door), id: DOOR_ID }, { lost });

export const unassigned = (waiting: number): ConnectionFacts =>
  factsOf({ ...worked('poll', PHRASES.unassigned), id: UNASSIGNED_ID }, { waiting, waitingSince: ago(HOUR) });

export const lost = (why: LostCount['why'], requests = 1, lastAt = ago(HOUR)): LostCount => ({
  ...{ why, requests, firstAt: lastAt, lastAt },
});
