import { toIso } from '../../clock.ts';
import type { ServerFacts } from '../../store/store.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

const CLOCK = 'clock';
/** Older than this program. */
const IMPOSSIBLY_EARLY = Date.UTC(2025, 0, 1);
/** One import moves stamps at most 5 s ahead of the clock. */
const FAR_AHEAD_MS = 60_000;

/** Beyond what a slow network can make of two clocks that are right. */
const FAR_APART_MS = 5000;

/** Leads are stamped by the clock of the database server where there is one; tokens expire by that of this machine. */
export function checkClock(now: number, latestStamp: number, server?: ServerFacts): Finding {
  if (now < IMPOSSIBLY_EARLY)
    return failed(CLOCK, `it shows ${toIso(now)}, which is in the past`, 'Set the clock of this machine.');
  const apartMs = server?.clockAheadMs ?? 0;
  if (Math.abs(apartMs) > FAR_APART_MS)
    return warning(
      CLOCK,
      apart(apartMs),
      'Set the one that is wrong, and keep both right with NTP: leads are dated by the first, tokens expire by the second.',
    );
  // New leads are stamped after the latest one, so a clock that is behind it cannot lose a lead, only misdate it.
  const aheadMs = latestStamp - (now + apartMs);
  if (aheadMs > FAR_AHEAD_MS)
    return warning(
      CLOCK,
      `the latest lead is dated ${toIso(latestStamp)}, ${Math.round(aheadMs / 1000)} s ahead of the clock`,
      `Set the clock of ${server ? 'the database server' : 'this machine'} if it is slow; otherwise new leads carry such times until it has caught up.`,
    );
  return ok(CLOCK, server ? `${toIso(now)}; ${apart(apartMs)}` : toIso(now));
}

const apart = (ms: number): string =>
  `the clock of the database is ${Math.abs(ms)} ms ${ms < 0 ? 'behind' : 'ahead of'} that of this machine`;
