/** The request that the visitor builds. */
import { MAX_WAIT_S, NEW_LEADS_PATH } from '@leadtap/contract';
import { computed, signal } from '@preact/signals';
import { baseUrl } from '../service.ts';
import { quote } from '../text.tsx';

/** As typed: the service says what is invalid, and that is worth seeing. */
export const since = signal('');
export const limit = signal('10');
export const waitS = signal('');
/** The `ETag` to send as `If-None-Match`; empty: none. */
export const etag = signal('');

export interface ApiRequest {
  /** Path and query below the base URL. */
  readonly path: string;
  readonly url: string;
  /** Without the token. */
  readonly headers: Readonly<Record<string, string>>;
}

const path = computed(() => {
  const query = new URLSearchParams();
  if (since.value.trim() !== '') query.set('since', since.value.trim());
  if (limit.value.trim() !== '') query.set('limit', limit.value.trim());
  return query.size === 0 ? NEW_LEADS_PATH : `${NEW_LEADS_PATH}?${query}`;
});

// It is the validator of one page: with another request the service would ignore it.
path.subscribe(() => {
  etag.value = '';
});

export const request = computed((): ApiRequest => {
  const headers = {
    ...(Number(waitS.value) > 0 && { Prefer: `wait=${waitS.value}` }),
    ...(etag.value !== '' && { 'If-None-Match': etag.value }),
  };
  return { path: path.value, url: baseUrl + path.value, headers };
});

const HOUR_MS = 3_600_000;

export interface QuickChoice {
  readonly title: string;
  readonly since: () => string;
}

export const QUICK_CHOICES: readonly QuickChoice[] = [
  { title: 'newest first', since: () => '' },
  { title: '1 hour ago', since: () => new Date(Date.now() - HOUR_MS).toISOString() },
  { title: 'yesterday', since: startOfYesterday },
  { title: 'all', since: () => new Date(0).toISOString() },
];

/** Midnight in the time zone of the visitor. */
function startOfYesterday(): string {
  const day = new Date();
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - 1);
  return day.toISOString();
}

/** The value of a date-time field, which is in the time zone of the visitor; empty if `since` is not a time. */
export function toLocalField(text: string): string {
  const time = Date.parse(text);
  if (Number.isNaN(time)) return '';
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** The `since` of a date-time field; empty if the field is. */
export function fromLocalField(value: string): string {
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}

/** What the next request is, from the `Link` of a response. */
export function readNextLink(link: string | null): { since: string; limit: string } | undefined {
  const [, target] = /<([^<>]+)>\s*;\s*rel="next"/.exec(link ?? '') ?? [];
  if (target === undefined || !URL.canParse(target)) return undefined;
  const query = new URL(target).searchParams;
  return { since: query.get('since') ?? '', limit: query.get('limit') ?? '' };
}

/** A command that sends the same request. Without a token it takes the one in the variable TOKEN. */
export function curlOf({ url, headers }: ApiRequest, token?: string): string {
  const authorization =
    token === undefined ? '"Authorization: Bearer $TOKEN"' : quote(`Authorization: Bearer ${token}`);
  const others = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  const flags = headers['Prefer'] === undefined ? '-i' : `-i --max-time ${MAX_WAIT_S + 30}`;
  return [`curl ${flags} -H ${authorization}`, ...others, quote(url)].join(' \\\n');
}
