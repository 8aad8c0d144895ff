import { expect, test, vi } from 'vitest';
import { captureStream } from '../../cli/capture-stream.ts';
import { terminal } from '../../cli/terminal.ts';
import { connectSql } from './sql-client.ts';

test('serve starts and stops although the accounts cannot be counted', async () => {
  const shell = terminal();
  const { url } = await shell.database();
  const [writer, observer] = [await connectSql(url), await connectSql(url)];
  await writer.query('BEGIN; LOCK TABLE leadtap.users IN ACCESS EXCLUSIVE MODE');
  const counting = async () =>
    (
      await observer.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
    ).rowCount;
  const stop = new AbortController();
  const stdout = captureStream();
  const env = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };
  const ran = shell.run('serve', { parts: { signal: stop.signal, stdout }, env });
  await vi.waitFor(async () => expect(await counting()).toBe(1));
  await vi.waitFor(() => expect(stdout.text()).toContain('serving new leads'));
  stop.abort();
  expect(await ran).toMatchObject({ code: 0 });
  expect(stdout.text()).toMatch(/"msg":"stopped"\}\n$/);
  expect(await counting()).toBe(0);
});
