import { hash } from 'node:crypto';
import { LEAD_FIELDS, type Lead } from '@leadtap/contract';
import { toIso } from '../lib/clock.ts';
import type { LeadRecord } from './record.ts';

/** The lead as the wire shows it, with the fields in the order of the contract. */
export function toWire(lead: LeadRecord): Lead {
  const wire: Record<string, unknown> = {};
  for (const { name, type } of LEAD_FIELDS) {
    const value = name === 'statusValue' ? lead.status.value : lead[name];
    wire[name] = type === 'instant' && typeof value === 'number' ? toIso(value) : value;
  }
  wire['fullName'] ??= joinNames(lead);
  return wire as Lead;
}

const joinNames = ({ firstName, lastName }: LeadRecord): string =>
  [firstName, lastName].filter((name) => name !== null && name !== '').join(' ');

/** A lead as the response has it. */
export interface RenderedLead {
  readonly createdAt: number;
  readonly json: string;
}

/** A lead of a page: of a store that renders leads itself, or not. */
export type PageLead = LeadRecord | RenderedLead;

export const renderLead = (lead: PageLead): string =>
  'json' in lead ? lead.json : JSON.stringify(toWire(lead));

/** Rendered leads: the response body, and the values that headers, metrics and log take from it. */
export interface RenderedLeads {
  /** JSON. */
  readonly body: Buffer;
  readonly etag: string;
  readonly count: number;
  /** The `createdAt` of the first and of the last lead in the body; undefined if it is empty. */
  readonly first: number | undefined;
  readonly last: number | undefined;
  /** Of all leads in the body, in any order. */
  readonly createdAt: readonly number[];
}

export const renderLeads = (leads: readonly PageLead[]): RenderedLeads =>
  leads.length === 0
    ? NO_LEADS
    : asRendered(toUnpooled(`[${leads.map(renderLead).join(',')}]`), {
        count: leads.length,
        first: leads[0]?.createdAt,
        last: leads.at(-1)?.createdAt,
        createdAt: leads.map(({ createdAt }) => createdAt),
      });

/** A strong validator (RFC 9110): a hash of the bytes. */
export const entityTag = (body: string | Buffer): string =>
  `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;

/** Adds the entity tag to a JSON array. */
export const asRendered = (body: Buffer, about: Omit<RenderedLeads, 'body' | 'etag'>): RenderedLeads => ({
  body,
  etag: entityTag(body),
  ...about,
});

export const NO_LEADS: RenderedLeads = asRendered(Buffer.from('[]'), {
  count: 0,
  first: undefined,
  last: undefined,
  createdAt: [],
});

/** For the same reason as `concatUnpooled`. */
function toUnpooled(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/**
 * Like `Buffer.concat`, but in memory of its own. Node takes small buffers from 8 KiB blocks, so that a small cached buffer would
 * keep a whole block in memory.
 */
export function concatUnpooled(parts: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((length, part) => length + part.length, 0));
  let end = 0;
  for (const part of parts) {
    bytes.set(part, end);
    end += part.length;
  }
  return bytes;
}
