import type { ServerResponse } from 'node:http';
import { Lead } from '@leadtap/contract/schemas';
import { Webhook } from 'standardwebhooks';
import { Errors } from 'typebox/value';
import { describe, expect, it, vi } from 'vitest';
import { type ManualClock, manualClock } from '../../../testing/harness/manual-clock.ts';
import { type Receiver, respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { postHook, readHook, startWith, storedHook, subscribe } from './support/hooks.ts';
import { firstTimes, idOf, leadOf, timeOf } from './support/lead-receiver.ts';

const iso = (ms: number) => new Date(ms).toISOString();
const PAST = '2020-01-01';
const many = (count: number) => Array.from({ length: count }, () => ({}));

async function startOne({ clock, timeoutMs = 3_600_000 }: StartOptions = {}) {
  const receiver = await startReceiver();
  const options = { ...(clock && { clock }), hookDelivery: { timeoutMs } };
  const service = await startWith(receiver, options);
  const token = await service.token('boss', { expiresInMs: 1e10 });
  const hook = await subscribe(service, token, receiver.url, undefined, 'lead');
  return { receiver, service, options, token, hook };
}

interface StartOptions {
  readonly clock?: ManualClock;
  readonly timeoutMs?: number;
}

/** Lets time pass until the receiver has got these leads in their order. */
/** The clock runs 2.5 times as fast as that of the machine: a claim, 15 seconds, must not end while its request is sent. */
const PACE = { interval: 200, stepMs: 500 };

async function expectTimes(receiver: Receiver, times: readonly number[], clock: ManualClock): Promise<void> {
  await vi.waitFor(() => {
    clock.advance(PACE.stepMs);
    expect(firstTimes(receiver)).toEqual(times);
  }, PACE);
}

describe('a request', () => {
  it('has a lead as the API returns it, and is signed; a 2xx moves the position', async () => {
    const { receiver, service, token, hook } = await startOne();
    const [created = 0] = await service.add({ fields: { firstName: 'Zoë', email: 'zoe@example.com' } });
    const { text, headers } = await receiver.event(1);
    const [lead] = await service.leads('boss', `since=${hook.since}`);
    expect(text).toBe(JSON.stringify(lead));
    expect([...Errors(Lead, JSON.parse(text))]).toEqual([]);
    new Webhook(hook.secret).verify(text, headers as Record<string, string>);
    await vi.waitFor(async () =>
      expect(await readHook(service, token, hook.id)).toMatchObject({
        ...{ url: receiver.url, send: 'lead', state: 'active' },
        ...{ announcedThrough: iso(created), lastStatus: 200 },
      }),
    );
    expect(await storedHook(service, hook.id)).toMatchObject({
      ...{ announcedSince: Date.parse(hook.since), remindAt: null },
    });
  });
});

it('a subscription starts at since, and sends each lead once', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  const created = await service.add(...many(25));
  const since = iso(created[2] ?? 0);
  const { id } = await subscribe(service, await service.token('boss'), receiver.url, since, 'lead');
  await vi.waitFor(() => expect(firstTimes(receiver)).toEqual(created.slice(3)));
  await vi.waitFor(async () => expect((await storedHook(service, id)).announcedThrough).toBe(created.at(-1)));
  expect(receiver.events.map(timeOf)).toHaveLength(22);
});

it('the same url, token and send is the same subscription; another send is another one', async () => {
  const { receiver, service, token, hook } = await startOne();
  const again = await subscribe(service, token, receiver.url, PAST, 'lead');
  expect([again.id, again.since]).toEqual([hook.id, hook.since]);
  const other = await subscribe(service, token, receiver.url);
  expect([other.send, other.id === hook.id]).toEqual(['event', false]);
  for (const send of ['all', 'leads']) {
    const refused = await postHook(service, token, { url: receiver.url, send });
    expect([refused.status, await refused.json()]).toMatchObject([
      422,
      { code: 'invalid-hook', detail: expect.stringMatching(/^The `send` is neither `event` nor `lead`\./) },
    ]);
  }
});

/** Ways in which a receiver does not answer 2xx in time. All but the first have stored the leads perhaps. */
const FAILURES: Readonly<Record<string, (response: ServerResponse) => void>> = {
  refuses: respondWith(500),
  redirects: respondWith(307, { location: 'http://127.0.0.1:9/' }),
  'closes the connection': (response) => response.destroy(),
  'answers too late': () => undefined,
  'drips its answer': (response) => {
    response.socket?.write('HTTP/1.1 2');
    const timer = setInterval(() => response.socket?.write('0'), 50);
    response.once('close', () => clearInterval(timer));
  },
  'answers twice': (response) => {
    response.socket?.end('HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n');
  },
};

describe('a receiver', () => {
  it.each(Object.keys(FAILURES))(
    'that %s gets the same request again, although more leads came',
    async (name) => {
      const clock = manualClock();
      const { receiver, service, hook } = await startOne({ clock, timeoutMs: 1000 });
      receiver.respond = (response) => FAILURES[name]?.(response);
      const created = await service.add({}, {}, {});
      const first = await receiver.event(1);
      await vi.waitFor(async () => {
        clock.advance(100);
        expect((await storedHook(service, hook.id)).failures).toBe(1);
      });
      expect(await storedHook(service, hook.id)).toMatchObject({ announcedThrough: Date.parse(hook.since) });
      created.push(...(await service.add({}, {})));
      receiver.respond = respondWith(200);
      await expectTimes(receiver, created, clock);
      const second = receiver.events[1];
      expect(second && [idOf(second), leadOf(second)]).toEqual([idOf(first), leadOf(first)]);
      expect(receiver.events.map(timeOf)).toHaveLength(created.length + 1);
    },
  );

  it('that fails for months is never given up, and then gets everything', async () => {
    const clock = manualClock();
    const { receiver, service, hook } = await startOne({ clock });
    const created = await service.add({}, {});
    receiver.respond = respondWith(500);
    await receiver.event(1);
    const claimed = await vi.waitFor(async () => {
      const stored = await storedHook(service, hook.id);
      expect(stored.failures).toBe(1);
      return stored;
    });
    const progress = { ...claimed, failures: 2000, failingSince: clock() - 60 * 86_400_000 };
    await service.store.hooks.settle([{ claimed, progress: { ...progress, checkAt: clock() } }]);
    clock.advance(60_000);
    await vi.waitFor(async () => expect((await storedHook(service, hook.id)).failures).toBe(2001));
    const { disabledAt, checkAt } = await storedHook(service, hook.id);
    expect([disabledAt, (checkAt ?? 0) > clock()]).toEqual([null, true]);
    receiver.respond = respondWith(200);
    clock.advance(3_600_000 * 1.2);
    await expectTimes(receiver, created, clock);
  });

  it('that answers 410 gets nothing until it subscribes again, and then continues where it stopped', async () => {
    const clock = manualClock();
    const { receiver, service, token, hook } = await startOne({ clock });
    const created = await service.add({});
    await expectTimes(receiver, created, clock);
    receiver.respond = respondWith(410);
    created.push(...(await service.add({}, {})));
    await vi.waitFor(async () => {
      clock.advance(PACE.stepMs);
      expect(await readHook(service, token, hook.id)).toMatchObject({
        ...{ state: 'disabled', lastStatus: 410, announcedThrough: iso(created[0] ?? 0) },
      });
    }, PACE);
    receiver.respond = respondWith(200);
    clock.advance(3_600_000);
    const requests = receiver.events.length;
    created.push(...(await service.add({})));
    // Shows that hooks are claimed.
    await subscribe(service, token, receiver.url, iso(created[0] ?? 0));
    const { event } = await receiver.event(requests + 1);
    expect(event.type).toBe('leads.available');
    receiver.events.splice(requests);
    expect((await subscribe(service, token, receiver.url, undefined, 'lead')).id).toBe(hook.id);
    await expectTimes(receiver, created, clock);
  });

  it('that has accepted a request gets it again after a crash, with the same id', async () => {
    const clock = manualClock();
    const { receiver, service, options } = await startOne({ clock });
    const hooks = service.store.hooks;
    const settle = vi.spyOn(hooks, 'settle').mockRejectedValue(new Error('killed'));
    const created = await service.add({});
    await receiver.event(1);
    await vi.waitFor(() => expect(settle).toHaveBeenCalled());
    await service.stop();
    const other = await startWith(receiver, { ...options, beside: service });
    created.push(...(await other.add({}, {})));
    clock.advance(15_000);
    await expectTimes(receiver, created, clock);
    const [first, second] = receiver.events;
    expect(second && leadOf(second)).toEqual(first && leadOf(first));
  });

  it('gets one request at a time from two instances, and each lead once', async () => {
    const { receiver, service, hook } = await startOne();
    await startWith(receiver, { beside: service });
    let inFlight = 0;
    let most = 0;
    receiver.respond = (response) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      setTimeout(() => {
        inFlight -= 1;
        respondWith(204)(response);
      }, 20);
    };
    const created: number[] = [];
    for (let round = 0; round < 8; round += 1) created.push(...(await service.add({}, {}, {})));
    await vi.waitFor(async () =>
      expect((await storedHook(service, hook.id)).announcedThrough).toBe(created.at(-1)),
    );
    expect(receiver.events.map(timeOf)).toEqual(created);
    expect(most).toBe(1);
  });

  it('gets nothing of what was erased, and then what follows', async () => {
    const clock = manualClock();
    const { receiver, service, hook } = await startOne({ clock });
    const { hooks, removal } = service.store;
    const read = hooks.readLead;
    // After the claim, before the read.
    const reads = vi.spyOn(hooks, 'readLead').mockImplementationOnce(async (...claimed) => {
      await removal.erase(await removal.findByIds(['a', 'b'], 'acme'));
      return read(...claimed);
    });
    await service.add({ id: 'a' }, { id: 'b' });
    await vi.waitFor(async () => {
      expect(reads).toHaveBeenCalled();
      expect(await storedHook(service, hook.id)).toMatchObject({
        ...{ announcedThrough: Date.parse(hook.since), failures: 0 },
      });
    });
    const created = await service.add({ id: 'c' });
    await expectTimes(receiver, created, clock);
    expect(receiver.events).toHaveLength(1);
  });

  it('gets every lead in order while the clock is set forward and back', async () => {
    const clock = manualClock();
    const { receiver, service } = await startOne({ clock });
    const created: number[] = [];
    for (const stepMs of [7_200_000, -7_200_000, 86_400_000, -86_400_000, -10_800_000, 10_800_000]) {
      clock.advance(stepMs);
      created.push(...(await service.add({}, {})));
      await expectTimes(receiver, created, clock);
    }
  });
});
