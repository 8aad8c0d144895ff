import type { TokenScope } from 'leadtap';
import type { Page } from 'playwright-core';
import { issuedToken } from '../../../testing/harness/organisation.ts';
import type { TestService } from '../../../testing/harness/service.ts';

const MONTH_MS = 30 * 86_400_000;

/** Afterwards each timer of the page that looks whether a request is due has fired. */
export const letTimersFire = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((resolve) => setTimeout(resolve, 1000))');

/** Lets the page believe that its tab is in the background, or visible again. */
export const setHidden = (page: Page, isHidden: boolean): Promise<unknown> =>
  page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} })`);

/** An automation of boss, with a token of its own that was issued with this name. */
export async function addAutomation(service: TestService, name: string, scope: TokenScope = 'leads:read') {
  const scopes = [scope];
  await service.store.recordTokens([{ ...issuedToken('boss', name), name, scopes }]);
  const token = await service.token('boss', { tokenId: name, expiresInMs: MONTH_MS, scopes });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const NEW_LEADS = `${service.url}/automation/new-leads`;
  let next = NEW_LEADS;
  /** Asks for what the last answer gave as the next address, or with this query. */
  const poll = async (query?: string): Promise<number> => {
    const response = await fetch(query === undefined ? next : `${NEW_LEADS}?${query}`, { headers });
    next = /<(.*)>/.exec(response.headers.get('link') ?? '')?.[1] ?? next;
    await response.arrayBuffer();
    await service.service.connections.flush();
    return response.status;
  };
  const send = async (lead: object): Promise<number> => {
    const init = { method: 'POST', headers, body: JSON.stringify(lead) };
    const { status } = await fetch(`${service.url}/leads`, init);
    await service.service.connections.flush();
    return status;
  };
  return { poll, send };
}
