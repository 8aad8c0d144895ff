import { expect, it } from 'vitest';
import { installService } from '../harness/installed-service.ts';

it('a command that fails ends the installation with its message', async () => {
  const companies = [{ id: 'acme', name: 'Acme', branches: [], users: [] }];
  const organisation = { companies: [...companies, ...companies] };
  await expect(installService({ organisation })).rejects.toThrow(
    /^leadtap org apply organisation\.json has failed: .*acme/s,
  );
});
