import { describe, expect, it } from 'vitest';
import { expectAccessible } from '../browser/accessibility.ts';
import { findOverflow, LOOKS, openPage } from '../browser/page.ts';
import { shareService } from '../harness/shared-service.ts';

describe('/docs in a browser', () => {
  const service = shareService();

  it.each(LOOKS)('fits the screen and is accessible ($screen, $theme)', async ({ screen, theme }) => {
    const page = await openPage(`${service().url}/docs`, { screen, theme });
    expect(await findOverflow(page)).toEqual([]);
    await expectAccessible(page, [theme]);
  });
});
