/** What the piece itself needs of a lead; the rest is passed on as it came. */
export interface Lead {
  readonly createdAt: string;
  readonly automation_trigger_id: string;
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

const TIMEOUT_MS = 30_000;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** One request. Whatever is not a page is thrown as an error whose message says what to do. */
export async function readPage(
  connection: Connection,
  query: { readonly since?: string; readonly limit?: string },
): Promise<Page> {
  const address = newLeadsAddress(connection.baseUrl);
  address.search = new URLSearchParams(query).toString();
  const answer = await send(address, connection.token);
  const body = parse(answer.text);
  if (answer.status !== 200) throw new Error(explainRefusal(address, answer, body));
  const nextSince = nextSinceOf(answer.headers.get('link') ?? '');
  if (!isListOfLeads(body) || nextSince === undefined)
    throw new Error(
      `${address.host} answered 200, but not with a list of leads of Leadtap. Check the base address: another page or program answers there.`,
    );
  return { leads: body, nextSince };
}

function newLeadsAddress(baseUrl: string): URL {
  const address = `${baseUrl.trim().replace(/(?<!\/)\/+$/, '')}/automation/new-leads`;
  if (/^https?:\/\/[^/\s]/i.test(address) && URL.canParse(address)) return new URL(address);
  throw new Error(
    `"${baseUrl}" is not a base address. It begins with https:// and looks like https://leads.example.com or https://example.com/api.`,
  );
}

async function send(address: URL, token: string): Promise<Answer> {
  const bearer = token.trim();
  if (!/^[\x21-\x7e]+$/.test(bearer))
    throw new Error(
      'The access token is empty or has a space, a line break or a character that is not ASCII in it. Paste it whole.',
    );
  try {
    const headers = { authorization: `Bearer ${bearer}`, accept: 'application/json' };
    const response = await fetch(address, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (error) {
    throw new Error(
      `Leadtap cannot be reached at ${address.host} (${reasonOf(error)}). Check the base address: https or http, the name (is it in DNS?), the port, the certificate; and that it can be reached from where Activepieces runs.`,
    );
  }
}

/** The reason is in the cause: the message of `fetch` itself is just "fetch failed". */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { readonly cause?: Error & { readonly code?: string } };
  return name === 'TimeoutError'
    ? `no answer in ${TIMEOUT_MS / 1000} s`
    : (cause?.code ?? cause?.message ?? message);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The `since` of the next poll. Undefined where there is none, or none that can be decoded. */
function nextSinceOf(link: string): string | undefined {
  const [, target = ''] = /<([^<>]*)>\s*;\s*rel="next"/.exec(link) ?? [];
  const [, since] = /[?&]since=([^&]+)/.exec(target) ?? [];
  try {
    return since && decodeURIComponent(since);
  } catch {
    return undefined;
  }
}

const isListOfLeads = (body: unknown): body is Lead[] =>
  Array.isArray(body) &&
  body.every((lead) => typeof lead?.createdAt === 'string' && typeof lead.automation_trigger_id === 'string');

function explainRefusal({ host }: URL, { status, headers }: Answer, body: unknown): string {
  const { detail } = (body ?? {}) as { detail?: unknown };
  const wait = headers.get('retry-after');
  return [
    typeof detail === 'string'
      ? `Leadtap answered ${status}: ${detail}`
      : `${host} answered ${status}, but not as Leadtap does. Check the base address, and what stands before Leadtap, such as a proxy.`,
    ...(wait ? [`The request passes in ${wait} s; nothing is lost.`] : []),
  ].join(' ');
}
