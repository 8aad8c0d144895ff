import { systemClock } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { runLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { keyFileOf, startService } from '../../../testing/harness/service.ts';
import { terminal } from '../cli/terminal.ts';

/** A running service, and a shell whose commands use the same database. */
async function startBesideShell() {
  const service = await startService();
  const env = { ...service.database.env, LEADTAP_SIGNING_KEY_FILE: keyFileOf(service) };
  const shell = terminal();
  const run = async (command: string, stdin?: string): Promise<string> => {
    const { code, stdout, stderr } = await shell.run(command, {
      env,
      parts: { clock: systemClock },
      ...(stdin && { stdin }),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  const statusOf = async (user: string) => (await service.poll(user)).status;
  const idsOf = async (user: string) => (await service.leads(user)).map(({ id }) => id).sort();
  return { ...service, env, shell, run, statusOf, idsOf };
}

const [acme, globex] = ORGANISATION.companies;

describe('while the service runs, the next request uses', () => {
  it('a changed plan', async () => {
    const { run, statusOf } = await startBesideShell();
    expect(await statusOf('boss')).toBe(200);
    await run('user set boss --plan STARTER');
    expect(await statusOf('boss')).toBe(403);
    await run('user set boss --plan PROFESSIONAL');
    expect(await statusOf('boss')).toBe(200);
  });

  it('a changed access level', async () => {
    const { add, run, idsOf } = await startBesideShell();
    await add(
      { id: 'company' },
      { id: 'north', branchId: 'north' },
      { id: 'sales', branchId: 'north', departmentId: 'sales' },
    );
    expect(await idsOf('boss')).toEqual(['company', 'north', 'sales']);
    await run('user set boss --access-level DEPARTMENT --department sales');
    expect(await idsOf('boss')).toEqual(['sales']);
    await run('user set boss --access-level BRANCH --branch north');
    expect(await idsOf('boss')).toEqual(['north', 'sales']);
    await run('user set boss --access-level COMPANY');
    expect(await idsOf('boss')).toEqual(['company', 'north', 'sales']);
  });

  it('a removed and a restored user', async () => {
    const { run, shell, statusOf } = await startBesideShell();
    await run('user remove boss');
    expect(await statusOf('boss')).toBe(404);
    shell.save('organisation.json', ORGANISATION);
    await run('org apply organisation.json');
    expect(await statusOf('boss')).toBe(200);
  });

  it('an applied company with users and names', async () => {
    const { add, run, shell, leads, statusOf } = await startBesideShell();
    await add({ id: 'a', branchId: 'north' });
    const newcomer = { id: 'newcomer', plan: 'PROFESSIONAL', accessLevel: 'COMPANY' };
    shell.save('organisation.json', {
      companies: [
        { ...acme, name: 'Acme & Daughters' },
        { id: 'third', name: 'Third', users: [newcomer] },
        globex,
      ],
    });
    expect(await statusOf('newcomer')).toBe(404);
    await run('org apply organisation.json');
    expect(await statusOf('newcomer')).toBe(200);
    expect(await leads('boss')).toMatchObject([{ id: 'a', companyName: 'Acme & Daughters' }]);
  });

  it('an imported lead', async () => {
    const { run, idsOf } = await startBesideShell();
    expect(await idsOf('boss')).toEqual([]);
    await run('leads import - --format ndjson', '{"companyId":"acme","id":"fresh","phone1":"1"}\n');
    expect(await idsOf('boss')).toEqual(['fresh']);
  });

  it('changes of another process', async () => {
    const { env, statusOf } = await startBesideShell();
    expect(await statusOf('boss')).toBe(200);
    const { code } = await runLeadtap(['user', 'set', 'boss', '--plan', 'STARTER'], env);
    expect(code).toBe(0);
    expect(await statusOf('boss')).toBe(403);
  });
});
