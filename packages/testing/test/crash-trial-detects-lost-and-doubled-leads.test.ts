import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CrashTrialVerdict, runCrashTrial } from '../delivery-trial/intake/crash-trial.ts';

type Defect = 'none' | 'ignores the key' | 'loses every 50th lead' | 'delivers another time';

interface StoredLead {
  readonly id: string;
  readonly firstName: string;
  createdAt: string;
}

const EPOCH_MS = Date.UTC(2026, 2, 2);

/** Leads in memory, behind the two endpoints, with one defect. */
class FakeService {
  readonly #defect: Defect;
  #leads: StoredLead[] = [];
  #stamps = 0;
  readonly #server = createServer((request, response) => {
    const work =
      request.method === 'POST' ? this.#receive(request, response) : this.#deliver(request, response);
    work.catch(() => response.destroy());
  });

  constructor(defect: Defect) {
    this.#defect = defect;
    onTestFinished(() => {
      this.#server.close();
      this.#server.closeAllConnections();
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  crash(): void {
    this.#server.closeAllConnections();
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const leads = (await json(request)) as { id?: string; firstName: string }[];
    const key = request.headers['idempotency-key'];
    const results = leads.map(({ id, firstName }, index) => {
      const derived = this.#defect === 'ignores the key' ? `made-${this.#stamps}` : `${key}-${index}`;
      return this.#store(id ?? derived, firstName);
    });
    // Between the commit and the answer, so that a crash loses some answers.
    await wait(2);
    const answered = results.map(({ id, createdAt, result }) => ({ id, createdAt, result }));
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ leads: answered }));
  }

  #store(id: string, firstName: string) {
    const known = this.#leads.find((lead) => lead.id === id);
    if (known) return { ...known, result: 'updated' };
    this.#stamps += 1;
    const lead = { id, firstName, createdAt: new Date(EPOCH_MS + this.#stamps).toISOString() };
    if (this.#defect !== 'loses every 50th lead' || this.#stamps % 50 > 0) this.#leads.push(lead);
    return { ...lead, result: 'added' };
  }

  async #deliver(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const since = new URL(request.url ?? '', 'http://localhost').searchParams.get('since') ?? '';
    const page = this.#leads.filter(({ createdAt }) => createdAt > since).slice(0, 100);
    const next = page.at(-1)?.createdAt ?? since;
    const shift = this.#defect === 'delivers another time' ? 1 : 0;
    const body = page.map((lead) => ({
      ...lead,
      createdAt: new Date(Date.parse(lead.createdAt) + shift).toISOString(),
    }));
    const link = `<http://localhost/?since=${encodeURIComponent(next)}&limit=100>; rel="next"`;
    response.writeHead(200, { link }).end(JSON.stringify(body));
  }
}

async function runWith(defect: Defect): Promise<CrashTrialVerdict> {
  const service = new FakeService(defect);
  return runCrashTrial({
    urls: [await service.listen()],
    users: { acme: ['ada'] },
    token: async () => 'any',
    kill: async () => service.crash(),
    senders: 4,
    requests: 120,
    requestsPerKill: 10,
    seed: 1,
  });
}

describe('the crash trial', () => {
  it('finds nothing where nothing is to be found', async () => {
    const { lost, doubled, unknown, ...counts } = await runWith('none');
    expect({ lost, doubled, unknown }).toEqual({ lost: [], doubled: [], unknown: [] });
    expect(counts.kills).toBeGreaterThan(0);
    expect(counts.retries).toBeGreaterThan(0);
  });

  it.each([
    ['ignores the key', 'doubled', /was delivered twice/],
    ['loses every 50th lead', 'lost', /was acknowledged as .+ and never delivered/],
    ['delivers another time', 'lost', /was acknowledged as .+, but delivered as/],
  ] as const)('finds a service that %s', async (defect, finding, sentence) => {
    const verdict = await runWith(defect);
    expect(verdict[finding].join('\n')).toMatch(sentence);
  });
});
