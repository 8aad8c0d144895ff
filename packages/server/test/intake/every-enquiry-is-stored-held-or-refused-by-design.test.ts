import { randomUUID } from 'node:crypto';
import { LEADS_PATH } from '@leadtap/contract';
import fc from 'fast-check';
import { issueToken } from 'leadtap';
import { expect, it } from 'vitest';
import { shareService } from '../../../testing/harness/shared-service.ts';
import { terminal } from '../cli/terminal.ts';

const DAY_MS = 86_400_000;
const SENDERS = ['web', 'ads'] as const;
const STATES = ['good', 'expired', 'wrong scope', 'revoked'] as const;
const SHAPES = ['good', 'invalid', 'malformed', 'text'] as const;
type Sender = (typeof SENDERS)[number];
type State = (typeof STATES)[number];
type Shape = (typeof SHAPES)[number];

/** Its body stays the same: another one is another enquiry. With a key, one sender repeats it. */
interface Enquiry {
  readonly name: string;
  readonly key: { readonly sender: Sender } | undefined;
  readonly shape: Shape;
  /** Set after a 2xx or an `accept`. After a 2xx, only a request with a key is sent again. */
  storedBy: Sender | 'operator' | undefined;
  /** An answer said that it is held, and it was not deleted since. */
  isHeld: boolean;
  wasSent: boolean;
}

type Step =
  | {
      readonly kind: 'send';
      readonly enquiry: number;
      readonly sender: Sender;
      readonly state: State;
    }
  | { readonly kind: 'accept'; readonly sender: Sender }
  | { readonly kind: 'delete'; readonly enquiry: number };

const MAX_ENQUIRIES = 4;
const enquiryNumber = fc.nat(MAX_ENQUIRIES - 1);
const send = fc.record({
  ...{ kind: fc.constant('send' as const), enquiry: enquiryNumber, sender: fc.constantFrom(...SENDERS) },
  state: fc.constantFrom('expired', ...STATES),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: send },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('accept' as const), sender: fc.constantFrom(...SENDERS) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), enquiry: enquiryNumber }) },
);
const enquiry = fc.record({
  key: fc.option(fc.record({ sender: fc.constantFrom(...SENDERS) }), { nil: undefined }),
  shape: fc.constantFrom('good', 'good', 'invalid', ...SHAPES),
});

const bodyOf = (name: string, shape: Shape): string => {
  const lead = { firstName: name, [shape === 'invalid' ? 'mail' : 'email']: 'ada@example.com' };
  const body = JSON.stringify(lead);
  return shape === 'malformed' ? body.slice(0, -1) : body;
};

const service = shareService({ env: { LEADTAP_TRUST_PROXY: '1' } });
let addresses = 0;

class Run {
  readonly #tag = randomUUID();
  readonly #enquiries: readonly Enquiry[];

  constructor(given: readonly Pick<Enquiry, 'key' | 'shape'>[]) {
    this.#enquiries = given.map((one, index) => ({
      ...{ ...one, name: `${this.#tag}-${index}`, storedBy: undefined, isHeld: false, wasSent: false },
    }));
  }

  async do(step: Step): Promise<void> {
    if (step.kind === 'send') return this.#send(step);
    if (step.kind === 'accept') return this.#accept(step.sender);
    const found = this.#enquiries[step.enquiry];
    if (!found || found.storedBy) return;
    await this.#remove(found);
    found.isHeld = false;
  }

  async #send({ enquiry, sender, state }: Extract<Step, { kind: 'send' }>): Promise<void> {
    const found = this.#enquiries[enquiry];
    if (!found || found.storedBy === 'operator') return;
    const by = found.key?.sender ?? sender;
    const sent = found.shape;
    if (found.storedBy && !(found.key && state === 'good' && sent === 'good')) return;
    const { status, held } = await this.#post(found, by, state, sent);
    found.wasSent = true;
    const what = `${state} token, ${sent} body: ${status}`;
    const isByDesign = state === 'revoked' || sent === 'text' || sent === 'malformed';
    if (state === 'good' && sent === 'good') {
      expect(status, what).toBe(201);
      found.storedBy = by;
    } else expect(held, what).toBe(!isByDesign);
    found.isHeld ||= held;
  }

  async #post({ name, key }: Enquiry, sender: Sender, state: State, shape: Shape) {
    const { service: running, url, store } = service();
    const now = Date.now();
    const tokenId = `${this.#tag}-${sender}${state === 'revoked' ? '-revoked' : ''}`;
    if (state === 'revoked') await store.revokeToken(tokenId);
    const token = await issueToken(running.keys, {
      ...{ userId: 'boss', tokenId, issuedAt: now - DAY_MS },
      expiresAt: state === 'expired' ? now - 1000 : now + DAY_MS,
      scopes: [state === 'wrong scope' ? 'leads:read' : 'leads:write'],
    });
    addresses += 1;
    const answer = await fetch(`${url}${LEADS_PATH}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': shape === 'text' ? 'text/plain' : 'application/json',
        // Tokens that were refused are limited by address.
        'x-forwarded-for': `192.0.${addresses >> 8}.${addresses & 255}`,
        ...(key && { 'idempotency-key': name }),
      },
      body: bodyOf(name, shape),
    });
    const { held = false } = (await answer.json()) as { readonly held?: boolean };
    return { status: answer.status, held };
  }

  /** With the field of the name that the invalid bodies have. */
  async #accept(sender: Sender): Promise<void> {
    await this.#run(`leads refused accept --all --connection ${this.#tag}-${sender} --map mail=email`);
    const stored = await this.#stored();
    for (const one of this.#enquiries) if (stored.has(one.name)) one.storedBy ??= 'operator';
  }

  async #remove({ name }: Enquiry): Promise<void> {
    const ids = (await this.#held()).flatMap(([id, body]) => (body.includes(name) ? [id] : []));
    if (ids.length > 0) await this.#run(`leads refused delete ${ids.join(' ')}`);
  }

  async #run(command: string): Promise<void> {
    await service().service.refusedLeads.flush();
    await terminal().run(command, { env: service().database.env });
  }

  async #held(): Promise<(readonly [id: string, body: string])[]> {
    const { service: running, store } = service();
    await running.refusedLeads.flush();
    const rows = (await store.refusedLeads.list({ companyId: 'acme', limit: 5000 })).filter(({ tokenId }) =>
      tokenId?.startsWith(this.#tag),
    );
    return Promise.all(
      rows.map(async ({ id }) => [id, String((await store.refusedLeads.find(id))?.body)] as const),
    );
  }

  /** How often. */
  async #stored(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const { lead } of await service().store.listLeads({ limit: 5000 })) {
      const name = lead.firstName;
      if (name) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return counts;
  }

  async check(): Promise<void> {
    const [held, stored] = [await this.#held(), await this.#stored()];
    const found = this.#enquiries
      .filter(({ wasSent }) => wasSent)
      .map(({ name }) => ({
        stored: stored.get(name) ?? 0,
        isHeld: held.some(([, body]) => body.includes(name)),
      }));
    expect(found).toEqual(
      this.#enquiries
        .filter(({ wasSent }) => wasSent)
        .map(({ storedBy, isHeld }) => ({
          stored: storedBy ? 1 : 0,
          isHeld: storedBy === undefined && isHeld,
        })),
    );
  }
}

it('every enquiry is either stored once, held, or refused by design', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(enquiry, { minLength: 1, maxLength: MAX_ENQUIRIES }),
      fc.array(step, { minLength: 10, maxLength: 25, size: 'max' }),
      async (enquiries, steps) => {
        const run = new Run(enquiries);
        for (const one of steps) await run.do(one);
        await run.check();
      },
    ),
    { numRuns: 30, endOnFailure: true },
  );
});
