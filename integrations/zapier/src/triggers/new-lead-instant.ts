import type { Lead, SubscribedHook } from '@leadtap/contract';
import { type Bundle, defineTrigger, type ZObject } from 'zapier-platform-core';
import { announcedLeads } from '../announced-leads.ts';
import { hooksAddress, installationName } from '../base-address.ts';
import { explainStale, readSignedEvent } from '../hook-event.ts';
import { request } from '../read-page.ts';
import { ReadPosition } from '../read-position.ts';
import { unexpectedAnswer } from '../refusals.ts';
import { customFields } from './custom-fields.ts';
import { LEAD_FIELDS, SAMPLE_LEAD } from './lead-fields.ts';
import { sampleLeads } from './new-lead.ts';

/** Zapier keeps what it returns as `bundle.subscribeData`. */
type Subscription = Pick<SubscribedHook, 'id' | 'secret'>;

export async function subscribe(z: ZObject, bundle: Bundle): Promise<Subscription> {
  const baseAddress = bundle.authData['baseUrl'] ?? '';
  const response = await request<Partial<SubscribedHook> | null>(z, baseAddress, {
    url: hooksAddress(baseAddress),
    method: 'POST',
    body: { url: bundle.targetUrl },
  });
  const { id, secret, since } = response.data ?? {};
  if (!id || !secret || !since)
    throw unexpectedAnswer(installationName(baseAddress), response.status, 'a subscription');
  await new ReadPosition(z, id).begin(since, since);
  return { id, secret };
}

export async function unsubscribe(z: ZObject, bundle: Bundle): Promise<object> {
  const baseAddress = bundle.authData['baseUrl'] ?? '';
  const url = `${hooksAddress(baseAddress)}/${bundle.subscribeData?.id}`;
  await request(z, baseAddress, { url, method: 'DELETE' });
  return {};
}

/** What Zapier runs for an event that it has already accepted. Each lead that it returns starts the Zap; Zapier does not compare ids. */
export async function receive(z: ZObject, bundle: Bundle, now: () => number = Date.now): Promise<Lead[]> {
  const event = readSignedEvent(bundle);
  const { hookId, since, through } = event.data;
  const stale = explainStale(event, now());
  if (stale) {
    await new ReadPosition(z, hookId).begin(since, through);
    throw stale;
  }
  return announcedLeads(z, bundle, event.data, now);
}

export const newLeadInstant = defineTrigger({
  key: 'new_lead_instant',
  noun: 'Lead',
  display: { label: 'New Lead (Instant)', description: 'Triggers within seconds when a new lead arrives.' },
  operation: {
    type: 'hook',
    performSubscribe: subscribe,
    performUnsubscribe: unsubscribe,
    perform: receive,
    performList: sampleLeads,
    outputFields: [...LEAD_FIELDS, customFields],
    sample: SAMPLE_LEAD,
  },
});
