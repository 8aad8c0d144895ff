import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { startNameServer } from '../../../testing/servers/name-server.ts';
import { HostResolver } from '../../src/hooks/resolve.ts';
import { FIRST_BACKOFF_MS } from '../../src/hooks/rules.ts';
import { readHook, subscribe } from './support/hooks.ts';

async function serveNames(addressesOf: (name: string) => readonly string[] | undefined) {
  const server = await startNameServer(addressesOf);
  onTestFinished(() => server.close());
  return server;
}

const silentServer = () => serveNames(() => undefined);

async function startWithNames(origin: string) {
  const names = await serveNames((name) => (name === 'live.test' ? ['127.0.0.1'] : undefined));
  const service = await startService({
    // It stands still: an event that has failed is not sent again.
    clock: manualClock(),
    env: { LEADTAP_HOOK_HOSTS: `*.dead.test,${origin}` },
    hookDelivery: { nameServers: [names.address] },
  });
  return { service, names };
}

it('names of one company that do not resolve delay neither polls nor the events of another one', async () => {
  const receiver = await startReceiver();
  const origin = `http://live.test:${new URL(receiver.origin).port}`;
  const { service, names } = await startWithNames(origin);
  const token = await service.token('boss');
  for (let n = 1; n <= 20; n += 1) await subscribe(service, token, `https://n${n}.dead.test/`);
  await subscribe(service, await service.token('rival'), `${origin}/hook`);
  await service.add({});
  await vi.waitFor(() => expect(names.questions).not.toEqual([]));
  expect((await service.poll('rival')).status).toBe(200);
  await service.add({ companyId: 'globex' });
  await receiver.event(1);
  const asked = new Set(names.questions.filter((name) => name !== 'live.test'));
  expect(asked.size).toBeLessThan(20);
});

it('the events of all hooks of one host share a lookup, and its failure', async () => {
  const { service, names } = await startWithNames('https://unused.test');
  const token = await service.token('boss');
  const hooks = [];
  for (let n = 1; n <= 8; n += 1) hooks.push(await subscribe(service, token, `https://a.dead.test/${n}`));
  await service.add({});
  for (const { id } of hooks)
    await vi.waitFor(async () =>
      expect(await readHook(service, token, id)).toMatchObject({ failures: 1, lastStatus: null }),
    );
  // One for each family.
  expect(names.questions).toEqual(['a.dead.test', 'a.dead.test']);
});

describe('addresses', () => {
  const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
    'four.test': ['10.0.0.1'],
    'six.test': ['fd00::1'],
    'both.test': ['fd00::1', '10.0.0.1', '10.0.0.2'],
    'many.test': Array.from({ length: 20 }, (_, index) => `10.0.0.${index}`),
    'none.test': [],
  };

  const resolve = (resolver: HostResolver, name: string, all = true, company = ''): Promise<unknown> =>
    new Promise((settle, reject) => {
      resolver.lookupFor(company)(name, { all }, (error, found) => (error ? reject(error) : settle(found)));
    });

  const FOUR = (address: string) => ({ address, family: 4 });
  const SIX = (address: string) => ({ address, family: 6 });

  it.each([
    ['four.test', [FOUR('10.0.0.1')]],
    ['six.test', [SIX('fd00::1')]],
    ['both.test', [FOUR('10.0.0.1'), FOUR('10.0.0.2'), SIX('fd00::1')]],
    ['many.test', ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3'].map(FOUR)],
    ['localhost', [FOUR('127.0.0.1'), SIX('::1')]],
    // Those of the file, without a question.
    ['n8n', [FOUR('10.1.1.1'), SIX('fd00::2')]],
    ['gateway.internal', [FOUR('10.1.1.1')]],
  ])('of %s', async (name, addresses) => {
    const { address, questions } = await serveNames((asked) => ADDRESSES[asked]);
    const file = join(tempFolder(onTestFinished), 'hosts');
    writeFileSync(
      file,
      '# 9.9.9.9 n8n\n10.1.1.1\tN8N gateway.internal # a comment\n\nfd00::2 n8n\nnonsense x\n',
    );
    const resolver = new HostResolver([address], file);
    expect(await resolve(resolver, name)).toEqual(addresses);
    expect(await resolve(resolver, name, false)).toEqual(addresses[0]?.address);
    expect(questions).toEqual(name.endsWith('.test') ? [name, name] : []);
  });

  it('a name without an address is an error, also for a short time after it', async () => {
    const { address, questions } = await serveNames((asked) => ADDRESSES[asked]);
    const resolver = new HostResolver([address]);
    for (let n = 1; n <= 2; n += 1)
      await expect(resolve(resolver, 'none.test')).rejects.toThrow('could not be resolved');
    expect(questions).toHaveLength(2);
  });

  it('the second name server is asked if the first does not answer', async () => {
    const [silent, other] = [await silentServer(), await serveNames((asked) => ADDRESSES[asked])];
    const resolver = new HostResolver([silent.address, other.address]);
    expect(await resolve(resolver, 'four.test')).toEqual([FOUR('10.0.0.1')]);
    expect(silent.questions).toContain('four.test');
  });

  it('a lookup that was started for one company serves another that waits for the same name', async () => {
    const { address, questions } = await serveNames((asked) => ADDRESSES[asked]);
    const resolver = new HostResolver([address]);
    const lookups = ['a', 'b', 'c', 'd'].map((company) => resolve(resolver, 'four.test', true, company));
    expect(await Promise.all(lookups)).toEqual(Array(4).fill([FOUR('10.0.0.1')]));
    expect(questions).toHaveLength(2);
  });

  it('names of 50 companies that do not resolve do not delay those of another one', async () => {
    const { address } = await serveNames((asked) => ADDRESSES[asked]);
    const resolver = new HostResolver([address]);
    let ended = 0;
    const dead = Array.from({ length: 50 }, (_, n) =>
      resolve(resolver, `n${n}.dead.test`, true, `company ${n}`).catch(() => {
        ended += 1;
      }),
    );
    expect(await resolve(resolver, 'four.test', true, 'other')).toEqual([FOUR('10.0.0.1')]);
    expect(ended).toBeLessThan(25);
    await Promise.all(dead);
  });

  it('a name that did not resolve is looked up again when its event is sent again', async () => {
    let addresses: readonly string[] = [];
    const { address } = await serveNames(() => addresses);
    let now = 1000;
    const resolver = new HostResolver([address], undefined, () => now);
    await expect(resolve(resolver, 'a.test')).rejects.toThrow('could not be resolved');
    addresses = ['10.0.0.1'];
    now += FIRST_BACKOFF_MS;
    expect(await resolve(resolver, 'a.test')).toEqual([FOUR('10.0.0.1')]);
  });

  it('an address is used for 5 minutes while its name does not resolve again, and replaced when it does', async () => {
    let addresses: readonly string[] | undefined = ['10.0.0.1'];
    const { address } = await serveNames(() => addresses);
    let now = 1000;
    const resolver = new HostResolver([address], undefined, () => now);
    const current = () => resolve(resolver, 'a.test');
    expect(await current()).toEqual([FOUR('10.0.0.1')]);
    addresses = [];
    for (const seconds of [29, 31, 299]) {
      now = 1000 + seconds * 1000;
      expect(await current()).toEqual([FOUR('10.0.0.1')]);
    }
    addresses = ['10.0.0.2'];
    await vi.waitFor(async () => {
      now += 5000;
      expect(await current()).toEqual([FOUR('10.0.0.2')]);
    });
    addresses = [];
    now += 301_000;
    await expect(current()).rejects.toThrow('could not be resolved');
  });
});
