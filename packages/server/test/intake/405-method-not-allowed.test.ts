import { LEADS_PATH } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { INTAKE_ON } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const service = shareService(INTAKE_ON);

it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s gets 405 with Allow: POST', async (method) => {
  const answer = await fetch(`${service().url}${LEADS_PATH}`, { method });
  await expectProblem(answer, 'method-not-allowed');
  expect(answer.headers.get('allow')).toBe('POST');
});

it('HEAD gets the same without a body', async () => {
  const answer = await fetch(`${service().url}${LEADS_PATH}`, { method: 'HEAD' });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
});

it('polls still allow GET and HEAD only', async () => {
  const answer = await fetch(`${service().url}/automation/new-leads`, { method: 'POST', body: '{}' });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});
