import { LEADS_PATH, MAX_INTAKE_BYTES, type ProblemCode } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { INTAKE_ON, tokenWith } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { requestText, sendRawOnce } from '../../../testing/harness/raw-http.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const CHECKS = ['host', 'method', 'token', 'limit', 'user', 'scope', 'type', 'size', 'text', 'lead'] as const;
type Check = (typeof CHECKS)[number];

const CODES: Readonly<Record<Check, ProblemCode>> = {
  host: 'malformed-request',
  method: 'method-not-allowed',
  token: 'token-invalid',
  limit: 'rate-limit-exceeded',
  user: 'user-not-found',
  scope: 'insufficient-scope',
  type: 'unsupported-media-type',
  size: 'payload-too-large',
  text: 'malformed-request',
  lead: 'invalid-lead',
};

const service = shareService(INTAKE_ON);

/** Uses up what this user may send. */
async function exhaust(userId: string): Promise<void> {
  for (let violated = 0; violated === 0; )
    violated = (await service().limiters.intake.consume(userId)).violated.length;
}

/** A request that fails these checks. */
async function send(failing: ReadonlySet<Check>) {
  const isLimited = failing.has('limit');
  const known = isLimited ? 'rival' : 'boss';
  const userId = failing.has('user') ? `unknown ${known}` : known;
  if (isLimited) await exhaust(userId);
  const scopes = failing.has('scope') ? (['leads:read'] as const) : (['leads:write'] as const);
  const token = await tokenWith(service(), userId, scopes);
  const text = failing.has('text') ? '{' : failing.has('lead') ? '[]' : '{"phone1":"1"}';
  const length = failing.has('size') ? MAX_INTAKE_BYTES + 1 : text.length;
  const head = requestText(
    `${failing.has('method') ? 'PUT' : 'POST'} ${LEADS_PATH} HTTP/1.1`,
    ...(failing.has('host') ? [] : ['Host: leads.test']),
    `Authorization: Bearer ${failing.has('token') ? 'bad' : token}`,
    `Content-Type: ${failing.has('type') ? 'text/plain' : 'application/json'}`,
    `Content-Length: ${length}`,
    'Connection: close',
  );
  return sendRawOnce(service().url, `${head}${text.padEnd(length, ' ')}`);
}

describe('a request that fails several checks gets the problem of the first', () => {
  it.each(CHECKS.map((check, index) => ({ check, failing: CHECKS.slice(index) })))(
    '$failing: $check',
    async ({ check, failing }) => {
      await expectProblem(await send(new Set(failing)), CODES[check]);
    },
  );

  it('none: 201', async () => {
    expect((await send(new Set())).status).toBe(201);
  });
});
