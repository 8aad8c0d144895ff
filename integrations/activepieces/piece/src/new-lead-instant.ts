import {
  type AppConnectionValueForAuthProperty,
  createTrigger,
  DEDUPE_KEY_PROPERTY,
  type Store,
  TriggerStrategy,
  WebhookRenewStrategy,
} from '@activepieces/pieces-framework';
import { leadtapAuth } from './auth.ts';
import { type Hook, isSigned, subscribe, unsubscribe } from './hook.ts';
import { readPage, readPages } from './read-page.ts';
import { sampleLead } from './sample-lead.ts';
import { newestLeads, startAt, startOf } from './start.ts';

interface Context {
  readonly auth: AppConnectionValueForAuthProperty<typeof leadtapAuth>;
  readonly store: Store;
  readonly webhookUrl: string;
  /** The flow was published again with the same trigger. Older releases of Activepieces do not say so. */
  readonly isRepublish?: boolean;
}

/** The `since` of the next poll. */
const POSITION = 'position';
const HOOK = 'hook';

async function positionOf({ auth, store }: Context): Promise<string> {
  return (await store.get<string>(POSITION)) ?? (await startOf(auth.props, {}));
}

async function putHook(context: Context): Promise<void> {
  const { auth, store, webhookUrl } = context;
  const before = await store.get<Hook>(HOOK);
  const hook = await subscribe(auth.props, webhookUrl, await positionOf(context));
  await store.put(HOOK, hook);
  // The connection has another token now: the hook of the one before must not announce the same leads.
  if (before && before.id !== hook.id) await unsubscribe(auth.props, before);
}

async function removeHook({ auth, store }: Context): Promise<void> {
  const hook = await store.get<Hook>(HOOK);
  if (hook) await unsubscribe(auth.props, hook);
  // Only now: if it has failed, the hook still sends events, and they have to be verified.
  await store.delete(HOOK);
}

/** A new hook sends an event at once if there are leads after the position. */
async function replaceHook(context: Context): Promise<void> {
  await removeHook(context);
  await putHook(context);
}

export const newLeadInstant = createTrigger({
  auth: leadtapAuth,
  name: 'new_lead_instant',
  displayName: 'New Lead (Instant)',
  description: 'Triggers as soon as a new lead arrives.',
  type: TriggerStrategy.WEBHOOK,
  props: { startAt },
  sampleData: sampleLead,
  onEnable: async (context) => {
    const { auth, store, propsValue, isRepublish }: typeof context & Context = context;
    const position = isRepublish ? await store.get<string>(POSITION) : null;
    await store.put(POSITION, position ?? (await startOf(auth.props, propsValue)));
    await putHook(context);
  },
  onDisable: async (context) => {
    // The flow can be switched off while Leadtap is unreachable. It deletes or disables hooks whose events are not accepted.
    await removeHook(context).catch(() => context.store.delete(HOOK));
  },
  // Activepieces accepts an event before it runs the trigger, and does not run it again after an error. So unread leads are announced again.
  renewConfiguration: { strategy: WebhookRenewStrategy.CRON, cronExpression: '*/15 * * * *' },
  onRenew: async (context) => {
    const { leads } = await readPage(context.auth.props, { since: await positionOf(context), limit: '1' });
    await (leads.length > 0 ? replaceHook : putHook)(context);
  },
  run: async (context) => {
    const { auth, store, payload } = context;
    const hook = await store.get<Hook>(HOOK);
    if (!hook || !isSigned(payload, hook)) return [];
    const { leads, nextSince, hasMore } = await readPages(auth.props, await positionOf(context));
    // Not if a run at the same time has come further.
    if (nextSince > (await positionOf(context))) await store.put(POSITION, nextSince);
    if (hasMore) await replaceHook(context).catch(() => undefined);
    // Activepieces drops what two runs at the same time have both read.
    return leads.map((lead) => ({ ...lead, [DEDUPE_KEY_PROPERTY]: lead.automation_trigger_id }));
  },
  test: ({ auth }) => newestLeads(auth.props),
});
