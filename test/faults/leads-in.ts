/** Leads that come in, requests that are refused, and imports. */
import type { Fault } from './fault.ts';

export const LEADS_IN: readonly Fault[] = [
  {
    name: 'reused-key-is-accepted',
    breaks: 'Another lead with the Idempotency-Key of an earlier one is answered with success, and lost.',
    file: 'packages/server/src/intake/idempotency.ts',
    find: "if (known.body_hash !== bodyHash) return { kind: 'key-reused' };",
    replace: '',
    owner: 'packages/server/test/intake/retries-add-nothing.test.ts',
  },
  {
    name: 'body-twice-as-large',
    breaks: 'A request with twice the allowed size is read into memory.',
    file: 'packages/server/src/intake/body.ts',
    find: '  maxBytes: MAX_INTAKE_BYTES,',
    replace: '  maxBytes: 2 * MAX_INTAKE_BYTES,',
    owner: 'packages/server/test/intake/413-payload-too-large.test.ts',
  },
  {
    name: 'account-is-not-read-after-an-upload',
    breaks: 'A token that expires while its body arrives still adds leads.',
    file: 'packages/server/src/intake/endpoint.ts',
    find: 'if (!hasArrived) ({ user } = await callers.identifyAgain(exchange));',
    replace: '',
    owner: 'packages/server/test/intake/the-account-counts-until-the-commit.test.ts',
  },
  {
    name: 'large-bodies-take-any-turn',
    breaks: 'Large bodies of one company delay the leads and polls of all others.',
    file: 'packages/server/src/intake/endpoint.ts',
    find: 'isLarge ? () => takeTurn(companyId)',
    replace: 'isLarge ? () => takeTurn()',
    owner: 'packages/server/test/intake/large-requests-take-turns-of-their-company.test.ts',
  },
  {
    name: 'insufficient-scope-is-not-kept',
    breaks: 'An enquiry that was sent with a token for reading is lost.',
    file: 'packages/server/src/intake/refused-leads.ts',
    find: "|| code === 'token-expired' || code === 'insufficient-scope';",
    replace: "|| code === 'token-expired';",
    owner: 'packages/server/test/intake/refused-requests-are-kept.test.ts',
  },
  {
    name: 'accepted-body-removes-that-of-another-user',
    breaks: 'A refused request is deleted because another user has sent the same body with success.',
    file: 'packages/server/src/intake/refused-sql.ts',
    find: 'AND r.user_id = k."userId"',
    replace: '',
    owner: 'packages/server/test/intake/refused-requests-are-kept.test.ts',
    test: 'a request that is sent again',
  },
  {
    name: 'import-counts-updates-as-added',
    breaks: 'An import says that it has added leads that were there before.',
    file: 'packages/server/src/import/import-leads.ts',
    find: "counts[wasAddedBefore ? 'added' : result.kind] += 1;",
    replace: "counts[wasAddedBefore || result.kind === 'updated' ? 'added' : result.kind] += 1;",
    owner: 'packages/server/test/import/leads-import-command.test.ts',
  },
];
