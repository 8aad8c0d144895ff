import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PROBLEMS } from '@leadtap/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { leaveRequests, startService } from '../../../packages/testing/harness/service.ts';
import { shareService } from '../../../packages/testing/harness/shared-service.ts';
import {
  FOREIGN_ANSWERS,
  NOT_LEADTAP,
  serveAnswer,
} from '../../../packages/testing/integrations/foreign-answers.ts';
import { addLeads, type Connection, connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { pollWithConnector as pollWith } from './ruby.ts';

const ALL = '1970-01-01';

describe.each(['new_lead', 'new_lead_instant'])('the trigger %s of the connector', (trigger) => {
  const shared = shareService();
  const pollWithConnector = (connection: Connection, since: string, closure = 'null') =>
    pollWith(connection, since, closure, trigger);
  const errorFor = async (userId: string, path = '') =>
    (await pollWithConnector({ baseUrl: shared().url + path, token: await shared().token(userId) }, ALL))
      .error;

  it('reads page after page, each lead once, in order', async () => {
    const service = await startService();
    const ids = await addLeads(service, 230, 'lead');
    expect(await pollWithConnector(await connectionOf(service), ALL)).toMatchObject({
      ids,
      error: undefined,
    });
  });

  it('starts at the time of the service for a user who sees no lead yet', async () => {
    const service = await startService();
    await service.add({ id: 'old', branchId: 'south' });
    const connection = await connectionOf(service, 'north-lead');
    const first = await pollWithConnector(connection, '');
    expect(first).toMatchObject({ ids: [], error: undefined });
    // The old lead moves to the branch of the user.
    await service.add({ id: 'old', branchId: 'north' }, { id: 'new', branchId: 'north' });
    expect((await pollWithConnector(connection, '', first.closure)).ids).toEqual(['new']);
  });

  it('says that the connection was cut', async () => {
    const server = createServer((_request, response) => response.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { error } = await pollWithConnector({ baseUrl, token: 'any' }, ALL);
    expect(error).toBe(
      'The base address did not answer: Server broke connection. The next attempt sends the same request; nothing is lost.',
    );
  });

  it.each(FOREIGN_ANSWERS)('$name is no connection and no page of leads', async (answer) => {
    const connection = { baseUrl: await serveAnswer(answer), token: 'any' };
    expect(await pollWithConnector(connection, ALL)).toMatchObject({
      ids: [],
      error: expect.stringMatching(NOT_LEADTAP),
    });
  });

  it('shows the sentence of the service, not the body', async () => {
    expect(await errorFor('starter')).toBe(
      `Leadtap answered 403: ${PROBLEMS['professional-plan-required'].detail}`,
    );
    expect(await errorFor('unknown-user')).toBe(`Leadtap answered 404: ${PROBLEMS['user-not-found'].detail}`);
    expect(await errorFor('boss', '/wrong')).toBe(
      `Leadtap answered 404: ${PROBLEMS['no-such-resource'].detail}`,
    );
  });

  it('says that a token has expired or is not valid', async () => {
    const expired = await shared().token('boss', { expiresInMs: -120_000 });
    for (const [token, code] of [
      [expired, 'token-expired'],
      ['ey.a.b', 'token-invalid'],
    ] as const) {
      const { error } = await pollWithConnector({ baseUrl: shared().url, token }, ALL);
      expect(error).toBe(`Leadtap answered 401: ${PROBLEMS[code].detail}`);
    }
  });

  it('says when a request passes again that came too soon', async () => {
    const service = await startService();
    await leaveRequests(service, 'boss', 0);
    const { error } = await pollWithConnector(await connectionOf(service), ALL);
    expect(error).toMatch(/^Leadtap answered 429: .* The request passes in \d+ s; nothing is lost\.$/);
  });

  it.each([401, 403, 404, 429, 502, 503])('does not show the page of status %i', async (status) => {
    const baseUrl = await serveAnswer({ status, type: 'text/html', body: '<h1>Sorry</h1>' });
    const { error } = await pollWithConnector({ baseUrl, token: 'any' }, ALL);
    expect(error).toMatch(new RegExp(`^The base address answered ${status}, but not as Leadtap does\\.`));
  });

  it('says what a base address looks like', async () => {
    const { error } = await pollWithConnector({ baseUrl: 'our leads', token: 'any' }, ALL);
    expect(error).toMatch(/^"our leads" is not a base address\. .*https:\/\/leads\.example\.com/);
  });
});
