import { expect, it } from 'vitest';
import { POLLERS } from './every-poller.ts';
import { SCENARIOS } from './scenarios.ts';
import { World } from './world.ts';
const only = process.env['POLLER'];
const table: Record<string, Record<string, unknown>> = {};
for (const [p, make] of Object.entries(POLLERS)) {
  if (only && !p.match(only)) continue;
  for (const [s, { skewMs = 0, happens }] of Object.entries(SCENARIOS)) {
    it(`${p} ${s}`, async ({ onTestFinished }) => {
      const t = performance.now();
      const world = await World.begin(make, skewMs, onTestFinished);
      await happens(world);
      const o = await world.outcome();
      (table[p] ??= {})[s] = o;
      console.log(p, s, JSON.stringify(o), Math.round(performance.now() - t));
      expect(1).toBe(1);
    });
  }
}
