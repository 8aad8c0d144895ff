/** What a receiver says: the beginning of its response, if that is text. */
import type { IncomingMessage } from 'node:http';
import { toOneLine } from '../lib/escape.ts';

const MAX_BYTES = 200;
/** A receiver that sends its body slowly, or for ever, costs no more. */
const MAX_MS = 250;

/**
 * Reads what comes in this time; with 0, what has come with the head. `isShort`: the body ends by itself, and the connection is used again.
 * Returns the text read so far.
 */
export function readReason(
  response: IncomingMessage,
  isShort: boolean,
  maxMs = MAX_MS,
): () => string | undefined {
  if (!isText(response)) {
    if (!isShort) response.destroy();
    return () => undefined;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  const end = () => {
    if (!isShort) response.destroy();
  };
  const timer = maxMs > 0 ? setTimeout(end, maxMs) : undefined;
  if (maxMs === 0) setImmediate(end);
  response.on('data', (chunk: Buffer) => {
    if (bytes >= MAX_BYTES) return;
    chunks.push(chunk.subarray(0, MAX_BYTES - bytes));
    bytes += chunk.length;
    if (bytes >= MAX_BYTES) end();
  });
  response.on('error', () => undefined);
  response.on('close', () => clearTimeout(timer));
  return () => toText(Buffer.concat(chunks), response);
}

function isText({ headers }: IncomingMessage): boolean {
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';', 1);
  const name = type.trim();
  const isPlain = /^(?:text\/.*|application\/json|.*\+json|)$/.test(name);
  return isPlain && (headers['content-encoding'] ?? 'identity') === 'identity';
}

const CONTROL = /(?!\s)\p{Cc}/u;

/** Undefined: it is not UTF-8, or empty. The last character may be cut. Without a type, text has no control characters. */
function toText(bytes: Buffer, { headers }: IncomingMessage): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    const isText = headers['content-type'] !== undefined || !CONTROL.test(text);
    return (isText && toOneLine(text)) || undefined;
  } catch {
    return undefined;
  }
}
