/** Many clients send no `since` and drop what they know by its id: a burst of more than a page between two polls is lost to none. */
import type { Lead } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';

const MINUTE_MS = 60_000;
const PAUSE_MS = 2 * MINUTE_MS;
const PAGE = 100;
const UNLIMITED = [{ name: 'minute', quota: 1_000_000, windowS: 60 }];

interface World {
  readonly burst: number;
  readonly instances: number;
  /** The limits of what an editor asks for between two polls. */
  readonly samples: readonly number[];
}

/** Polls of each instance in turn, and an editor's samples between them. */
async function play({ burst, instances, samples }: World): Promise<{ lost: number; surprises: number }> {
  const clock = manualClock();
  const options = { clock, limits: { userPolicies: UNLIMITED } };
  const first = await startService(options);
  const services = [first];
  while (services.length < instances) services.push(await startService({ ...options, beside: first }));
  const headers = {
    authorization: `Bearer ${await first.token('boss', { expiresInMs: 10_000 * MINUTE_MS })}`,
  };
  const got = new Set<string>();
  let requests = 0;
  const ask = async (limit: number): Promise<Lead[]> => {
    const service = services[requests++ % services.length] ?? first;
    const response = await fetch(`${service.url}/automation/new-leads?limit=${limit}`, { headers });
    return (await response.json()) as Lead[];
  };
  const poll = async () => {
    for (const { id } of await ask(PAGE)) got.add(id);
    for (const { service } of services) await service.connections.flush();
    clock.advance(PAUSE_MS);
  };
  await first.add(...Array.from({ length: 200 }, (_, index) => ({ id: `old-${index}` })));
  for (let time = 0; time < 12; time += 1) await poll();
  expect(got.size).toBe(PAGE);
  await first.add(...Array.from({ length: burst }, (_, index) => ({ id: `new-${index}` })));
  const maxPolls = 5 + 2 * Math.ceil(burst / PAGE);
  for (let polls = 0; polls < maxPolls && got.size < PAGE + burst; polls += 1) {
    for (const limit of samples) await ask(limit);
    await poll();
  }
  const old = [...got].filter((id) => id.startsWith('old-')).length;
  return { lost: burst - (got.size - old), surprises: old - PAGE };
}

it.each([
  { burst: 130, instances: 1, samples: [100] },
  { burst: 130, instances: 2, samples: [3] },
  { burst: 1000, instances: 1, samples: [] },
  { burst: 1000, instances: 2, samples: [100] },
])('a burst of $burst between two polls, $instances instances, samples of $samples', async (world) => {
  const { lost, surprises } = await play(world);
  expect({ lost, surprises }).toEqual({ lost: 0, surprises: 0 });
});
