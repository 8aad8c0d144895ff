import {
  CLIENT_HEADER,
  CONNECTIONS_PATH,
  CONSOLE_CLIENT,
  FIND_LEADS_PATH,
  HOOKS_PATH,
  LEADS_PATH,
  NEW_LEADS_PATH,
} from '@leadtap/contract';
import type { Actor } from '../actor.ts';
import { findUndeclared, isFaultStatus, receive } from '../declared.ts';
import { type Installation, timeoutSignal } from '../pollers/http-caller.ts';

export interface ConsoleRequestsOptions {
  readonly installation: Installation;
  /** In turn, because each may send only 1,000 requests an hour. */
  readonly userIds: readonly string[];
  /** Of the private listeners, which have no faults. */
  readonly privateUrls: readonly string[];
}

interface Expectation {
  readonly path: string;
  readonly status: number;
  readonly method?: string;
  readonly body?: object;
  /** `none`, or one that is not valid. Default: the token of a user. */
  readonly token?: 'none' | 'invalid';
}

/** What a person loads and tries in the console, mistakes among it. */
const REQUESTS: readonly [Expectation, ...Expectation[]] = [
  { path: '/', status: 200 },
  { path: '/docs', status: 200 },
  { path: '/openapi.json', status: 200 },
  { path: '/livez', status: 200 },
  { path: '/readyz', status: 200 },
  { path: NEW_LEADS_PATH, status: 200 },
  { path: `${NEW_LEADS_PATH}?since=2026-01-01&limit=5`, status: 200 },
  { path: CONNECTIONS_PATH, status: 200 },
  { path: NEW_LEADS_PATH, token: 'none', status: 401 },
  { path: NEW_LEADS_PATH, token: 'invalid', status: 401 },
  { path: `${NEW_LEADS_PATH}?since=yesterday&limit=0`, status: 400 },
  { path: NEW_LEADS_PATH, method: 'DELETE', status: 405 },
  { path: `${FIND_LEADS_PATH}?q=ada&limit=5`, status: 200 },
  { path: '/automation/lead', status: 404 },
  { path: LEADS_PATH, method: 'POST', body: { unknown: 'field' }, status: 422 },
  { path: HOOKS_PATH, method: 'POST', body: { url: 'https://example.com/hook' }, status: 422 },
];
const PRIVATE_PATHS = ['/metrics', '/status', '/status.json'] as const;

/** Loads each page once from each instance: some modules of the service are loaded at their first use. */
export async function loadEveryPage(urls: readonly string[], privateUrls: readonly string[]): Promise<void> {
  const paths = REQUESTS.filter(({ method }) => method === undefined).map(({ path }) => path);
  for (const [pages, bases] of [[paths, urls] as const, [PRIVATE_PATHS, privateUrls] as const])
    for (const base of bases) for (const path of pages) await (await fetch(`${base}${path}`)).arrayBuffer();
}

/** Every response must be the expected one, unless a fault has prevented it. */
export const consoleRequests = ({ installation, userIds, privateUrls }: ConsoleRequestsOptions): Actor => ({
  name: 'console requests',
  run: async ({ recorder, random, goesOn, pause }) => {
    for (let done = 0; goesOn(done); done += 1) {
      const { path, status, method = 'GET', body, token } = random.pick(...REQUESTS);
      const valid = await installation.token(userIds[done % userIds.length] ?? '');
      const headers = {
        [CLIENT_HEADER]: CONSOLE_CLIENT,
        ...(token !== 'none' && { authorization: `Bearer ${token === 'invalid' ? 'x' : valid}` }),
        ...(body && { 'content-type': 'application/json' }),
      };
      const { urls } = installation;
      const signal = timeoutSignal(installation);
      const init = { method, headers, signal, ...(body && { body: JSON.stringify(body) }) };
      const response = await receive(`${urls[random.below(urls.length)]}${path}`, init);
      recorder.count(`console requests answered ${response?.status ?? 'not at all'}`);
      const isExpected = response && (response.status === status || isFaultStatus(response.status));
      if (response && (!isExpected || findUndeclared(response)))
        recorder.complain(
          `${method} ${path} was answered with ${response.status}, not ${status}: ${response.text.slice(0, 300)}`,
        );
      const page = `${privateUrls[random.below(privateUrls.length)]}${random.pick(...PRIVATE_PATHS)}`;
      const { ok, status: privateStatus } = await fetch(page);
      recorder.count('private pages');
      if (!ok) recorder.complain(`${page} was answered with ${privateStatus}`);
      await pause(random.below(1000));
    }
  },
});
