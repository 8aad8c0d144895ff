import type { Fault } from './fault.ts';

export const WEBHOOKS: readonly Fault[] = [
  {
    name: 'one-webhook-too-many',
    breaks: 'A user has 21 webhooks.',
    file: 'packages/server/src/hooks/claim.ts',
    find: 'if (active.length >= maxPerUser) return undefined;',
    replace: 'if (active.length > maxPerUser) return undefined;',
    owner: 'packages/server/test/hooks/4xx-refused-requests.test.ts',
    test: 'too-many-hooks',
  },
  {
    name: 'host-only-ends-like-an-allowed-one',
    breaks: 'Leads are sent to evilmake.com, because make.com is allowed.',
    file: 'packages/server/src/hooks/url.ts',
    find: 'const end = listed.slice(1);',
    replace: 'const end = listed.slice(2);',
    owner: 'packages/server/test/hooks/urls-are-limited-to-allowed-hosts.test.ts',
  },
  {
    name: 'redirect-is-followed',
    breaks: 'A receiver directs events, with their signature, to an address that nobody has allowed.',
    file: 'packages/server/src/hooks/deliver.ts',
    find: '            outcome = toOutcome(response);\n',
    replace: `            const { location } = response.headers;
            if (location !== undefined) {
              url = new URL(location, url);
              current.removeAllListeners('close');
              response.destroy();
              return attempt();
            }
            outcome = toOutcome(response);
`,
    owner: 'packages/server/test/hooks/receivers-cannot-harm-the-service.test.ts',
    test: 'with a redirect, which is not followed',
  },
  {
    name: 'webhook-ignores-retry-after',
    breaks: 'Events are sent again before the time that the receiver has named.',
    file: 'packages/server/src/hooks/rules.ts',
    find: "outcome.kind === 'refused' ? retryAfterMs(outcome.retryAfter, now) : 0;",
    replace: '0;',
    owner: 'packages/server/test/hooks/what-follows-from-an-attempt.test.ts',
  },
];
