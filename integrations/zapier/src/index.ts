import { defineApp, version as platformVersion } from 'zapier-platform-core';
import { authentication } from './authentication.ts';
import { authorize } from './authorize.ts';
import { explainRefusals } from './refusals.ts';
import { newLead } from './triggers/new-lead.ts';
import { newLeadInstant } from './triggers/new-lead-instant.ts';
import { VERSION } from './version.ts';

/** What Zapier loads. */
export default defineApp({
  version: VERSION,
  platformVersion,
  authentication,
  beforeRequest: [authorize],
  afterResponse: [explainRefusals],
  triggers: { [newLeadInstant.key]: newLeadInstant, [newLead.key]: newLead },
  flags: {
    // Every request goes through z.request, which logs it; nothing of Node has to be patched for that.
    skipHttpPatch: true,
    // A 429 gets to `explainRefusals` as well, which says what to do.
    throwForThrottlingEarly: false,
  },
});
