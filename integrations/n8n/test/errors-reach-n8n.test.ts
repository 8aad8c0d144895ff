import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import { NodeApiError } from 'n8n-workflow';
import { describe, expect, it } from 'vitest';
import { startService, type TestService } from '../../../packages/testing/harness/service.ts';
import { type Fault, layFaultyRoad } from './fault-proxy.ts';
import { makeWorkflow } from './workflow.ts';

const failureOf = async (poll: Promise<unknown>): Promise<NodeApiError> => {
  const error: unknown = await poll.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof NodeApiError) return error;
  throw new Error(`not a failure that n8n understands: ${error}`);
};

/** Where n8n looks for it. */
function retryAfterOf(error: NodeApiError): string | undefined {
  const { response } = (error.errorResponse ?? {}) as { response?: { headers: Record<string, string> } };
  return response?.headers['retry-after'];
}

type Caller = (service: TestService) => Promise<string>;

const CASES: readonly { code: ProblemCode; token: Caller }[] = [
  { code: 'token-invalid', token: async () => 'made-up' },
  { code: 'token-expired', token: (service) => service.token('boss', { expiresInMs: -60_000 }) },
  { code: 'professional-plan-required', token: (service) => service.token('starter') },
  { code: 'user-not-found', token: (service) => service.token('unknown-user') },
];

describe('errors for n8n', () => {
  it.each(CASES)('$code in the words of the service', async ({ code, token }) => {
    const service = await startService();
    const credential = { baseUrl: service.url, accessToken: await token(service) };
    const workflow = makeWorkflow({ credential });
    const failure = await failureOf(workflow.activate());
    expect(failure.httpCode).toBe(String(PROBLEMS[code].status));
    expect(failure.message).toBe(PROBLEMS[code].title);
    expect(failure.description).toContain(PROBLEMS[code].detail);
    expect(failure.description).toContain(code);
    expect(workflow.remembered).toEqual({});
  });

  it('of the rate limit with the time to wait, and the next poll goes on where the last one ended', async () => {
    const service = await startService();
    const credential = { baseUrl: service.url, accessToken: await service.token('boss') };
    const workflow = makeWorkflow({ credential });
    await workflow.activate();
    const before = workflow.remembered;
    await service.add({});
    let status = 200;
    while (status === 200) status = (await service.poll('boss')).status;
    const failure = await failureOf(workflow.poll());
    expect(failure.httpCode).toBe('429');
    expect(failure.message).toBe(PROBLEMS['rate-limit-exceeded'].title);
    expect(Number(retryAfterOf(failure))).toBeGreaterThan(0);
    expect(workflow.remembered).toEqual(before);
  });

  it.each<{ fault: Fault; httpCode: string | null; retryAfter: string | undefined }>([
    { fault: 'too many', httpCode: '429', retryAfter: '7' },
    { fault: 'unavailable', httpCode: '503', retryAfter: '5' },
    { fault: 'cut', httpCode: null, retryAfter: undefined },
  ])('of an answer that is not from Leadtap: $fault', async ({ fault, httpCode, retryAfter }) => {
    const service = await startService();
    const road = await layFaultyRoad(service.url);
    road.faults = [fault];
    const credential = { baseUrl: road.url, accessToken: await service.token('boss') };
    const failure = await failureOf(makeWorkflow({ credential }).fetchTestEvent());
    expect(failure.httpCode).toBe(httpCode);
    expect(retryAfterOf(failure)).toBe(retryAfter);
    expect(failure.message).not.toBe('');
  });
});
