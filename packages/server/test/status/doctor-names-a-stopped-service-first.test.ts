import { expect, it } from 'vitest';
import { HOUR_MS, World } from './truth-table/world.ts';

it('doctor says that no service runs before it says that an automation has stopped', async () => {
  const world = new World();
  await world.start();
  const make = await world.established('make');
  await world.send();
  await make.polls(2);
  const checks = async () => {
    const { stdout } = await world.command('doctor --json');
    const { checks: found } = JSON.parse(stdout) as { checks: { check: string; fix: string[] }[] };
    return found.filter(({ check }) => ['service', 'consumers-stale'].includes(check));
  };
  world.clock.advance(2 * HOUR_MS);
  expect(await checks()).toMatchObject([{ check: 'consumers-stale' }]);
  await world.service.stop();
  expect(await checks()).toMatchObject([
    { check: 'service', fix: [expect.stringMatching(/^No service runs: .+ serve/)] },
    { check: 'consumers-stale' },
  ]);
});
