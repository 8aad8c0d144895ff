/** One diagnosis, and each output says what is true: the status page, `/status.json`, `doctor`, the commands, the endpoints, metrics and alerts. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { DOOR_SITUATIONS } from './door-situations.ts';
import { SITUATIONS } from './situations.ts';
import { type Claims, readClaims, World } from './world.ts';

const NOTHING: Omit<Claims, 'light' | 'summary'> = {
  ...{ healthy: true, problems: [], consumers: {}, senders: {}, lead: {}, alerts: [] },
};

describe('what Leadtap claims', () => {
  it.each([...SITUATIONS, ...DOOR_SITUATIONS])('$name', async ({ env, setUp, claims }) => {
    onTestFinished(() => void vi.restoreAllMocks());
    const world = new World(env);
    await world.start();
    await setUp(world);
    expect(await readClaims(world)).toEqual({ ...NOTHING, ...claims });
  });
});
