import { expect, it } from 'vitest';
import { expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { ORGANISATION } from '../../testing/harness/organisation.ts';
import { startService } from '../../testing/harness/service.ts';

const HINT = /^This installation is empty: .+ leadtap org apply FILE creates companies and users;/;

it('the console without a token says it until there is a company', async () => {
  const { url, store } = await startService({ organisation: { companies: [] } });
  const page = await openPage(url);
  const hint = page.getByText(HINT);
  await hint.waitFor();
  await expectEveryLook(page);
  await store.applyOrganisation(ORGANISATION);
  await hint.waitFor({ state: 'detached' });
  await page.getByText('See whether your token works').waitFor();
});

it('the status page says it, with the command as the program was started', async () => {
  const { statusUrl, store } = await startService({
    organisation: { companies: [] },
    invocation: 'npx leadtap',
  });
  const page = await openPage(statusUrl);
  const problem = page.getByRole('region', { name: 'Problems' });
  await problem.getByText('This installation is empty: it has no company yet.').waitFor();
  await problem.getByText('npx leadtap org apply FILE').waitFor();
  // Nothing is wrong.
  expect(await page.title()).toBe('Leadtap status');
  await expectEveryLook(page);
  await store.applyOrganisation(ORGANISATION);
  await problem.waitFor({ state: 'detached' });
});
