import type { Page } from 'playwright-core';
import { openPage, type PageOptions } from '../../../testing/browser/page.ts';
import type { TestService } from '../../../testing/harness/service.ts';

export interface TabOptions extends PageOptions {
  /** Whose token the console gets. Default: boss. */
  readonly user?: string;
  /** Instead of a valid token. Empty: none. */
  readonly token?: string;
  /** Before the page has the token. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

export type Tab = 'Overview' | 'Leads' | 'Explore' | 'Connect';

export const showTab = (page: Page, tab: Tab): Promise<void> =>
  page.getByRole('navigation').getByRole('link', { name: tab, exact: true }).click();

/** Opens the console with a token, as the demo's address does, and then one of its tabs. */
export async function openTab(
  service: TestService,
  tab: Tab,
  { user = 'boss', token, prepare, ...options }: TabOptions = {},
): Promise<Page> {
  const given = token ?? (await service.token(user));
  const address = `${service.url}/${given === '' ? '' : `#token=${given}`}`;
  const page = await openPage(prepare ? service.url : address, options);
  if (prepare) {
    await prepare(page);
    await page.goto(address);
  }
  await showTab(page, tab);
  return page;
}
