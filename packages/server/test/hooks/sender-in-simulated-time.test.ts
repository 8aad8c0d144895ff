import { describe, expect, it } from 'vitest';
import { ACCEPTED, START, simulateSender } from './support/simulated-sender.ts';

describe('an event', () => {
  it('is sent in the tenth of a second after the lead, and its result is stored', async () => {
    const { start, add, addLead, advance, posts, hook, store } = simulateSender();
    add('a', 'acme');
    await start();
    const stamp = addLead('acme');
    const addedAt = performance.now();
    await advance(200);
    expect(posts).toHaveLength(1);
    expect((posts[0]?.at ?? 0) - addedAt).toBeLessThanOrEqual(110);
    expect(hook('a')).toMatchObject({ announcedThrough: stamp, lastStatus: 200, failures: 0 });
    expect(store.claim.mock.lastCall?.[0]).toMatchObject({ claimMs: 15_000 });
  });

  it('follows another one of its hook a second later, also if no lead comes then', async () => {
    const { start, add, addLead, advance, posts, receiver, hook } = simulateSender();
    add('a', 'acme');
    await start();
    receiver.answer = undefined;
    addLead('acme');
    await advance(100);
    const stamp = addLead('acme');
    await advance(400);
    expect(posts).toHaveLength(1);
    posts[0]?.end(ACCEPTED);
    const endedAt = performance.now();
    await advance(1300);
    // 20 ms until the result is stored, the pause, and a tick.
    const waited = (posts[1]?.at ?? 0) - endedAt;
    expect(waited).toBeGreaterThanOrEqual(1000);
    expect(waited).toBeLessThanOrEqual(1150);
    posts[1]?.end(ACCEPTED);
    await advance(100);
    expect(hook('a').announcedThrough).toBe(stamp);
    await advance(2000);
    expect(posts).toHaveLength(2);
  });

  it('is sent again when its claim has ended, if its result cannot be stored', async () => {
    const { start, add, addLead, advance, posts, store, hook, warn } = simulateSender({ maxInFlight: 1 });
    add('a', 'acme');
    await start();
    store.settle.mockRejectedValueOnce(new Error('the database is stopped'));
    const stamp = addLead('acme');
    await advance(14_900);
    expect(posts).toHaveLength(1);
    expect(warn).toHaveBeenCalledTimes(1);
    await advance(2000);
    expect(posts).toHaveLength(2);
    expect(hook('a').announcedThrough).toBe(stamp);
  });

  it('that cannot be made fails, and is sent again 5 seconds later', async () => {
    const { start, add, addLead, advance, posts, receiver, hook, warn } = simulateSender();
    add('a', 'acme');
    await start();
    receiver.answer = () => {
      throw new Error('no such header');
    };
    addLead('acme');
    await advance(200);
    expect(hook('a')).toMatchObject({ failures: 1, lastStatus: null });
    expect(warn).toHaveBeenCalledTimes(1);
    receiver.answer = () => ACCEPTED;
    await advance(4500);
    expect(posts).toHaveLength(1);
    // At most a tenth more.
    await advance(2000);
    expect(posts).toHaveLength(2);
    expect(hook('a').failures).toBe(0);
  });

  it('with 410 deletes the hook, unless it was subscribed again', async () => {
    const { start, add, addLead, settle, receiver, store } = simulateSender();
    for (const id of ['a', 'b']) add(id, 'acme');
    await start();
    receiver.answer = (path) => (path === '/c' ? ACCEPTED : { kind: 'gone', status: 410 });
    store.remove.mockImplementation(async (id) => id === 'a' && store.hooks.delete(id));
    addLead('acme');
    await settle();
    expect(store.remove.mock.calls[0]).toEqual(['a', 1]);
    expect([...store.hooks.keys()]).toEqual(['b']);
    expect(store.settle.mock.lastCall?.[0].map(({ claimed }) => claimed.id)).toEqual(['b']);
  });

  it('to a host that is not allowed is not sent, and its hook is left to others', async () => {
    const { start, add, addLead, advance, posts, store, warn } = simulateSender();
    add('a', 'acme', { url: 'https://other.test/' });
    await start();
    addLead('acme');
    await advance(3000);
    expect(posts).toEqual([]);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(store.claim.mock.lastCall?.[0].except?.hooks).toEqual(['a']);
  });
});

describe('the load on the database', () => {
  it('is a read of the change log ten times, and a claim once a second, while nothing comes', async () => {
    const { start, add, advance, readChanges, store } = simulateSender();
    add('a', 'acme');
    await start();
    for (const call of [readChanges, store.claim]) call.mockClear();
    await advance(10_000);
    expect(readChanges.mock.calls.length).toBeGreaterThanOrEqual(85);
    expect(readChanges.mock.calls.length).toBeLessThanOrEqual(100);
    expect(store.claim.mock.calls.length).toBeGreaterThanOrEqual(9);
    expect(store.claim.mock.calls.length).toBeLessThanOrEqual(10);
    expect(store.claim.mock.calls.every(([{ companies }]) => companies.length === 0)).toBe(true);
  });

  it('is a look every 2 seconds while there is no hook', async () => {
    const { start, advance, readChanges, store, addLead } = simulateSender();
    await start();
    addLead('acme');
    await advance(119_000);
    expect([readChanges.mock.calls.length, store.claim.mock.calls.length]).toEqual([0, 0]);
    expect(store.hasHooks.mock.calls.length).toBeGreaterThanOrEqual(55);
    expect(store.hasHooks.mock.calls.length).toBeLessThanOrEqual(63);
    expect(store.prune).toHaveBeenCalledTimes(2);
    expect(store.prune.mock.calls[0]?.[0]).toBeCloseTo(START - 90 * 86_400_000, -3);
  });

  it('is one attempt a second and one line in the log while the database fails', async () => {
    const { start, add, addLead, advance, store, readChanges, warn, posts } = simulateSender();
    add('a', 'acme');
    await start();
    const broken = new Error('the database is stopped');
    const claim = store.claim.getMockImplementation();
    store.claim.mockReset().mockRejectedValue(broken);
    addLead('acme');
    await advance(5000);
    expect(store.claim.mock.calls.length).toBeGreaterThanOrEqual(4);
    expect(store.claim.mock.calls.length).toBeLessThanOrEqual(6);
    readChanges.mockRejectedValue(broken);
    await advance(5000);
    expect(warn).toHaveBeenCalledTimes(1);
    readChanges.mockReset();
    if (claim) store.claim.mockReset().mockImplementation(claim);
    await advance(1100);
    // For the same company.
    expect(posts).toHaveLength(1);
    readChanges.mockRejectedValue(broken);
    await advance(3000);
    expect(warn).toHaveBeenCalledTimes(2);
  });
});

describe('hooks are examined', () => {
  it('at once after a subscription, also if the sender waits for one', async () => {
    const { start, add, addLead, advance, sender, posts } = simulateSender();
    await start();
    addLead('acme');
    add('a', 'acme', { checkAt: 0 });
    sender.onSubscribed();
    await advance(50);
    expect(posts).toHaveLength(1);
  });

  it('at once after a subscription that came during a claim', async () => {
    const { start, add, addLead, advance, sender, posts, store } = simulateSender();
    add('other', 'globex');
    await start();
    store.newest.set('acme', START);
    store.claim.mockImplementationOnce(async () => {
      add('a', 'acme', { checkAt: 0 });
      sender.onSubscribed();
      return [];
    });
    addLead('globex');
    await advance(300);
    expect(posts.map(({ path }) => path)).toEqual(['/a']);
  });

  it('at once after a subscription that came while the sender looked for hooks', async () => {
    const { start, add, sender, posts, store } = simulateSender();
    store.newest.set('acme', START);
    store.hasHooks.mockImplementationOnce(async () => {
      add('a', 'acme', { checkAt: 0 });
      sender.onSubscribed();
      return false;
    });
    await start();
    expect(posts).toHaveLength(1);
  });

  it('within 3 seconds if another process has the first subscription', async () => {
    const { start, add, addLead, advance, posts } = simulateSender();
    await start();
    add('a', 'acme');
    addLead('acme');
    await advance(3000);
    expect(posts).toHaveLength(1);
  });

  it('of companies whose leads come during a claim, by the next one', async () => {
    const { start, add, addLead, advance, store, posts } = simulateSender();
    add('a', 'acme');
    add('b', 'globex');
    await start();
    store.claim.mockImplementationOnce(async () => {
      addLead('globex');
      return [];
    });
    addLead('acme');
    await advance(300);
    expect(posts.map(({ path }) => path)).toEqual(['/b']);
  });

  it('all, if the change log does not say what has changed, and only for new leads otherwise', async () => {
    const { start, add, advance, store, report } = simulateSender();
    add('a', 'acme');
    await start();
    store.claim.mockClear();
    report([{ kind: 'company', id: 'acme' }]);
    await advance(1200);
    expect(store.claim.mock.calls.map(([{ companies }]) => companies)).toEqual([[]]);
    report(undefined);
    await advance(1200);
    expect(store.claim.mock.lastCall?.[0].companies).toBe('all');
  });
});

describe('the slots for events in flight', () => {
  const hooksOf = (companyId: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${companyId}-${index}`);

  it('are shared: events of a company that hang take half of them, and all are sent when others end', async () => {
    const { start, add, addLead, settle, advance, posts, receiver, store, pathsOf } = simulateSender();
    for (const id of hooksOf('acme', 80)) add(id, 'acme');
    add('other', 'globex');
    await start();
    receiver.answer = (path) => (path === '/other' ? ACCEPTED : undefined);
    addLead('acme', 'globex');
    await settle();
    expect(pathsOf().filter((path) => path !== 'other')).toHaveLength(20);
    expect(pathsOf()).toContain('other');
    await advance(1100);
    expect(store.claim.mock.lastCall?.[0].except).toMatchObject({ companies: ['acme'], retriesOf: ['acme'] });
    // Those that got no slot were not claimed for 15 seconds.
    receiver.answer = () => ACCEPTED;
    for (const post of posts) post.end(ACCEPTED);
    await advance(1500);
    expect(new Set(pathsOf()).size).toBe(81);
    // Each slot is free again.
    addLead('acme');
    await advance(1500);
    expect(pathsOf().filter((path) => path !== 'other').length).toBe(160);
  });

  it('are few for retries: a new event of the company is sent beside them', async () => {
    const { start, add, addLead, settle, receiver, pathsOf } = simulateSender();
    for (const id of hooksOf('acme', 20)) add(id, 'acme', { failures: 1, failingSince: 1 });
    await start();
    receiver.answer = undefined;
    addLead('acme');
    await settle();
    // A tenth of what is free: 4 of 40, then 3 of 37.
    expect(pathsOf()).toHaveLength(3);
    add('new', 'acme');
    addLead('acme');
    await settle();
    expect(pathsOf().slice(3)).toEqual(['new']);
  });

  it('are all used by one claim after the other, of 200 hooks at most, one in a turn of the event loop', async () => {
    const { start, add, addLead, advance, posts, receiver, store } = simulateSender({ maxInFlight: 3000 });
    for (const id of hooksOf('acme', 450)) add(id, 'acme');
    await start();
    store.claim.mockClear();
    const inTurn = new Map<number, number>();
    let turn = 0;
    let next = setImmediate(function count() {
      turn += 1;
      next = setImmediate(count);
    });
    receiver.answer = () => {
      inTurn.set(turn, (inTurn.get(turn) ?? 0) + 1);
      return ACCEPTED;
    };
    addLead('acme');
    await advance(800);
    clearImmediate(next);
    expect(posts).toHaveLength(450);
    expect(store.claim.mock.calls.slice(0, 3).map(([{ limit }]) => limit)).toEqual([200, 200, 200]);
    expect(Math.max(...inTurn.values())).toBe(1);
  });

  it('are never more than there are', async () => {
    const { start, add, addLead, advance, receiver, posts } = simulateSender({ maxInFlight: 3 });
    for (const company of ['a', 'b', 'c', 'd']) for (const id of hooksOf(company, 2)) add(id, company);
    await start();
    receiver.answer = undefined;
    addLead('a', 'b', 'c', 'd');
    await advance(5000);
    expect(posts).toHaveLength(3);
    for (let ended = 0; ended < 8; ended += 1) {
      posts[ended]?.end(ACCEPTED);
      await advance(1300);
      expect(posts.length - ended - 1).toBeLessThanOrEqual(3);
    }
    expect(posts).toHaveLength(8);
  });
});

describe('leads', () => {
  /** A receiver that needs this time for a request. */
  const answerAfter = (ms: number, sim: ReturnType<typeof simulateSender>) => {
    sim.receiver.answer = (path) => {
      const index = sim.posts.length - 1;
      setTimeout(() => sim.posts[index]?.end(path === '/fails' ? { kind: 'timeout' } : ACCEPTED), ms);
      return undefined;
    };
  };

  it('are sent as fast as the receiver answers, also when the time of a claim is over', async () => {
    const sim = simulateSender();
    sim.add('a', 'acme', { send: 'lead' });
    const stamps = sim.addBacklog('acme', 200);
    answerAfter(100, sim);
    await sim.start();
    const [begunAt, before] = [performance.now(), sim.posts.length];
    await sim.advance(10_000);
    const perSecond = (sim.posts.length - before) / ((performance.now() - begunAt) / 1000);
    expect(perSecond).toBeGreaterThanOrEqual(9);
    expect(sim.store.claim.mock.settledResults.length).toBeGreaterThan(2);
    await sim.advance(13_000);
    expect(sim.hook('a')).toMatchObject({ announcedThrough: stamps.at(-1), lastStatus: 200 });
    expect(sim.posts).toHaveLength(200);
  });

  it('have their position stored within 50 ms of the response, while the claim goes on', async () => {
    const sim = simulateSender();
    sim.add('a', 'acme', { send: 'lead' });
    const [first, second] = sim.addBacklog('acme', 3);
    sim.receiver.answer = undefined;
    await sim.start();
    for (const stamp of [first, second]) {
      sim.posts.at(-1)?.end(ACCEPTED);
      await sim.advance(50);
      expect(sim.hook('a').announcedThrough).toBe(stamp);
      expect(sim.hook('a').notBefore).toBeGreaterThan(START + performance.now() + 10_000);
    }
    expect(sim.posts).toHaveLength(3);
    // A lead that fails is not skipped.
    sim.posts.at(-1)?.end({ kind: 'refused', status: 500 });
    await sim.advance(50);
    expect(sim.hook('a')).toMatchObject({ announcedThrough: second, failures: 1 });
  });

  it('wait while positions cannot be stored, so that few come again after a crash', async () => {
    const sim = simulateSender();
    sim.add('a', 'acme', { send: 'lead' });
    sim.addBacklog('acme', 1000);
    let store: () => void = () => undefined;
    const settle = sim.store.settle.getMockImplementation();
    sim.store.settle.mockImplementationOnce(async (settled) => {
      await new Promise<void>((resolve) => {
        store = resolve;
      });
      return (await settle?.(settled)) ?? 0;
    });
    answerAfter(10, sim);
    await sim.start();
    const sent = sim.posts.length;
    await sim.advance(1000);
    expect(sim.posts).toHaveLength(sent);
    store();
    await sim.advance(1000);
    expect(sim.posts.length).toBeGreaterThan(sent + 40);
    // The database does not answer: the claim ends by itself.
    sim.store.settle.mockRejectedValue(new Error('the disk is full'));
    sim.store.claim.mockRejectedValue(new Error('the disk is full'));
    await sim.advance(100);
    const stopped = sim.posts.length;
    await sim.advance(3000);
    expect(sim.posts).toHaveLength(stopped);
  });

  it('do not wait while positions are stored in time', async () => {
    const sim = simulateSender();
    sim.add('a', 'acme', { send: 'lead' });
    sim.addBacklog('acme', 1000);
    const settle = sim.store.settle.getMockImplementation();
    sim.store.settle.mockImplementation(async (settled) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return (await settle?.(settled)) ?? 0;
    });
    answerAfter(10, sim);
    await sim.start();
    const sent = sim.posts.length;
    await sim.advance(1000);
    expect(sim.posts.length - sent).toBe(100);
  });

  it('are sent although their claim came late, in a claim that begins then', async () => {
    const sim = simulateSender();
    sim.add('a', 'acme', { send: 'lead' });
    sim.add('b', 'acme');
    const [stamp] = sim.addBacklog('acme', 1);
    const claim = sim.store.claim.getMockImplementation();
    sim.store.claim.mockImplementationOnce(async (query) => {
      const due = (await claim?.(query)) ?? [];
      await new Promise((resolve) => setTimeout(resolve, 9000));
      return due;
    });
    sim.receiver.answer = undefined;
    await sim.start();
    await sim.advance(9000);
    expect(sim.pathsOf().sort()).toEqual(['a', 'b']);
    for (const id of ['a', 'b'])
      expect(sim.hook(id).notBefore).toBeGreaterThan(START + performance.now() + 10_000);
    for (const post of sim.posts) post.end(ACCEPTED);
    await sim.advance(100);
    expect(sim.hook('a').announcedThrough).toBe(stamp);
  });

  it('are not sent by a claim that has ended meanwhile, nor by one that would end before the request', async () => {
    const sim = simulateSender();
    sim.add('a', 'acme', { send: 'lead' });
    sim.addBacklog('acme', 1);
    const claim = sim.store.claim.getMockImplementation();
    sim.store.claim.mockImplementationOnce(async (query) => {
      const due = (await claim?.(query)) ?? [];
      await new Promise((resolve) => setTimeout(resolve, 16_000));
      // Another instance has claimed it, and sends.
      await claim?.({ ...query, companies: 'all' });
      return due;
    });
    await sim.start();
    await sim.advance(17_000);
    expect(sim.posts).toEqual([]);
    const read = sim.store.readLead.getMockImplementation();
    sim.store.readLead.mockImplementationOnce(async (...claimed) => {
      const lead = await read?.(...claimed);
      await new Promise((resolve) => setTimeout(resolve, 5000));
      return lead;
    });
    await sim.advance(18_500);
    expect(sim.store.readLead).toHaveBeenCalledTimes(1);
    expect(sim.posts).toEqual([]);
    // The claim is given back, and the lead is read again.
    await sim.advance(2500);
    expect(sim.posts).toHaveLength(1);
    expect(sim.store.readLead.mock.calls.length).toBeGreaterThan(2);
  });

  it('of all hooks are read one in a turn of the event loop, and one at a time', async () => {
    const sim = simulateSender();
    for (let index = 0; index < 20; index += 1) sim.add(`${index}`, `company-${index % 2}`, { send: 'lead' });
    for (const id of ['company-0', 'company-1']) sim.addBacklog(id, 30);
    let [turn, most, reading] = [0, 0, 0];
    const inTurn = new Map<number, number>();
    let next = setImmediate(function count() {
      turn += 1;
      next = setImmediate(count);
    });
    const read = sim.store.readLead.getMockImplementation();
    sim.store.readLead.mockImplementation(async (...claimed) => {
      inTurn.set(turn, (inTurn.get(turn) ?? 0) + 1);
      reading += 1;
      most = Math.max(most, reading);
      const lead = await read?.(...claimed);
      reading -= 1;
      return lead;
    });
    await sim.start();
    await sim.advance(2000);
    clearImmediate(next);
    expect(sim.posts).toHaveLength(600);
    expect([most, Math.max(...inTurn.values())]).toEqual([1, 1]);
  });

  it('of many hooks share few slots: each hook has its turn', async () => {
    const sim = simulateSender({ maxInFlight: 3 });
    const ids = Array.from({ length: 12 }, (_, index) => `company-${index}`);
    for (const id of ids) {
      sim.add(id, id, { send: 'lead' });
      sim.addBacklog(id, 10_000);
    }
    answerAfter(100, sim);
    await sim.start();
    await sim.advance(40_000);
    const counts = ids.map((id) => sim.pathsOf().filter((path) => path === id).length);
    expect(Math.min(...counts)).toBeGreaterThan(Math.max(...counts) / 3);
  });

  it('that were erased meanwhile do not end the hook: the next one is sent', async () => {
    const sim = simulateSender();
    sim.add('a', 'acme', { send: 'lead' });
    sim.addBacklog('acme', 2);
    sim.store.readLead.mockResolvedValueOnce(undefined);
    sim.store.leads.set('acme', []);
    await sim.start();
    expect(sim.posts).toEqual([]);
    sim.addLead('acme');
    await sim.advance(200);
    expect(sim.posts).toHaveLength(1);
  });
});

describe('stop', () => {
  it('waits for an event in flight and stores its result; no further event is sent', async () => {
    const { start, add, addLead, advance, sender, posts, receiver, hook, close, store } = simulateSender();
    add('a', 'acme');
    await start();
    const settle = store.settle.getMockImplementation();
    store.settle.mockImplementation(async (settled) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return (await settle?.(settled)) ?? 0;
    });
    receiver.answer = undefined;
    const stamp = addLead('acme');
    await advance(200);
    const stopped = sender.stop();
    add('b', 'acme');
    addLead('acme');
    await advance(1000);
    expect(close).not.toHaveBeenCalled();
    posts[0]?.end(ACCEPTED);
    await Promise.all([stopped.then(() => expect(hook('a').announcedThrough).toBe(stamp)), advance(100)]);
    expect(close).toHaveBeenCalled();
    expect(posts).toHaveLength(1);
  });

  it('aborts an event that hangs after 2 seconds, and stores nothing of it', async () => {
    const { start, add, addLead, advance, sender, receiver, hook, close } = simulateSender();
    add('a', 'acme');
    await start();
    receiver.answer = undefined;
    addLead('acme');
    await advance(200);
    const stopped = sender.stop();
    await advance(1900);
    expect(close).not.toHaveBeenCalled();
    await advance(150);
    await stopped;
    expect(hook('a')).toMatchObject({ failures: 0, lastStatus: null });
  });

  it('ends at once while the sender waits', async () => {
    const { start, sender } = simulateSender();
    await start();
    await sender.stop();
  });

  it('gives back the hooks of a claim that has just been made', async () => {
    const { start, add, addLead, advance, sender, posts, store, hook } = simulateSender({
      maxInFlight: 3000,
    });
    for (let index = 0; index < 300; index += 1) add(`${index}`, 'acme');
    await start();
    const claim = store.claim.getMockImplementation();
    let stopped: Promise<void> | undefined;
    store.claim.mockImplementationOnce(async (query) => {
      stopped = sender.stop();
      return (await claim?.(query)) ?? [];
    });
    addLead('acme');
    await advance(400);
    await stopped;
    expect(posts).toEqual([]);
    expect(hook('0').notBefore).toBeLessThan(START + performance.now() + 1000);
  });
});
