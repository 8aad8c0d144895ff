import { NEW_LEADS_PATH } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';

const PATHS = [
  NEW_LEADS_PATH,
  '/automation/consumers',
  '/automation/hooks',
  '/leads',
  '/',
  '/docs',
  '/readyz',
];

it('no response lets another origin read it, and none sets a cookie that a browser would send for it', async () => {
  const { url, token } = await startService({ env: { LEADTAP_INTAKE: 'on' } });
  const authorization = `Bearer ${await token('boss', { scopes: ['leads:read', 'leads:write'] })}`;
  const origin = { origin: 'https://website.example' };
  const preflight = {
    ...origin,
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'authorization',
  };
  for (const path of PATHS)
    for (const init of [
      { headers: { ...origin, authorization } },
      { headers: { ...origin, authorization }, method: 'POST' },
      { headers: preflight, method: 'OPTIONS' },
    ]) {
      const { headers } = await fetch(`${url}${path}`, init);
      const granted = [...headers.keys()].filter((name) => /^access-control-|^set-cookie/.test(name));
      expect([path, granted]).toEqual([path, []]);
    }
});
