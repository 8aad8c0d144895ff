import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ownRedis } from '../../../testing/harness/redis.ts';
import { LONG_REDIS_TIMEOUTS } from '../../../testing/harness/timeouts.ts';
import { probeRedis } from '../../src/limits/redis/connection.ts';
import { eventually } from '../faults/eventually.ts';
import { repeatReply, startFakeRedis } from './support/fake-redis.ts';
import { MINUTE_AND_HOUR, openInstance, redisCommands } from './support/redis-instances.ts';

const PASSWORD = 'p@ss/word é';
const withPassword = (url: string) => url.replace('//', `//leadtap:${encodeURIComponent(PASSWORD)}@`);
const TELLTALE = /p@ss|p%40ss|word/;

describe('the password of Redis', () => {
  it('is not in the log when Redis repeats a command that it does not understand', async () => {
    const { port } = await startFakeRedis(
      repeatReply(`-ERR unknown command 'AUTH', with args beginning with: 'leadtap' '${PASSWORD}'`),
    );
    const url = withPassword(`redis://127.0.0.1:${port}`);
    const { log } = await openInstance(url, MINUTE_AND_HOUR);
    expect(log.levels).toEqual(['warn']);
    expect(JSON.stringify(log.lines)).toContain('unknown command');
    expect(JSON.stringify(log.lines)).not.toMatch(TELLTALE);

    const error = await probeRedis(url).catch((reason: unknown) => reason);
    expect(inspect(error)).toContain('unknown command');
    expect(inspect(error)).not.toMatch(/p@ss|p%40ss/);
  });

  it('is used, and a wrong one leaves the limits in memory', async () => {
    const { url } = await ownRedis();
    const commands = await redisCommands(url);
    await commands.sendCommand(['ACL', 'SETUSER', 'leadtap', 'reset', 'on', `>${PASSWORD}`, '~*', '+@all']);
    const right = await openInstance(withPassword(url), MINUTE_AND_HOUR);
    expect(right.limits.isUp).toBe(true);
    expect(await probeRedis(withPassword(url))).toEqual({
      version: expect.stringMatching(/^\d+\.\d+/),
    });

    await commands.sendCommand(['ACL', 'SETUSER', 'leadtap', 'resetpass', '>another']);
    const wrong = await openInstance(withPassword(url), MINUTE_AND_HOUR);
    expect(wrong.limits.isUp).toBe(false);
    expect(wrong.log.lines).toMatchObject([{ level: 'warn', details: { reason: /WRONGPASS/ } }]);
    expect(JSON.stringify(wrong.log.lines)).not.toMatch(/p@ss|p%40ss/);
  });
});

describe('rediss://', () => {
  it('sends nothing before the connection is encrypted, and sends the server name', async () => {
    const received: Buffer[] = [];
    const { port } = await startFakeRedis(
      (socket) => void socket.on('data', (chunk: Buffer) => received.push(chunk)),
    );
    const { limits, limiter } = await openInstance(
      withPassword(`rediss://localhost:${port}`),
      MINUTE_AND_HOUR,
      {
        ...LONG_REDIS_TIMEOUTS,
        attemptMs: 500,
      },
    );
    expect(limits.isUp).toBe(false);
    await eventually(() => expect(received).not.toEqual([]));
    const [hello = Buffer.alloc(0)] = received;
    const TLS_HANDSHAKE = 0x16;
    expect(hello[0]).toBe(TLS_HANDSHAKE);
    expect(hello.includes('localhost')).toBe(true);
    expect(Buffer.concat(received).includes('AUTH')).toBe(false);
    expect((await limiter.consume('ada')).violated).toEqual([]);
  });
});
