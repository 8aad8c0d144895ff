/** What the piece itself needs of a lead; the rest is passed on as it came. */
export interface Lead {
  readonly createdAt: string;
}

export interface Connection {
  readonly baseUrl: string;
  readonly token: string;
}

export interface Page {
  readonly leads: readonly Lead[];
  /** What to send as `since` next, by the service's own clock. */
  readonly nextSince: string;
}

/** A page never holds more; one that holds as many may not be the last. */
export const FULL_PAGE = 100;

/** One request. Whatever is not a page is thrown as an error whose message says what to do. */
export async function readPage(
  { baseUrl, token }: Connection,
  query: { readonly since?: string; readonly limit?: string },
): Promise<Page> {
  const address = `${baseUrl.replace(/\/+$/, '')}/automation/new-leads?${new URLSearchParams(query)}`;
  const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
  const body: unknown = await answer.json().catch(() => undefined);
  if (!answer.ok) throw new Error(explain(answer, body));
  const [, since] = /[?&]since=([^&>]+)/.exec(answer.headers.get('link') ?? '') ?? [];
  if (!Array.isArray(body) || since === undefined)
    throw new Error('This is not the answer of a Leadtap. Check the base address.');
  return { leads: body, nextSince: decodeURIComponent(since) };
}

function explain({ status, headers }: Response, body: unknown): string {
  const { detail } = (body ?? {}) as { detail?: string };
  const wait = headers.get('retry-after');
  return [
    `Leadtap answered ${status}: ${detail ?? 'check the base address.'}`,
    ...(wait ? [`The request passes in ${wait} s; nothing is lost.`] : []),
  ].join(' ');
}
