export interface Connection {
  readonly baseUrl: string;
  readonly token: string;
}

export interface Answer {
  readonly host: string;
  readonly status: number;
  readonly headers: Headers;
  /** Undefined: it is not JSON. */
  readonly body: unknown;
}

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
}

const TIMEOUT_MS = 30_000;

/** One request. Whatever has not succeeded is thrown as an error whose message says what to do. */
export async function request(
  connection: Connection,
  path: string,
  { method = 'GET', query = {}, body }: RequestOptions = {},
): Promise<Answer> {
  const address = addressOf(connection.baseUrl, path);
  address.search = new URLSearchParams(query).toString();
  const answer = await send(address, connection.token, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  if (answer.status < 200 || answer.status > 299) throw new Error(explainRefusal(answer));
  return answer;
}

function addressOf(baseUrl: string, path: string): URL {
  const address = `${baseUrl.trim().replace(/(?<!\/)\/+$/, '')}/automation/${path}`;
  if (/^https?:\/\/[^/\s]/i.test(address) && URL.canParse(address)) return new URL(address);
  throw new Error(
    `"${baseUrl}" is not a base address. It begins with https:// and looks like https://leads.example.com or https://example.com/api.`,
  );
}

async function send(
  address: URL,
  token: string,
  init: { method: string; body?: string; headers?: Record<string, string> },
): Promise<Answer> {
  const bearer = token.trim();
  if (!/^[\x21-\x7e]+$/.test(bearer))
    throw new Error(
      'The access token is empty or has a space, a line break or a character that is not ASCII in it. Paste it whole.',
    );
  try {
    const headers = { authorization: `Bearer ${bearer}`, accept: 'application/json', ...init.headers };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(address, { ...init, headers, signal });
    const body = parse(await response.text());
    return { host: address.host, status: response.status, headers: response.headers, body };
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

function explainRefusal({ host, status, headers, body }: Answer): string {
  const { detail } = (body ?? {}) as { detail?: unknown };
  const wait = headers.get('retry-after');
  return [
    typeof detail === 'string'
      ? `Leadtap answered ${status}: ${detail}`
      : `${host} answered ${status}, but not as Leadtap does. Check the base address, and what stands before Leadtap, such as a proxy.`,
    ...(wait ? [`The request passes in ${wait} s; nothing is lost.`] : []),
  ].join(' ');
}
