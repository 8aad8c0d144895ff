import Fastify, { type onRequestAsyncHookHandler } from 'fastify';
import { MemoryLimiter, USER_POLICIES } from 'leadtap';
import { expect, it } from 'vitest';
import { requirePlan, requireUser } from '../../src/http/caller.ts';
import { limitRate } from '../../src/http/rate-limit.ts';

it.each<[string, string, onRequestAsyncHookHandler]>([
  ['the rate limit', 'authenticate', limitRate(new MemoryLimiter(USER_POLICIES, () => 0))],
  ['the user', 'authenticate', requireUser],
  ['the plan', 'requireUser', requirePlan],
])('%s is not checked without %s before it, and says so', async (_check, needed, hook) => {
  const app = Fastify();
  app.get('/', { onRequest: hook }, async () => 'let through');
  const { statusCode, body } = await app.inject('/');
  expect([statusCode, body]).toEqual([500, expect.stringContaining(`the hook ${needed} must stand before`)]);
});
