import { expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { keyFileOf, startService } from '../../../testing/harness/service.ts';
import { terminal } from '../cli/terminal.ts';
import { addAutomations, pass, readStatus } from './support/status.ts';

it('doctor has the sentence, and what is red or amber with its fix; first that no service runs', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const [slack] = await addAutomations(service, clock, ['Slack', 'CRM']);
  await pass(service, clock, 40);
  await service.add({});
  await slack?.();
  const { message, out } = await readStatus(service);
  const env = {
    ...service.database.env,
    ...{ LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: new URL(service.statusUrl).host },
    LEADTAP_SIGNING_KEY_FILE: keyFileOf(service),
  };
  const checks = async () => {
    const { stdout } = await terminal().run('doctor --json', { env, parts: { clock } });
    const { checks: found } = JSON.parse(stdout) as { checks: { check: string }[] };
    return found.filter(({ check }) => /^(service$|connection)/.test(check));
  };
  const expected = [
    { check: 'connections', state: 'failed', detail: message, fix: [expect.any(String)] },
    { check: 'connection CRM', state: 'failed', detail: out[0]?.message, fix: [out[0]?.fix] },
  ];
  expect(await checks()).toEqual(expected);
  await service.stop();
  expect(await checks()).toMatchObject([{ check: 'service', state: 'warning' }, ...expected]);
});
