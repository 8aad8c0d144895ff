import { randomUUID } from 'node:crypto';
import { LEADS_PATH } from '@leadtap/contract';
import fc from 'fast-check';
import { issueToken, type TokenScope } from 'leadtap';
import { expect, inject, it } from 'vitest';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { propertyRuns } from '../../../testing/vitest/nightly.ts';
import { terminal } from '../cli/terminal.ts';

const HISTORIES = { sqlite: 15, postgres: 5 };
const HOUR_MS = 3_600_000;

interface Enquiry {
  readonly email: string;
  readonly key: string;
}

interface TokenParts {
  readonly scopes?: readonly TokenScope[];
  readonly endsInMs?: number;
}

/** What a sender sends of an enquiry, and the status that it gets. */
interface Attempt {
  readonly status: number;
  readonly isHeld: boolean;
  readonly token: TokenParts | 'forged';
  readonly body: (enquiry: Enquiry) => string;
}

const lead = ({ email }: Enquiry): string => JSON.stringify({ firstName: 'Ada', email });
/** Twice as large as what is held. */
const large = ({ email }: Enquiry): string =>
  JSON.stringify({ mail: email, addressNotes: 'x'.repeat(131_072) });

const REFUSED: Readonly<Record<string, Attempt>> = {
  renamed: {
    status: 422,
    isHeld: true,
    token: {},
    body: (enquiry) => JSON.stringify({ mail: enquiry.email }),
  },
  expired: { status: 401, isHeld: true, token: { endsInMs: -HOUR_MS }, body: lead },
  'without the scope': { status: 403, isHeld: true, token: { scopes: ['leads:read'] }, body: lead },
  forged: { status: 401, isHeld: false, token: 'forged', body: lead },
  'cut off': { status: 400, isHeld: false, token: {}, body: (enquiry) => lead(enquiry).slice(0, -1) },
  large: { status: 422, isHeld: false, token: {}, body: large },
};

const ACCEPTED: Attempt = { status: 201, isHeld: false, token: {}, body: lead };

interface History {
  readonly refused: readonly string[];
  /** `corrected`: the sender sends it again as it should be. `twice`: and once more, as after a lost answer. */
  readonly end: 'left' | 'corrected' | 'twice';
  /** Whether the operator accepts at the end what is held of it. */
  readonly isAccepted: boolean;
  /** By attempt: which instance gets it. */
  readonly instances: readonly (0 | 1)[];
}

const history: fc.Arbitrary<History> = fc.record({
  refused: fc.array(fc.constantFrom(...Object.keys(REFUSED)), { maxLength: 3 }),
  end: fc.constantFrom('left', 'corrected', 'twice'),
  isAccepted: fc.boolean(),
  instances: fc.array(fc.constantFrom<0 | 1>(0, 1), { minLength: 5, maxLength: 5 }),
});

async function send(test: TestService, { token, body, status }: Attempt, enquiry: Enquiry): Promise<void> {
  const { scopes = ['leads:write'], endsInMs = HOUR_MS } = token === 'forged' ? {} : token;
  const now = Date.now();
  const times = { issuedAt: now - 2 * HOUR_MS, expiresAt: now + endsInMs };
  const issued = await issueToken(test.service.keys, { userId: 'boss', tokenId: 'form', scopes, ...times });
  const response = await fetch(`${test.url}${LEADS_PATH}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token === 'forged' ? issued.replace(/.$/, '_') : issued}`,
      'content-type': 'application/json',
      'idempotency-key': enquiry.key,
    },
    body: body(enquiry),
  });
  await response.arrayBuffer();
  expect(response.status).toBe(status);
}

it('each enquiry is stored once, or held, or was refused in a way that holds nothing', async () => {
  const first = await startService();
  const instances = [first, await startService({ beside: first })] as const;
  const shell = terminal();
  /** As if the time had passed after which it is written. */
  const write = () => Promise.all(instances.map(({ service }) => service.refusedLeads.flush()));

  async function play({ refused, end, instances: chosen }: History, enquiry: Enquiry): Promise<void> {
    const corrected = end === 'left' ? [] : end === 'twice' ? [ACCEPTED, ACCEPTED] : [ACCEPTED];
    for (const [index, attempt] of [...refused.map((kind) => REFUSED[kind]), ...corrected].entries()) {
      if (!attempt) continue;
      if (attempt === ACCEPTED) await write();
      await send(instances[chosen[index] ?? 0], attempt, enquiry);
    }
  }

  async function countRows(
    emails: readonly string[],
  ): Promise<Map<string, { stored: number; held: string[] }>> {
    const { store } = first;
    const found = new Map(emails.map((email) => [email, { stored: 0, held: [] as string[] }]));
    for (const { lead } of await store.listLeads({ companyId: 'acme', limit: 100_000 })) {
      const counts = found.get(lead.email ?? '');
      if (counts) counts.stored += 1;
    }
    for (const { id } of await store.refusedLeads.list({ limit: 5000 })) {
      const row = await store.refusedLeads.find(id);
      for (const [email, counts] of found) if (row?.body.includes(email)) counts.held.push(id);
    }
    return found;
  }

  await fc.assert(
    fc.asyncProperty(fc.array(history, { minLength: 1, maxLength: 12 }), async (histories) => {
      const enquiries = histories.map((one) => {
        const key = randomUUID();
        return { ...one, email: `${key}@example.com`, key };
      });
      await Promise.all(enquiries.map((one) => play(one, one)));
      await write();
      const emails = enquiries.map(({ email }) => email);
      const before = await countRows(emails);
      for (const enquiry of enquiries) {
        const { email, refused, end, isAccepted } = enquiry;
        const isStored = end !== 'left';
        const isHeld = refused
          .map((kind) => REFUSED[kind])
          // A request with the same body that is accepted later ends it.
          .some((one) => one?.isHeld && !(isStored && one.body(enquiry) === ACCEPTED.body(enquiry)));
        const { stored, held } = before.get(email) ?? { stored: 0, held: [] };
        expect({ stored, isHeld: held.length > 0 }, `${refused}, ${end}`).toEqual({
          stored: isStored ? 1 : 0,
          isHeld,
        });
        if (!isAccepted || held.length === 0) continue;
        const ran = await shell.run(['leads', 'refused', 'accept', ...held, '--map', 'mail=email'], {
          env: first.database.env,
        });
        expect(ran, ran.stderr).toMatchObject({ code: 0 });
      }
      const after = await countRows(emails);
      for (const { email, isAccepted } of enquiries) {
        const { stored, held } = before.get(email) ?? { stored: 0, held: [] };
        const expected = isAccepted ? { stored: stored + held.length, held: [] } : { stored, held };
        expect(after.get(email)).toEqual(expected);
      }
    }),
    { numRuns: propertyRuns(HISTORIES[inject('store')]) },
  );
});
