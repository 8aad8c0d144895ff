import type { Sender, Senders } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { sendLeads } from '../../testing/harness/intake.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';

type Page = Awaited<ReturnType<typeof openPage>>;

const openConsole = async (service: TestService): Promise<Page> =>
  openPage(`${service.url}/#token=${await service.token('boss', { expiresInMs: 86_400_000 })}`);

const leadsIn = (page: Page) => page.getByRole('region', { name: 'Leads in' });
const textsOf = async (page: Page) =>
  (await leadsIn(page).getByRole('listitem').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());

describe('the overview has the leads that come in', () => {
  it('above those that go out: each sender with its last lead, and in red what was refused', async () => {
    const service = await startService();
    const name = { name: 'Web form', scopes: ['leads:write'], issuedAt: Date.now() };
    await service.store.recordTokens([
      { id: 'web', userId: 'boss', expiresAt: Date.now() + 90 * 86_400_000, ...name },
    ]);
    await sendLeads(service, { firstName: 'Ada' }, { tokenId: 'web' });
    await sendLeads(service, { firstName: 'Ada', phone_number: '1' }, { tokenId: 'web' });
    await sendLeads(service, { firstName: 'Ada' }, { tokenId: 'crm' });
    await service.service.refusedLeads.flush();
    const page = await openConsole(service);
    await leadsIn(page).getByRole('listitem').first().waitFor();
    expect(await textsOf(page)).toEqual([
      expect.stringMatching(
        /^✗ Problem: Web form 1 request was refused \d+ s ago, with 422 invalid-lead: phone_number Last lead (now|\d+ s ago)\b.+ What to do .+/,
      ),
      expect.stringMatching(/^✓ Good: crm last lead \d+ s ago$/),
    ]);
    const message = '.consumer-message.error';
    const red = await page.evaluate<string>(`getComputedStyle(document.querySelector('${message}')).color`);
    expect(red).toBe('rgb(145, 37, 27)');
    await page.getByRole('heading', { level: 1, name: 'Web form needs attention' }).waitFor();
    await leadsIn(page).getByText('Leadtap has no field phone_number').waitFor();
    await expectEveryLook(page);
  });

  it('no sender yet is one line, and a service that accepts no leads over HTTP has no such part', async () => {
    const service = await startService();
    const page = await openConsole(service);
    await leadsIn(page).getByText('No lead has come in over HTTP yet.').waitFor();
    const off = await openConsole(await startService({ env: { LEADTAP_INTAKE: 'off' } }));
    await off.waitForResponse('**/automation/senders').catch(() => undefined);
    await off.getByRole('heading', { level: 1 }).getByText(/\w/).first().waitFor();
    expect(await leadsIn(off).count()).toBe(0);
  });

  it('a name from people, and one without a name or a lead', async () => {
    const service = await startService();
    const page = await openPage(service.url);
    const sender: Sender = {
      ...{ id: 'a', name: '\u202eevil<b>', tokenId: 'token', source: null, lastAcceptedAt: null },
      ...{ lastRequestAt: new Date().toISOString(), lastRefusal: null, accepted30d: 0, refused30d: 0 },
      ...{ level: 'unknown', message: 'no lead yet', fix: null, last24h: [] },
    };
    const senders = [sender, { ...sender, id: 'b', name: null, tokenId: null }];
    await page.route('**/automation/senders', (route) =>
      route.fulfill({ json: { senders } satisfies Senders }),
    );
    await page.goto(`${service.url}/#token=${await service.token('boss')}`);
    await leadsIn(page).getByRole('listitem').first().waitFor();
    expect(await textsOf(page)).toEqual([
      '? Not known: Tokens without an id no lead yet',
      expect.stringContaining('evil<b> no lead yet'),
    ]);
  });
});
