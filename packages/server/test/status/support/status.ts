import type { StatusJson } from '@leadtap/contract';
import type { ManualClock } from '../../../../testing/harness/manual-clock.ts';
import type { TestService } from '../../../../testing/harness/service.ts';

export const readStatus = async ({ statusUrl }: Pick<TestService, 'statusUrl'>): Promise<StatusJson> =>
  (await fetch(`${statusUrl}.json`)).json() as Promise<StatusJson>;

/** What the page says of the system. */
export const readSystem = async (service: Pick<TestService, 'statusUrl'>): Promise<Record<string, string>> =>
  Object.fromEntries((await readStatus(service)).system.map(({ name, text }) => [name, text]));

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
export const writePolls = async ({ service }: TestService): Promise<void> => service.connections.flush();

/** The time passes while the service runs. */
export async function pass({ service }: TestService, clock: ManualClock, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    clock.advance(60_000);
    await service.connections.audit();
  }
}

const USUAL_MINUTES = 2;
/** So many polls are an automation that works. */
const ROUNDS = 11;

/** They have polled every few minutes for so long that their silence is noticed. */
export async function addAutomations(service: TestService, clock: ManualClock, names: readonly string[]) {
  const clients = await Promise.all(names.map((name) => addClient(service, 'boss', `token-${name}`, name)));
  for (let round = 0; round < ROUNDS; round += 1) {
    await pass(service, clock, USUAL_MINUTES);
    for (const poll of clients) await poll();
    await writePolls(service);
  }
  return clients.map((poll) => async () => {
    await poll();
    await writePolls(service);
  });
}
