/** The one sentence over all connections, and the worst level. Pure. */
import {
  type ConnectionLevel,
  countText,
  DOOR_ID,
  dateText,
  MAX_COUNTED_LEADS,
  PHRASES,
  UNASSIGNED_ID,
} from '@leadtap/contract';
import { inSentence, type Judgement, lostOf, type Moment, rulesOf } from './rules.ts';
import type { ConnectionFacts } from './store.ts';

/** A connection that is listed, and what is said of it. */
export interface JudgedRow {
  readonly facts: ConnectionFacts;
  readonly judgement: Judgement;
}

/** The worst first. */
export const LEVELS: readonly ConnectionLevel[] = ['error', 'warning', 'unknown', 'good'];
const MAX_NAMES = 3;
/** The sentence has the totals of what is held and lost. */
const NAMED_IN: readonly string[] = ['key', 'silent', 'unknown-key'];

const nameOf = ({ facts: { connection } }: JudgedRow): string =>
  connection.id === DOOR_ID ? PHRASES.door : inSentence(connection.name);
const isIn = ({ facts }: JudgedRow): boolean => facts.connection.kind === 'send';
const isDoor = ({ facts }: JudgedRow): boolean => facts.connection.id === DOOR_ID;
const isAutomation = (row: JudgedRow): boolean => !isIn(row) && row.facts.connection.id !== UNASSIGNED_ID;
const isComplete = ({ facts, judgement }: JudgedRow): boolean =>
  judgement.level === 'good' && facts.waiting === 0;

/** The worst first. */
export function sortRows(rows: readonly JudgedRow[]): readonly JudgedRow[] {
  const rankOf = ({ facts, judgement }: JudgedRow) =>
    100 * LEVELS.indexOf(judgement.level) +
    rulesOf(facts.connection).findIndex(({ name }) => name === judgement.rule);
  return [...rows].sort((a, b) => rankOf(a) - rankOf(b) || nameOf(a).localeCompare(nameOf(b), 'en'));
}

export const worstOf = (levels: readonly ConnectionLevel[]): ConnectionLevel | undefined =>
  LEVELS.find((level) => levels.includes(level));

/** The worst of the rows. Without an automation, nothing is known to be good. Figures at the door have no level. */
export function levelOf(rows: readonly JudgedRow[]): ConnectionLevel {
  const known = rows.filter((row) => !isDoor(row) || row.judgement.level === 'warning');
  const worst = worstOf(known.map(({ judgement }) => judgement.level));
  return worst === undefined || (worst === 'good' && !rows.some(isAutomation)) ? 'unknown' : worst;
}

/** `Slack, Mail, Sheets and 9 others have all` */
function haveAll(rows: readonly JudgedRow[], one: string, many: string): string {
  const names = rows.slice(0, MAX_NAMES).map(nameOf);
  if (rows.length > MAX_NAMES) names.push(countText(rows.length - MAX_NAMES, 'other', 'others'));
  const [first, last] = [names.slice(0, -1).join(', '), names.at(-1)];
  return rows.length > 1 ? `${first} and ${last} ${many}` : rows.length > 0 ? `${last} ${one}` : '';
}

function moreOf(rows: readonly JudgedRow[], level: ConnectionLevel): string {
  const count = rows.filter(({ judgement }) => judgement.level === level).length;
  return count === 0 ? '' : `${countText(count, 'more is', 'more are')} ${PHRASES.level[level]}`;
}

/** `41 leads since Thursday 19 Nov. Slack has all. CRM: 38 sent, 3 not received. To do: 15 held back. Gone: 41 refused, not saved.` */
export function sentenceOf(
  rows: readonly JudgedRow[],
  leads: number,
  { since, timeZone }: Pick<Moment, 'since' | 'timeZone'>,
): string {
  const automations = rows.filter(isAutomation);
  const senders = rows.filter((row) => isIn(row) && !isDoor(row));
  const complete = leads === 0 ? [] : automations.filter(isComplete);
  const hasEach = ({ facts }: JudgedRow) => facts.leads >= Math.min(leads, MAX_COUNTED_LEADS);
  const all = complete.filter(hasEach);
  const some = complete.filter((row) => !hasEach(row));
  const named = sortRows(
    rows.filter((row) => (isIn(row) ? NAMED_IN.includes(row.judgement.rule) : !isComplete(row))),
  );
  const held = senders.reduce((count, { facts }) => count + facts.held, 0);
  const lost = senders.reduce((count, { facts }) => count + lostOf(facts), 0);
  const sentences = [
    leads === 0 ? PHRASES.noLeads : `${PHRASES.lead(leads)} since ${dateText(since, timeZone)}`,
    automations.length > 0 ? '' : senders.length > 0 ? 'No automation is connected' : 'Nothing is connected',
    haveAll(all, PHRASES.hasAll, 'have all'),
    haveAll(some, `${PHRASES.hasAll} that was meant for it`, 'have all that was meant for them'),
    ...named.slice(0, MAX_NAMES).map((row) => `${nameOf(row)}: ${row.judgement.brief}`),
    ...LEVELS.map((level) => moreOf(named.slice(MAX_NAMES), level)),
    held > 0 ? `To do: ${countText(held, 'held back')}` : '',
    lost > 0 ? `Gone: ${PHRASES.lost(lost)}` : '',
  ];
  return sentences
    .map((sentence) => sentence && `${sentence}.`)
    .filter(Boolean)
    .join(' ');
}
