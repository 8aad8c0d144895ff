import { describe, it } from 'vitest';
import { expectEveryLook } from '../browser/accessibility.ts';
import { openPage } from '../browser/page.ts';
import { shareService } from '../harness/shared-service.ts';

describe('/docs in a browser', () => {
  const service = shareService();

  it('fits phones and wide screens and is accessible, in both themes', async () => {
    await expectEveryLook(await openPage(`${service().url}/docs`));
  });
});
