import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StatusJson } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { runLeadtap, spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

const HINT = /^This installation is empty: .+ `npx leadtap org apply FILE` creates companies and users/;
const CLOSE = { headers: { connection: 'close' } };

it('the log of serve, doctor, the status page and the console, until there is a company', async () => {
  const folder = tempFolder();
  const database = await makeTestDatabase(undefined, { folder });
  const env = {
    ...database.env,
    ...{ LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: '127.0.0.1:0', npm_command: 'exec' },
  };
  const { lines } = spawnLeadtap(['serve'], env, folder);
  /** The next line of the log whose text is so. */
  const logged = async (text: RegExp) => {
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      const entry: { msg: string; level: string; url: string; statusUrl: string } = JSON.parse(line.value);
      if (text.test(entry.msg)) return entry;
    }
    throw new Error(`nothing was logged like ${text}`);
  };
  const { url, statusUrl } = await logged(/^serving new leads$/);
  expect((await logged(/^accounts$|^This/)).msg).toBe('accounts');
  expect(await logged(HINT)).toMatchObject({ level: 'warn' });

  const read = async () => {
    const { stdout } = await runLeadtap(['doctor', '--json'], env, folder);
    const { checks }: { checks: { check: string; state: string; detail: string; fix: string[] }[] } =
      JSON.parse(stdout);
    const status = (await (await fetch(`${statusUrl}.json`, CLOSE)).json()) as StatusJson;
    return {
      doctor: checks
        .filter(({ check }) => check === 'no-company')
        .map(({ state, detail, fix: [fix] }) => [state, `${detail} ${fix}`]),
      status: status.problems.map(({ level, message, fix }) => [level, `${message} ${fix}`]),
      ready: await (await fetch(`${url}/readyz`, CLOSE)).json(),
    };
  };
  const hint = ['unknown', expect.stringMatching(HINT)];
  // The address is public: it does not say how the program was started.
  const publicHint = expect.stringMatching(
    /^This installation is empty: .+ `leadtap org apply FILE` creates/,
  );
  expect(await read()).toEqual({
    doctor: [hint],
    status: [hint],
    ready: { status: 'ok', hint: publicHint },
  });

  writeFileSync(join(folder, 'organisation.json'), JSON.stringify(ORGANISATION));
  expect(await runLeadtap(['org', 'apply', 'organisation.json'], env, folder)).toMatchObject({ code: 0 });
  expect(await read()).toEqual({ doctor: [], status: [], ready: { status: 'ok' } });
});
