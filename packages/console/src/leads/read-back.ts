/** Reads leads backwards, although the endpoint only reads forwards: the leads after a time, oldest first. */
import type { Lead } from '@leadtap/client';
import { MAX_LEADS_PER_PAGE } from '@leadtap/contract';

/** The first 100 leads after `since`, in milliseconds since 1970, oldest first. */
export type ReadPage = (since: number) => Promise<readonly Lead[]>;

export interface LeadsBefore {
  /** Newest first. */
  readonly leads: readonly Lead[];
  /** All leads from this time on are read; 0: all leads. Then, and only then, there may be none of them. */
  readonly from: number;
}

/** Reads the leads directly before a time. */
export type ReadBack = (before: number, spanMs: number) => Promise<LeadsBefore>;

/** An empty time span is extended by this factor. */
const GROWTH = 4;
/** So many leads are expected of a request. If there are more than 100, a second request gets the rest. */
const EXPECTED_LEADS = 80;
const DEFAULT_SPAN_MS = 3_600_000;

export const timeOf = ({ createdAt }: Lead): number => Date.parse(createdAt);

/** So many leads show how dense they are. With more of them, a gap would count for longer after it. */
const SAMPLE = 20;

/** How far to read back from the end of a list that is newest first. */
export function spanOf(leads: readonly Lead[]): number {
  const last = leads.slice(-SAMPLE);
  const [newest, oldest] = [last[0], last.at(-1)];
  if (!newest || !oldest || newest === oldest) return DEFAULT_SPAN_MS;
  return Math.ceil(((timeOf(newest) - timeOf(oldest)) / (last.length - 1)) * EXPECTED_LEADS);
}

/**
 * Usually one request for each call. Only a gap or a burst needs more: a span without leads is extended, at most to the oldest lead
 * of all, and in one with too many, reading on from its start alternates with halving it. So at most two requests are needed for
 * each halving of the time, however many leads there are.
 */
export function createReadBack(readPage: ReadPage): ReadBack {
  let oldest: number | undefined;
  const result = (oldestFirst: readonly Lead[], since: number): LeadsBefore => ({
    leads: oldestFirst.toReversed(),
    from: since < (oldest ?? 1) ? 0 : since + 1,
  });
  return async (before, spanMs) => {
    /** There is no lead between this time and `before`. */
    let emptyFrom = before;
    /** `kept` has all leads between these times; those between `keptTo` and `emptyFrom` are not known. */
    let keptFrom = 0;
    let keptTo: number | undefined;
    let kept: readonly Lead[] = [];
    let since = Math.max(0, before - spanMs);
    const readFrom = async (time: number) => (await readPage(time)).filter((lead) => timeOf(lead) < before);
    for (;;) {
      const found = await readFrom(since);
      const isContinued = since === keptTo;
      const known = isContinued ? [...kept, ...found] : found;
      const last = found.at(-1);
      if (last && found.length === MAX_LEADS_PER_PAGE) {
        if (!isContinued) keptFrom = since;
        kept = known;
        keptTo = timeOf(last);
        since = isContinued ? Math.floor((keptTo + emptyFrom) / 2) : keptTo;
        continue;
      }
      if (known.length > 0) return result(known, isContinued ? keptFrom : since);
      emptyFrom = since;
      if (keptTo !== undefined) {
        since = keptTo;
        continue;
      }
      if (oldest === undefined) {
        const first = await readFrom(0);
        if (!first[0] || first.length < MAX_LEADS_PER_PAGE) return result(first, 0);
        oldest = timeOf(first[0]);
      }
      if (since < oldest) return result([], 0);
      since = Math.max(oldest - 1, before - (before - emptyFrom) * GROWTH);
    }
  };
}
