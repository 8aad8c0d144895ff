import { existsSync } from 'node:fs';
import { createClient } from '@redis/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findProgram, type Program } from '../servers/find-program.ts';
import { startRedis } from '../servers/redis.ts';

const MISSING: Program = {
  name: 'Nothing',
  debian: 'nothing-server',
  homebrew: 'nothing',
  variable: 'TEST_NOTHING_URL',
  find: () => undefined,
};

it.each([false, true])('a missing program is named with what to run (installed: %s)', (isInstalled) => {
  expect(() => findProgram(MISSING, () => isInstalled)).toThrow(
    /^these tests need Nothing, which was not found\. Run: .+ install .+, or set TEST_NOTHING_URL to .+$/,
  );
});

describe('a server of our own', () => {
  it('keeps its port, whatever is done to it, and leaves nothing when it is removed', async () => {
    const { url, ...server } = await startRedis();
    onTestFinished(() => server.remove());
    const ask = async () => {
      const client = createClient({ url, socket: { reconnectStrategy: false } });
      client.on('error', () => undefined);
      await client.connect();
      const { dir = '' } = await client.configGet('dir');
      await client.close();
      return dir;
    };
    const folder = await ask();
    expect(existsSync(folder)).toBe(true);
    await server.restart();
    expect(await ask()).toBe(folder);
    server.pause();
    const waiting = ask();
    server.resume();
    expect(await waiting).toBe(folder);
    await server.kill();
    await expect(ask()).rejects.toThrow('ECONNREFUSED');
    await server.start();
    await server.remove();
    await expect(ask()).rejects.toThrow('ECONNREFUSED');
    expect(existsSync(folder)).toBe(false);
  });
});
