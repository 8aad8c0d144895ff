import type { TestService } from '../../../../testing/harness/service.ts';
import type { StatusReport } from '../../../src/status/report.ts';

export const readStatus = async ({ statusUrl }: Pick<TestService, 'statusUrl'>): Promise<StatusReport> =>
  (await fetch(`${statusUrl}.json`)).json() as Promise<StatusReport>;

export const readPage = async ({ statusUrl }: Pick<TestService, 'statusUrl'>, query = ''): Promise<string> =>
  (await fetch(`${statusUrl}${query}`)).text();

/** A client with a named token of its own. */
export async function addClient(service: TestService, userId: string, tokenId: string, name: string) {
  const [issuedAt, expiresAt] = [Date.UTC(2026, 0), Date.UTC(2100, 0)];
  await service.store.recordTokens([
    { id: tokenId, userId, name, issuedAt, expiresAt, scopes: ['leads:read'] },
  ]);
  const token = await service.token(userId, { tokenId, expiresInMs: 30 * 86_400_000 });
  const headers = { authorization: `Bearer ${token}` };
  return async (query = ''): Promise<number> => {
    const response = await fetch(`${service.url}/automation/new-leads${query && `?${query}`}`, { headers });
    await response.arrayBuffer();
    return response.status;
  };
}

/** Polls are written to the database every 5 seconds; tests do not wait for it. */
export const writePolls = async ({ service }: TestService): Promise<void> => service.recorder?.flush();
