import { toIso } from '../../clock.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

const CLOCK = 'clock';
/** Older than this program. */
const IMPOSSIBLY_EARLY = Date.UTC(2025, 0, 1);
/** The import runs at most 5 s ahead of the clock. */
const FAR_AHEAD_MS = 60_000;

/** New leads are stamped after the latest one, so a clock that is behind it cannot lose a lead, only misdate it. */
export function checkClock(now: number, latestStamp: number): Finding {
  if (now < IMPOSSIBLY_EARLY)
    return failed(CLOCK, `it shows ${toIso(now)}, which is in the past`, 'Set the clock of this machine.');
  const aheadMs = latestStamp - now;
  if (aheadMs > FAR_AHEAD_MS)
    return warning(
      CLOCK,
      `the latest lead is dated ${toIso(latestStamp)}, ${Math.round(aheadMs / 1000)} s ahead of the clock`,
      'Set the clock of this machine if it is slow; otherwise new leads carry such times until it has caught up.',
    );
  return ok(CLOCK, toIso(now));
}
