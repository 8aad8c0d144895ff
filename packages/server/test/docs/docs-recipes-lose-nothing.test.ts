import fc from 'fast-check';
import { expect, test } from 'vitest';
import { getDocsPage } from './docs-page.ts';

interface FeedLead {
  readonly createdAt: string;
  readonly automation_trigger_id: string;
}

interface Step {
  readonly passedMs: number;
  readonly newLeads: number;
  readonly trouble: 'none' | 'problem' | 'network' | 'handling';
}

const START = Date.parse('2026-03-02T09:30:00.000Z');
const iso = (ms: number) => new Date(ms).toISOString();

/** A fake endpoint that follows the delivery contract. */
class Feed {
  readonly leads: FeedLead[] = [];
  now = START;
  trouble: Step['trouble'] = 'none';
  #last = START;

  add(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      this.#last = Math.max(this.#last + 1, this.now + 1);
      this.leads.push({ createdAt: iso(this.#last), automation_trigger_id: `t${this.#last}` });
    }
  }

  readonly fetch = async (address: string): Promise<Response> => {
    if (this.trouble === 'network') throw new TypeError('fetch failed');
    if (this.trouble === 'problem') return new Response('{}', { status: 503 });
    const url = new URL(address);
    const since = url.searchParams.get('since') ?? '';
    const page = this.leads.filter(({ createdAt }) => createdAt > since).slice(0, 100);
    url.searchParams.set('since', page.at(-1)?.createdAt ?? since);
    return Response.json(page, {
      headers: { link: `<${url}>; rel="next"`, date: new Date(this.now).toUTCString() },
    });
  };
}

type Run = (
  fetch: Feed['fetch'],
  token: string,
  handle: (lead: FeedLead) => Promise<void>,
) => () => Promise<void>;

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
const page = await getDocsPage('https://leads.acme.test');
const recipes = [...page.matchAll(/<h3 id="(recipe-\d)">[\s\S]*?<pre[^>]*><code>([\s\S]*?)<\/code>/g)].map(
  ([, name = '', markup = '']) => {
    const code = markup
      .replace(/<\/?i>/g, '')
      .replace(/&([a-z#0-9]+);/g, (_, entity) => ENTITIES[entity] ?? '');
    return { name, run: new Function('fetch', 'token', 'handle', `${code}\nreturn poll;`) as Run };
  },
);

const steps = (trouble: fc.Arbitrary<Step['trouble']>): fc.Arbitrary<Step[]> =>
  fc.array(fc.record({ passedMs: fc.nat(3000), newLeads: fc.nat(220), trouble }), { maxLength: 12 });

/** Polls in all steps and then until no lead is left; returns the leads in the order they were handled. */
async function handled(run: Run, feed: Feed, script: readonly Step[]): Promise<readonly FeedLead[]> {
  const done: FeedLead[] = [];
  const poll = run(feed.fetch, 'token', async (lead) => {
    if (feed.trouble === 'handling' && done.length % 7 === 3) throw new Error('not now');
    done.push(lead);
  });
  for (const { passedMs, newLeads, trouble } of script) {
    feed.now += passedMs;
    feed.add(newLeads);
    feed.trouble = trouble;
    const ended = poll();
    // The recipe must not throw on an error response.
    await (trouble === 'network' || trouble === 'handling' ? ended.catch(() => undefined) : ended);
  }
  feed.trouble = 'none';
  for (let rest = 0; rest <= feed.leads.length; rest += 100) await poll();
  return done;
}

test('there are three recipes', () => {
  expect(recipes.map(({ name }) => name)).toEqual(['recipe-1', 'recipe-2', 'recipe-3']);
});

test.each(recipes)('$name handles every lead once, in order, while requests fail', async ({ run }) => {
  const script = steps(fc.constantFrom('none', 'problem', 'network'));
  await fc.assert(
    fc.asyncProperty(script, async (list) => {
      const feed = new Feed();
      expect(await handled(run, feed, list)).toEqual(feed.leads);
    }),
    { numRuns: 20 },
  );
});

test.each(recipes)('$name loses no lead when handling one fails', async ({ run }) => {
  const script = steps(fc.constantFrom('none', 'handling'));
  await fc.assert(
    fc.asyncProperty(script, async (list) => {
      const feed = new Feed();
      const ids = new Set((await handled(run, feed, list)).map((lead) => lead.automation_trigger_id));
      expect(ids.size).toBe(feed.leads.length);
    }),
    { numRuns: 20 },
  );
});
