/** What is said of the leads of the last 30 days: whether they have reached an automation, and if not, why. */

import { toIso } from '../lib/clock.ts';
import { formatCount, formatDay } from '../lib/formats.ts';
import type { Found } from './consumer-problems.ts';
import type { Facts, LeadCoverage, UnseenPlace } from './report.ts';
import { countOf, countUpTo, inCommand, inSentence, MAX_PENDING_LEADS, MAX_PLACES } from './sentences.ts';

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
/** In a longer time, a weekday could be two days. */
const MAX_WEEKDAY_MS = 6 * 86_400_000;

/** `since Monday`; undefined if it was longer ago. */
function sinceWeekday(iso: string, now: number): string | undefined {
  const time = Date.parse(iso);
  return now - time < MAX_WEEKDAY_MS ? `since ${DAYS[new Date(time).getUTCDay()]}` : undefined;
}

const sinceText = (iso: string, now: number): string =>
  sinceWeekday(iso, now) ?? `since ${formatDay(Date.parse(iso))}`;

const leadsText = (count: number): string => (count === 1 ? '1 lead' : `${countUpTo(count)} leads`);

interface Whose {
  readonly seen: string;
  readonly reached: string;
  readonly missed: string;
}

const OF_ALL: Whose = { seen: '', reached: 'reached an automation', missed: 'reached no automation' };
export const OF_USER: Whose = {
  ...{
    seen: ' that your automations may see',
    reached: 'reached one of them',
    missed: 'reached none of them',
  },
};

/** Each count is of all leads. Where there are more than are counted, it is a lower bound. */
const isComplete = ({ leads, isPart }: LeadCoverage): boolean => !isPart && leads < MAX_PENDING_LEADS;

/** So many leads have reached an automation, or more. */
const minReached = ({ leads, waiting, skipped, beforeStart, unseen }: LeadCoverage): number =>
  Math.max(0, leads - waiting - skipped - beforeStart - unseen);

/** False: leads are known that have reached none, and none that has. */
export const isReachedKnown = (coverage: LeadCoverage): boolean =>
  isComplete(coverage) || minReached(coverage) > 0;

/**
 * How many leads have reached an automation, and why the others have not. Leads from before the first position of a consumer are not sent
 * by design, and one that was removed since may have got them: they are counted apart.
 */
export function describeCoverage(coverage: LeadCoverage, now: number, whose = OF_ALL): string {
  const { leads, since, waiting, waitingFor, skipped, beforeStart, unseen, isPart } = coverage;
  const { seen, missed } = whose;
  if (!coverage.hasLeads) return `No lead${seen} yet.`;
  const from = since === null ? undefined : isPart ? sinceText(since, now) : sinceWeekday(since, now);
  const span = `${from ?? 'of the last 30 days'}${seen}`;
  if (leads === 0) return `No new lead ${span} is stored.`;
  const early = 'came in before an automation was connected';
  const [name = '', ...more] = waitingFor;
  const names = `${inSentence(name)}${more.length > 0 ? ` and ${formatCount(more.length)} more` : ''}`;
  const reached = describeReached(coverage, span, whose);
  // Those of a part may be from before it.
  const say = (count: number, one: string, many: string): string | undefined =>
    count === 0
      ? undefined
      : `${reached ? countUpTo(count) : `${leadsText(count)} of the last 30 days${seen}`} ${count === 1 ? one : many}.`;
  const sentences = [
    reached,
    say(waiting, `waits for ${names}`, `wait for ${names}`),
    say(skipped, 'was skipped', 'were skipped'),
    reached ? undefined : say(unseen, missed, missed),
    say(beforeStart, early, early),
  ];
  return sentences.filter((sentence) => sentence !== undefined).join(' ');
}

/** Undefined: none is known to have. */
function describeReached(coverage: LeadCoverage, span: string, { seen, reached }: Whose): string | undefined {
  const { leads, waiting, skipped, beforeStart, unseen, isPart } = coverage;
  const missing = waiting + skipped + unseen;
  const min = minReached(coverage);
  if (missing + beforeStart === 0)
    return leads === 1 ? `The only lead ${span} ${reached}.` : `All ${leadsText(leads)} ${span} ${reached}.`;
  if (isComplete(coverage)) {
    if (leads <= beforeStart) return 'No lead has come in since an automation was connected.';
    const all = `${leadsText(leads - beforeStart)} ${span} ${reached}.`;
    return missing === 0 ? all : `${formatCount(min)} of ${all}`;
  }
  if (min === 0) return undefined;
  if (isPart) return `At least ${leadsText(min)} of the last 30 days${seen} ${reached}.`;
  return `All but ${formatCount(missing + beforeStart)} of ${leadsText(leads)} ${span} ${reached}.`;
}

function placeText({ company, branch, department, isOnlyHere }: UnseenPlace): string {
  const name = inSentence(company);
  if (department !== null) return `department ${inSentence(department)} of ${name}`;
  if (branch !== null)
    return `${isOnlyHere ? 'leads without a department of ' : ''}branch ${inSentence(branch)} of ${name}`;
  return isOnlyHere ? `leads of ${name} without a branch` : `leads of ${name}`;
}

function unseenText(place: UnseenPlace, now: number): string {
  const { leads, since, cause, consumer, company, branchId, isOnlyHere } = place;
  const found = `${leadsText(leads)} ${sinceText(since, now)}`;
  const at = placeText(place);
  if (cause === 'silent')
    return `${found}: ${inSentence(consumer ?? '')} alone may see ${at}, and does not poll any more`;
  if (cause === 'ended') return `${found} waited for an automation that was removed: ${at}`;
  if (cause === 'between') return `${found} came in while no automation could see ${at}`;
  return branchId === null && !isOnlyHere
    ? `${found}: no automation of ${inSentence(company)}`
    : `${found}: no automation may see ${at}`;
}

/** A page begins after its `since`. */
const startText = ({ since }: UnseenPlace): string => toIso(Date.parse(since) - 1);
const startQuery = (place: UnseenPlace): string => `\`since=${startText(place)}\``;
const replayText = (place: UnseenPlace): string =>
  `Let it poll first with ${startQuery(place)}: this returns them.`;

function unseenFix(place: UnseenPlace): string {
  const { userId, companyId, branchId, departmentId, cause } = place;
  if (cause === 'ended')
    return `Connect an automation for them, or use one that may see them: let it poll first with ${startQuery(place)}, or subscribe its webhook from there: \`leadtap hooks add --since ${startText(place)}\`.`;
  if (cause === 'between') return `An automation may see them now. ${replayText(place)}`;
  if (userId !== null)
    return `Connect an automation with a token of a user who may see them: \`leadtap token issue --user ${inCommand(userId, 'ID')}\`. ${replayText(place)}`;
  const id = inCommand(companyId, 'ID');
  const level =
    departmentId !== null
      ? `DEPARTMENT --department ${inCommand(departmentId, 'ID')}`
      : branchId !== null
        ? `BRANCH --branch ${inCommand(branchId, 'ID')}`
        : 'COMPANY';
  return `Add a user who may see them: \`leadtap user add ID --company ${id} --plan PROFESSIONAL --access-level ${level}\`. Connect an automation with a token of this user: \`leadtap token issue --user ID\`. ${replayText(place)}`;
}

export function findUnseen({ consumers, generatedAt }: Facts): Found | undefined {
  const places = consumers?.coverage?.unseenPlaces ?? [];
  const [worst] = places;
  if (!worst) return undefined;
  const now = Date.parse(generatedAt);
  const texts = places.slice(0, MAX_PLACES).map((place) => `${unseenText(place, now)}.`);
  const others = places.length - texts.length;
  const hasMoreSubjects = consumers?.coverage?.hasMorePlaces ?? false;
  if (hasMoreSubjects) texts.push('And more places.');
  else if (others > 0) texts.push(`And ${countOf(others, 'more place', 'more places')}.`);
  const subjects = places.map((place) => ({
    key: JSON.stringify([place.companyId, place.branchId, place.departmentId, place.isOnlyHere, place.cause]),
    ...{ name: inSentence(place.company), severity: 'warning' as const },
    ...{ message: `${unseenText(place, now)}.`, fix: unseenFix(place) },
  }));
  return { message: texts.join(' '), fix: unseenFix(worst), subjects, hasMoreSubjects };
}
