import { NEW_LEADS_PATH } from '@leadtap/contract';
import { expect, test } from 'vitest';
import { openSocket, requestText } from '../../../testing/harness/raw-http.ts';
import { startService } from '../../../testing/harness/service.ts';
import { connectSql } from '../store/postgres/sql-client.ts';
import { eventually } from './eventually.ts';

test('a client that disconnects during the first query is counted, and no connection is closed for it', async () => {
  const lines: string[] = [];
  const { url, token, poll, database, service } = await startService({
    logTo: { write: (line) => lines.push(line) },
  });
  const other = await connectSql(database.url);
  const backends = async (condition: string): Promise<number[]> => {
    const { rows } = await other.query(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'leadtap' AND datname = current_database() AND ${condition}`,
    );
    return rows.map(({ pid }) => pid);
  };
  const clients = () =>
    new Promise<number>((resolve) =>
      service.publicServer.server.getConnections((_error, count) => resolve(count)),
    );
  expect((await poll('boss')).headers.get('ratelimit')).toContain('"minute";r=99');
  const before = await backends('true');

  // The first query, which reads the user, waits for this lock.
  await other.query('BEGIN; LOCK TABLE leadtap.users IN ACCESS EXCLUSIVE MODE');
  const socket = await openSocket(url);
  const authorization = `Authorization: Bearer ${await token('boss')}`;
  socket.write(requestText(`GET ${NEW_LEADS_PATH} HTTP/1.1`, 'Host: x', authorization));
  await eventually(async () => expect(await backends(`wait_event_type = 'Lock'`)).toHaveLength(1));
  const all = await clients();
  socket.resetAndDestroy();
  await eventually(async () => expect(await clients()).toBe(all - 1));
  await other.query('COMMIT');

  await eventually(() => expect(lines.some((line) => line.includes('"status":499'))).toBe(true));
  expect(await backends('true')).toEqual(before);
  expect((await poll('boss')).headers.get('ratelimit')).toContain('"minute";r=97');
});
