import { createRequire } from 'node:module';
import type { Bundle, ZObject } from 'zapier-platform-core';
import { createAppTester } from 'zapier-platform-core';
import type { TestService } from '../../../packages/testing/harness/service.ts';
import app from '../src/index.ts';

export interface Connection {
  readonly baseUrl: string;
  readonly token: string;
}

type Meta = Partial<Bundle['meta']>;

/** A user's connection to a service of the test. */
export const connect = async ({ url, token }: TestService, userId = 'boss'): Promise<Connection> => ({
  baseUrl: url,
  token: await token(userId, { expiresInMs: 24 * 3_600_000 }),
});

/** After 250 runs in a process that has grown large, Zapier's core ends it; this one is that of many tests. */
const limits: { KILL_MAX_LIMIT: number } = createRequire(import.meta.url)(
  'zapier-platform-core/src/constants',
);
limits.KILL_MAX_LIMIT = Number.POSITIVE_INFINITY;

const appTester = createAppTester(app);

/** Runs a part of the app as Zapier does, with all that stands before and behind its requests. */
export const run = <T>(
  part: (z: ZObject, bundle: Bundle) => Promise<T>,
  { baseUrl, token }: Connection,
  meta: Meta = {},
  more: Partial<Bundle> = {},
): Promise<T> => appTester(part, { authData: { baseUrl, token }, meta, ...more });

export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly status?: number;
  readonly delay?: number;
}

/** How a run failed. Zapier's own errors carry what they know as JSON in their message. */
export async function failureOf(running: Promise<unknown>): Promise<Failure> {
  const error: unknown = await running.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) throw new Error('what was thrown is no error');
  const { name, message } = error;
  return message.startsWith('{') ? { name, ...JSON.parse(message) } : { name, message };
}
