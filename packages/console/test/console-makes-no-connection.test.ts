import { expect, it } from 'vitest';
import { untilHeld } from '../../testing/harness/long-polls.ts';
import { startService } from '../../testing/harness/service.ts';
import { openTab } from './support/open-tab.ts';

it('marks every request of the page, so that a closed page is no connection that is silent', async () => {
  const service = await startService();
  const page = await openTab(service, 'Leads');
  const unmarked: string[] = [];
  page.on('request', async (request) => {
    if (request.resourceType() === 'fetch' && request.headers()['leadtap-client'] !== 'console')
      unmarked.push(request.url());
  });
  await untilHeld(service);
  await page.getByRole('navigation').getByRole('link', { name: 'Explore' }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('200', { exact: true }).waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Connect' }).click();
  const watching = page.waitForResponse(/\/automation\//);
  await page.getByRole('link', { name: 'n8n' }).click();
  await watching;
  await page.close();
  await untilHeld(service, 0);
  expect(unmarked).toEqual([]);
});
