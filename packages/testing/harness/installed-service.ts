import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Organisation } from 'leadtap';
import type { Installation } from '../delivery-trial/pollers/http-caller.ts';
import { makeTestDatabase, type TestDatabase } from './database.ts';
import { type LeadtapProcess, runLeadtap, spawnLeadtap } from './leadtap-process.ts';
import { tempFolder } from './temp-folder.ts';

export interface InstalledService extends Installation {
  readonly database: TestDatabase;
  /** Kills an instance with SIGKILL and starts it again at the same address. */
  kill(index: number): Promise<void>;
}

export interface InstalledServiceOptions {
  readonly organisation: Organisation;
  readonly env?: Record<string, string>;
  readonly instances?: number;
}

/** The built program as an operator runs it. */
export async function installService(options: InstalledServiceOptions): Promise<InstalledService> {
  const folder = tempFolder();
  const database = await makeTestDatabase(undefined, { folder });
  const env = { ...database.env, LEADTAP_METRICS_ADDRESS: 'off', ...options.env };
  writeFileSync(join(folder, 'organisation.json'), JSON.stringify(options.organisation));
  const run = async (...argv: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runLeadtap(argv, env, folder);
    if (code !== 0) throw new Error(`leadtap ${argv.join(' ')} has failed: ${stderr}`);
    return stdout;
  };
  await run('org', 'apply', 'organisation.json');
  const scopes = ['--scope', 'leads:read', '--scope', 'leads:write'];
  const list: { userId: string; token: string }[] = JSON.parse(
    await run('token', 'issue', '--all-users', '--json', ...scopes),
  );
  const tokens = new Map(list.map(({ userId, token }) => [userId, token]));

  const serving: LeadtapProcess[] = [];
  const serve = async (index: number, port: string): Promise<string> => {
    const instance = spawnLeadtap(['serve', '--port', port], env, folder);
    serving[index] = instance;
    for (let line = await instance.lines.next(); !line.done; line = await instance.lines.next()) {
      const { msg, url } = JSON.parse(line.value);
      if (msg === 'serving new leads') return url;
    }
    throw new Error((await instance.ended).stderr);
  };
  const urls = await Promise.all(
    Array.from({ length: options.instances ?? 1 }, (_, index) => serve(index, '0')),
  );
  return {
    urls,
    database,
    token: async (userId) => tokens.get(userId) ?? '',
    kill: async (index) => {
      const child = serving[index]?.child;
      if (!child) throw new Error(`there is no instance ${index}`);
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      await serve(index, new URL(urls[index] ?? '').port);
    },
  };
}
