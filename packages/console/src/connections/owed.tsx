import type { Lead, LeadtapError } from '@leadtap/client';
import { useSignal } from '@preact/signals';
import type { JSX, TargetedEvent } from 'preact';
import { useEffect } from 'preact/hooks';
import { download } from '../leads/export.tsx';
import { findLeads } from '../leads/find.ts';
import { itemOf } from '../leads/selection.ts';
import { explain } from '../problem.tsx';
import { hrefOf } from '../router.ts';
import { toLeadtapError } from '../service.ts';
import { session } from '../session.ts';
import { formatCount, nameOf, visible } from '../text.tsx';
import { sendingText, sendLeads } from './buttons.tsx';
import { type Connection, waysOut } from './list.ts';

/** Enough to call tonight; more are in the file of the command line. */
const MAX_OWED = 500;
const PAGE = 100;

async function readOwed(owed: string, abort: AbortSignal): Promise<readonly Lead[]> {
  const leads: Lead[] = [];
  for (let before = Date.UTC(9999, 0); before > 0 && leads.length < MAX_OWED; ) {
    const page = await findLeads({ owed, before, limit: PAGE }, abort);
    leads.push(...page.leads);
    before = page.from;
  }
  return leads;
}

/** The leads that a connection was not sent: whom to call, a file, and another way for them. */
export function Owed({ connection: { id } }: { readonly connection: Connection }): JSX.Element {
  const found = useSignal<readonly Lead[] | LeadtapError | undefined>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    readOwed(id, abort.signal).then(
      (leads) => {
        found.value = leads;
      },
      (thrown: unknown) => {
        if (!abort.signal.aborted) found.value = toLeadtapError(thrown);
      },
    );
    return () => abort.abort();
  }, [id]);
  const leads = found.value;
  if (!leads) return <p class="after-200ms">Asking the service…</p>;
  if (!('length' in leads)) return <p>{explain(leads).title}.</p>;
  if (leads.length === 0) return <p>Nothing is left that you may see.</p>;
  return (
    <div class="owed">
      <ul>
        {leads.map((lead) => (
          <li key={lead.id}>
            <a href={hrefOf('leads', itemOf(lead))}>{nameOf(lead.fullName)}</a>{' '}
            {visible([lead.phone1, lead.email].filter(Boolean).join(' · '))}
          </li>
        ))}
      </ul>
      <p>
        <button type="button" class="small" onClick={() => download('csv', leads)}>
          Download {formatCount(leads.length)}
        </button>{' '}
        <SendTo id={id} leads={leads} />
      </p>
    </div>
  );
}

/** To a webhook of the same user: a poller asks for what it wants. */
function SendTo({ id, leads }: { readonly id: string; readonly leads: readonly Lead[] }): JSX.Element | null {
  const result = useSignal('');
  const webhooks = waysOut.value.filter(
    (one) =>
      one.kind === 'webhook' &&
      one.id !== id &&
      one.state !== 'ended' &&
      one.userId === session.value?.claims.userId,
  );
  if (webhooks.length === 0) return null;
  const onSubmit = async (event: TargetedEvent<HTMLFormElement, SubmitEvent>) => {
    event.preventDefault();
    const to = webhooks.find((one) => one.id === new FormData(event.currentTarget).get('to'));
    if (!to) return;
    const ids = leads.map((lead) => lead.id);
    const isSent = await sendLeads(to.id, ids);
    result.value = isSent ? sendingText(ids.length, to.host) : 'Not done: see the row.';
  };
  return (
    <form class="send-to" onSubmit={onSubmit}>
      <label>
        Send them to{' '}
        <select name="to">
          {webhooks.map((one) => (
            <option key={one.id} value={one.id}>
              {visible(one.name)}
            </option>
          ))}
        </select>
      </label>{' '}
      <button type="submit" class="small" title="A person may be contacted twice.">
        Send
      </button>{' '}
      <span role="status">{result.value}</span>
    </form>
  );
}
